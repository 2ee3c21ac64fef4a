"""The recogniser hears the words of the demo's own clips, streamed as a call streams them."""

from collections.abc import AsyncIterator

import aiohttp
import numpy as np
import pytest
import pytest_asyncio
from examples.demo.callers import BOOKINGS, CALLER_VOICE, SCENARIOS, Say
from examples.demo.clips import RATE, Clips
from examples.demo.recogniser import serve

LINES = sorted(
    {s.text for b in BOOKINGS for s in SCENARIOS[b.scenario].steps if isinstance(s, Say) and not s.hang_up_after_s}
)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def url() -> AsyncIterator[str]:
    runner = await serve(decoders=1)
    yield f"http://127.0.0.1:{runner.addresses[0][1]}/listen"
    await runner.cleanup()


async def heard(url: str, text: str) -> tuple[list[str], str]:
    """Interim results and the final one."""
    silence = np.zeros(RATE // 4, np.int16)
    pcm = np.concatenate([silence, Clips().get(CALLER_VOICE, text), silence]).tobytes()
    interims: list[str] = []
    async with aiohttp.ClientSession() as http, http.ws_connect(url) as socket:
        for first in range(0, len(pcm), 3200):
            await socket.send_bytes(pcm[first : first + 3200])
        await socket.send_str('{"end": true}')
        async for message in socket:
            result = message.json()
            if result["final"]:
                return interims, str(result["text"])
            interims.append(result["text"])
    raise AssertionError("the recogniser closed the connection")


def cues(text: str) -> list[set[str]]:
    """For each script that answers to this line, the words that it listens for."""
    found = []
    for scenario in SCENARIOS.values():
        for step in scenario.steps:
            through = isinstance(step, Say) and step.into_s is not None and scenario.intent.overlap in ("TN", "FN")
            if isinstance(step, Say) and step.text == text and not through and step.hang_up_after_s is None:
                found.append({word for reply in scenario.replies for word in reply.hears})
    return found


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("text", LINES)
async def test_it_hears_every_line_nearly_word_for_word_and_so_does_the_script(url: str, text: str) -> None:
    interims, final = await heard(url, text)

    missed = set(text.split()) - set(final.replace("ok ", "okay ").split())
    assert len(missed) <= 1, final
    assert interims, "words come while the caller still speaks"
    assert all(words & set(final.split()) for words in cues(text)), final
