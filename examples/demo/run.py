"""The demo: ``make demo``, or ``python examples/demo/run.py``.

Starts the monitor, a scripted model, a recogniser and three bots, places real calls, shows the numbers while they
go on, and ends with what was measured beside what was intended.
"""

from __future__ import annotations

import sys
from pathlib import Path

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).parents[2]))

import argparse
import asyncio
import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Sequence

from examples.demo.callers import AGENTS, BOOKINGS, Agent, Booking, sentences
from examples.demo.clips import SHIPPED, flite_has
from examples.demo.processes import EARWITNESS, ROOT, Child, ChildFailed, Household
from examples.demo.render_audio import render_all
from examples.demo.screen import Plain, Screen, Terminal, call_line
from examples.demo.switchboard import Placed, Switchboard

_REFRESH_S = 1.0


def run_folder(base: Path) -> Path:
    """A fresh folder for this run."""
    stamp = time.strftime("%Y%m%d-%H%M%S")
    for suffix in ("", *(f"-{n}" for n in range(2, 100))):
        folder = base / f"demo-{stamp}{suffix}"
        with contextlib.suppress(FileExistsError):
            folder.mkdir(parents=True)
            (folder / "logs").mkdir()
            return folder
    raise FileExistsError(f"{base} is full of demos")


def clips_folder(folder: Path, screen: Screen) -> Path:
    """Clips rendered anew where flite is installed, else those that ship."""
    if flite_has(set(sentences())):
        try:
            count = render_all(folder / "audio")
        except (OSError, ValueError, RuntimeError) as error:
            screen.say(f"flite is here but did not speak ({error}); using the clips that ship")
        else:
            screen.say(f"{count} sentences spoken anew by flite")
            return folder / "audio"
    return SHIPPED


def environment(agent: Agent, folder: Path) -> dict[str, str]:
    """What an agent's process is told of Earwitness: where its log is, and for the setup file all the rest."""
    environ = {"EARWITNESS_HOME": str(folder)}
    if agent.attached == "setup_file":
        environ |= {
            "PIPECAT_SETUP_FILES": subprocess.check_output([EARWITNESS, "setup-file"], text=True).strip(),
            "EARWITNESS_AGENT": agent.name,
            "EARWITNESS_VERSION": agent.version,
        }
    return environ


async def run(folder: Path, bookings: Sequence[Booking], screen: Screen) -> int:
    """Place the calls and report; the exit code."""
    async with Household(folder / "logs") as household:
        llm = await household.start_module("llm", "examples.demo.llm_server")
        recogniser = await household.start_module("recogniser", "examples.demo.recogniser")
        clips = await asyncio.to_thread(clips_folder, folder, screen)
        llm_url, recogniser_url = (await llm.ready())["url"], (await recogniser.ready())["url"]
        screen.say("scripted model and recogniser are up; starting the bots (importing Pipecat takes some seconds)")
        bots: dict[str, Child] = {}
        for agent in AGENTS.values():
            if any(booking.agent == agent.name for booking in bookings):
                bots[agent.name] = await household.start_module(
                    f"bot-{agent.name}",
                    "examples.demo.bot",
                    agent.name,
                    *("--llm", llm_url, "--recogniser", recogniser_url, "--clips", str(clips)),
                    environ=environment(agent, folder),
                )
        for bot in bots.values():
            await bot.ready()
        screen.say(f"{len(bots)} bots are up; placing {len(bookings)} calls")

        def told(call: Placed) -> None:
            screen.say(call_line(call))

        board = Switchboard(bots, told)
        await board.run(bookings)
    return 0


async def _until_signal(work: asyncio.Task[int]) -> int:
    """The work's result; SIGINT and SIGTERM cancel it, so that everything is put away."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, work.cancel)
    try:
        return await work
    except asyncio.CancelledError:
        return 130


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="demo", description="Real calls through real Pipecat, watched by Earwitness.")
    parser.add_argument("--plain", action="store_true", help="lines instead of the live view")
    parser.add_argument("--folder", type=Path, default=ROOT / ".run", help="where the run's folder is made")
    chosen = parser.parse_args(arguments)
    folder = run_folder(chosen.folder.resolve())
    plain = chosen.plain or not sys.stdout.isatty() or os.environ.get("TERM") == "dumb"
    screen: Screen = Plain() if plain else Terminal()
    screen.say(f"Earwitness demo: {len(BOOKINGS)} real calls, about two and a half minutes. Files: {folder}")

    async def work() -> int:
        return await _until_signal(asyncio.ensure_future(run(folder, BOOKINGS, screen)))

    code = 1
    try:
        code = asyncio.run(work())
    except* ChildFailed as failures:
        screen.close()
        for failure in failures.exceptions:
            print(f"demo: {failure}", file=sys.stderr)
    finally:
        screen.close()
    if code == 130:
        print("demo: stopped; nothing is left running", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
