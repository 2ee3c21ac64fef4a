"""Pipecat's classes by name, so that one observer runs on every version: what a version lacks is simply absent."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from typing import Any, Final

from pipecat.frames import frames as _frames
from pipecat.observers.base_observer import BaseObserver
from pipecat.processors.frame_processor import FrameDirection

UPSTREAM = FrameDirection.UPSTREAM

_make_observer: Any = getattr(BaseObserver, "__init__")  # noqa: B009 - its annotations are partly missing
FIRST_PUSH_ONLY: Final = "observe_every_push" in inspect.signature(_make_observer).parameters
"""Whether the running Pipecat tells first pushes apart by itself (1.12 and newer)."""

Handler = Callable[[Any], None]
"""Takes a ``FramePushed``. Copies what it needs and keeps no frame."""


def frame_class(name: str) -> type[Any] | None:
    """The frame class of that name in the running Pipecat, if it has one."""
    found = getattr(_frames, name, None)
    return found if isinstance(found, type) else None


AUDIO_IN: Final = frame_class("InputAudioRawFrame") or type(None)
"""The caller's audio."""


def optional_class(module: str, name: str) -> type[Any] | None:
    """A class of an optional or moved module, if it can be imported."""
    try:
        found = getattr(importlib.import_module(module), name, None)
    except Exception:  # an optional module may fail on anything its vendor library does
        return None
    return found if isinstance(found, type) else None


def short_name(processor: Any) -> str:
    """What a processor is called, without the counter that Pipecat adds: ``OpenAILLMService#0`` is no name to group
    by."""
    name = getattr(processor, "name", None)
    return str(name).rsplit("#", 1)[0] if name else type(processor).__name__


class Dispatch:
    """Which handlers see which frames: one dict lookup by class; subclasses are resolved once, by their MRO."""

    def __init__(self) -> None:
        self._named: dict[type[Any], list[Handler]] = {}
        self._by_type: dict[type[Any], tuple[Handler, ...]] = {}

    def add(self, handlers: dict[str, Handler]) -> None:
        """Register handlers by frame class name; classes that this Pipecat does not have are left out."""
        for name, handler in handlers.items():
            self.add_class(frame_class(name), handler)

    def add_class(self, cls: type[Any] | None, handler: Handler) -> None:
        if cls is not None:
            self._named.setdefault(cls, []).append(handler)
            self._by_type.clear()

    def handlers(self, cls: type[Any]) -> tuple[Handler, ...]:
        """Handlers of the nearest class in the MRO that has any."""
        found = self._by_type.get(cls)
        if found is None:
            nearest = next((base for base in cls.__mro__ if base in self._named), None)
            found = self._by_type[cls] = tuple(self._named[nearest]) if nearest is not None else ()
        return found
