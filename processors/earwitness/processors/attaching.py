"""One line that puts a witness on a worker: observer, audio taps, end of the call."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from earwitness.processors.observer import CallObserver
from earwitness.processors.pipeline_parts import Parts, parts_of_worker
from earwitness.processors.witness import Witness

_log = logging.getLogger("earwitness.attach")


def attach(
    worker: Any,
    agent: str | None = None,
    version: str | None = None,
    labels: Mapping[str, str] | None = None,
    *,
    transport: Any = None,
    witness: Witness | None = None,
    **more: Any,
) -> Witness:
    """Watch the call of a ``PipelineWorker`` (``PipelineTask`` before Pipecat 1.3), before or after it runs.

    ``transport`` helps where the transport object cannot be reached from its processors (SmallWebRTC): its events say
    who hangs up. ``more`` goes to `Witness`. A worker that is watched already keeps its witness. Never raises.
    """
    found = getattr(worker, "_earwitness", None)
    if isinstance(found, Witness):
        return found
    witness = witness or Witness(agent, version, labels, **more)
    try:
        if witness.on and not watched(worker):
            _put_on(worker, witness, transport)
    except Exception as error:  # a monitor must not keep a bot from taking its call
        _log.warning("earwitness: this call is not watched: %r", error)
    return witness


def _put_on(worker: Any, witness: Witness, transport: Any) -> None:
    observer: Any = witness.observer()
    parts = parts_of_worker(worker)
    if not has_tap(parts):
        witness.hook_taps(parts.input, parts.output)
    observer.watch_worker(worker, transport)
    worker.add_observer(observer)
    worker._earwitness = witness
    observer.keep_pulse()


def watched(worker: Any) -> bool:
    """Whether an observer of ours is among the worker's already."""
    observers = getattr(getattr(worker, "_observer", None), "_observers", None) or ()
    return any(isinstance(observer, CallObserver) for observer in observers)


def has_tap(parts: Parts) -> bool:
    """Whether the pipeline has taps put in by hand."""
    return any(type(part).__name__ in ("CallerTap", "AgentTap") for part in parts.all)


def owns_a_line(worker: Any) -> bool:
    """Whether a worker's pipeline has a transport: the others of a bot help, and hold no call of their own."""
    parts = parts_of_worker(worker)
    return parts.input is not None or parts.output is not None
