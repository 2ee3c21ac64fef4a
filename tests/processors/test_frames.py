"""Pipecat's classes by name, and which handlers see which frames."""

from __future__ import annotations

from typing import Any

from pipecat.frames.frames import AggregatedTextFrame, LLMTextFrame, TTSTextFrame

from earwitness.processors.frames import Dispatch, frame_class, optional_class, short_name


def handler(_: Any) -> None: ...


def other(_: Any) -> None: ...


def test_a_frame_that_this_pipecat_does_not_have_is_left_out() -> None:
    dispatch = Dispatch()
    dispatch.add({"NoSuchFrame": handler})

    assert frame_class("NoSuchFrame") is None
    assert dispatch.handlers(LLMTextFrame) == ()


def test_a_subclass_is_seen_by_the_handlers_of_its_nearest_base() -> None:
    class Mine(TTSTextFrame): ...

    dispatch = Dispatch()
    dispatch.add({"AggregatedTextFrame": handler, "TTSTextFrame": other})

    assert dispatch.handlers(AggregatedTextFrame) == (handler,)
    assert dispatch.handlers(TTSTextFrame) == (other,)
    assert dispatch.handlers(Mine) == (other,)


def test_handlers_of_one_frame_run_in_the_order_of_their_adding() -> None:
    dispatch = Dispatch()
    dispatch.add({"LLMTextFrame": handler})
    dispatch.add({"LLMTextFrame": other})

    assert dispatch.handlers(LLMTextFrame) == (handler, other)


def test_a_module_that_is_not_there_has_no_classes() -> None:
    assert optional_class("no.such.module", "Thing") is None


def test_a_processor_is_called_without_its_counter() -> None:
    class Named:
        name = "OpenAILLMService#3"

    assert short_name(Named()) == "OpenAILLMService"
    assert short_name(object()) == "object"
