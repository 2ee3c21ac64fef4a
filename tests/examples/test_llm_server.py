"""The scripted model, asked over HTTP as Pipecat asks it."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from examples.demo.callers import SCENARIOS
from examples.demo.llm_server import HEADER, MODEL, answer, serve
from openai import AsyncOpenAI, BadRequestError

SYSTEM = {"role": "system", "content": "You answer the telephone."}


@pytest.fixture
async def url() -> AsyncIterator[str]:
    runner = await serve()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    await runner.cleanup()


async def complete(url: str, scenario: str, messages: list[Any]) -> tuple[str, list[str], str | None]:
    """Text, names of tools and the reason to finish of one streamed completion."""
    text, tools, finish = "", [], None
    async with AsyncOpenAI(api_key="none", base_url=url, default_headers={HEADER: scenario}) as client:
        stream = await client.chat.completions.create(model=MODEL, messages=messages, stream=True)
        async for chunk in stream:
            for choice in chunk.choices:
                text += choice.delta.content or ""
                tools += [c.function.name for c in choice.delta.tool_calls or () if c.function and c.function.name]
                finish = choice.finish_reason or finish
    return text, tools, finish


async def test_it_greets_when_nobody_has_spoken_yet(url: str) -> None:
    assert await complete(url, "visit", [SYSTEM]) == (SCENARIOS["visit"].greeting, [], "stop")


async def test_it_answers_what_the_caller_said_last(url: str) -> None:
    said = {"role": "user", "content": "i would like to change my address please"}
    assert await complete(url, "visit", [SYSTEM, said]) == ("Your new address is in our books.", [], "stop")


async def test_it_calls_a_tool_and_speaks_of_it_once_the_tool_has_answered(url: str) -> None:
    said = {"role": "user", "content": "where is my package please"}
    assert await complete(url, "order", [SYSTEM, said]) == ("", ["look_up"], "tool_calls")

    call = {"id": "call_1", "type": "function", "function": {"name": "look_up", "arguments": "{}"}}
    after: list[Any] = [SYSTEM, said, {"role": "assistant", "tool_calls": [call]}]
    after.append({"role": "tool", "tool_call_id": "call_1", "content": '{"ok": true}'})
    assert await complete(url, "order", after) == ("Your order will be there on Thursday.", [], "stop")


async def test_it_takes_leave_and_ends_the_call_in_one_completion(url: str) -> None:
    said = {"role": "user", "content": "thank you very much goodbye"}
    assert await complete(url, "visit", [SYSTEM, said]) == ("You are welcome. Goodbye.", ["end_call"], "tool_calls")


async def test_an_unknown_script_is_refused_with_its_reason(url: str) -> None:
    with pytest.raises(BadRequestError, match="unknown scenario"):
        await complete(url, "nobody", [SYSTEM])


def test_a_misheard_line_gets_the_next_reply_of_the_script() -> None:
    visit = SCENARIOS["visit"]
    said = answer(visit, [{"role": "user", "content": "mumble mumble"}])
    assert said.text == visit.replies[0].text

    after = [{"role": "assistant", "content": said.text}, {"role": "user", "content": "mumble"}]
    assert answer(visit, after).text == visit.replies[1].text


def test_the_slow_script_waits_before_its_first_token() -> None:
    said = answer(SCENARIOS["slow_model"], [{"role": "user", "content": "can i come in on saturday please"}])
    assert said.first_token_s > 2
