"""A scripted language model behind OpenAI's chat completions over HTTP: streams text and tool calls.

The demo's bots talk to it through Pipecat's own ``OpenAILLMService``; the header ``x-demo-scenario`` says which
script answers. Run as a process of its own, so that nobody else's work delays a token.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aiohttp import web
from examples.demo.callers import SCENARIOS, WARM_UP, Reply, Scenario
from examples.demo.child import announce, until_parent_leaves

MODEL = "scripted-1"
HEADER = "x-demo-scenario"
_TOKEN_S = 0.012
_UNHEARD = "Sorry, I did not get that."


@dataclass(frozen=True, slots=True)
class Answer:
    """What one completion streams."""

    text: str
    tool: str | None
    first_token_s: float


def answer(scenario: Scenario, messages: Sequence[Mapping[str, Any]]) -> Answer:
    """The scripted completion of a conversation; a function of its messages alone."""
    spoken = [m for m in messages if m.get("role") in ("user", "assistant", "tool")]
    if not any(m["role"] == "user" for m in spoken):
        return Answer(scenario.greeting, None, 0.2)
    if spoken[-1]["role"] == "tool":
        name = _tool_called(spoken)
        then = next((r.then for r in scenario.replies if r.tool == name), "")
        return Answer(then, None, 0.2)
    heard = set(re.findall(r"[a-z']+", _text(next(m for m in reversed(spoken) if m["role"] == "user")).lower()))
    for reply in scenario.replies:
        if heard & set(reply.hears):
            return Answer(reply.text, reply.tool, reply.first_token_s)
    missed = _not_yet_given(scenario, spoken)
    return Answer(missed.text, missed.tool, missed.first_token_s) if missed else Answer(_UNHEARD, None, 0.3)


def _not_yet_given(scenario: Scenario, spoken: Sequence[Mapping[str, Any]]) -> Reply | None:
    """Where the recogniser misheard every cue: the next reply of the script, so that the call goes on."""
    said = " ".join(_text(m) for m in spoken if m["role"] == "assistant")
    called = {call["function"]["name"] for m in spoken for call in m.get("tool_calls") or ()}
    for reply in scenario.replies:
        if not (reply.text and reply.text[:20] in said) and reply.tool not in called:
            return reply
    return None


def _tool_called(spoken: Sequence[Mapping[str, Any]]) -> str | None:
    wanted = spoken[-1].get("tool_call_id")
    for message in reversed(spoken):
        for call in message.get("tool_calls") or ():
            if call.get("id") == wanted:
                return str(call["function"]["name"])
    return None


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return " ".join(str(part.get("text", "")) for part in content)


def chunks(said: Answer, created: int) -> list[dict[str, Any]]:
    """The stream of a completion, in OpenAI's chunk format."""
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    words = said.text.split()
    deltas += [{"content": word if i == 0 else f" {word}"} for i, word in enumerate(words)]
    if said.tool:
        call: dict[str, Any] = {"index": 0, "id": f"call_{said.tool}_{created}", "type": "function"}
        deltas.append({"tool_calls": [call | {"function": {"name": said.tool, "arguments": ""}}]})
        deltas.append({"tool_calls": [{"index": 0, "function": {"arguments": "{}"}}]})
    finish = "tool_calls" if said.tool else "stop"
    choices: list[dict[str, Any]] = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    choices.append({"index": 0, "delta": {}, "finish_reason": finish})
    base: dict[str, Any] = {
        "id": f"chatcmpl-{created}",
        "object": "chat.completion.chunk",
        "created": created,
        "model": MODEL,
    }
    usage: dict[str, Any] = {"prompt_tokens": 40, "completion_tokens": len(words), "total_tokens": 40 + len(words)}
    return [base | {"choices": [choice]} for choice in choices] + [base | {"choices": [], "usage": usage}]


async def complete(request: web.Request) -> web.StreamResponse:
    scenario = (SCENARIOS | {WARM_UP.name: WARM_UP}).get(request.headers.get(HEADER, ""))
    try:
        messages = (await request.json())["messages"]
    except (ValueError, KeyError, TypeError):
        return _refused('the body must be JSON with "messages"')
    if scenario is None:
        return _refused(f"{HEADER}: unknown scenario")
    said = answer(scenario, messages)
    await asyncio.sleep(said.first_token_s)
    response = web.StreamResponse(headers={"content-type": "text/event-stream"})
    await response.prepare(request)
    for chunk in chunks(said, time.time_ns() // 1_000_000):
        await response.write(b"data: " + json.dumps(chunk).encode() + b"\n\n")
        await asyncio.sleep(_TOKEN_S)
    await response.write(b"data: [DONE]\n\n")
    return response


def _refused(why: str) -> web.Response:
    return web.json_response({"error": {"message": why, "type": "invalid_request_error"}}, status=400)


async def serve() -> web.AppRunner:
    """Listen on a free port of the loopback; the caller ends it with ``cleanup()``."""
    app = web.Application()
    app.router.add_post("/v1/chat/completions", complete)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.5)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    return runner


async def _main() -> None:
    runner = await serve()
    announce(ready=True, url=f"http://127.0.0.1:{runner.addresses[0][1]}/v1")
    await until_parent_leaves()
    await runner.cleanup()


if __name__ == "__main__":
    asyncio.run(_main())
    sys.exit(0)
