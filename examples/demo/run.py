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
import json
import os
import secrets
import signal
import subprocess
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict

from examples.demo.callers import AGENTS, ALERTS, BOOKINGS, Agent, Booking, sentences
from examples.demo.clips import SHIPPED, flite_has
from examples.demo.processes import EARWITNESS, ROOT, Child, ChildFailed, Household
from examples.demo.render_audio import render_all
from examples.demo.screen import Plain, Screen, Terminal, call_line
from examples.demo.summary import closing, compare, far_end, intended
from examples.demo.switchboard import Placed, Switchboard
from examples.demo.watch import Watch

from earwitness.monitor.errors import BadInput
from earwitness.monitor.log.protocol import LogError
from earwitness.monitor.logging import configure

RULES = ROOT / "examples" / "demo" / "rules.yaml"
REFRESH_S = 1.0
LONGEST_S = 155.0
"""After this the demo ends, with what was measured by then, however slow the machine is."""
PATIENCE_S = 15.0
"""How long the demo waits, after its last call, for alerts that are still to resolve."""
WIDTH = 100


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
    url = f"sqlite://{folder / 'log.db'}"
    async with Household(folder / "logs") as household:
        monitor = ("--log", url, "--rules", str(RULES), "--port", "0", "--set", "alerts.every_s=2")
        await household.start("monitor", EARWITNESS, "run", *monitor, environ={"EARWITNESS_HOME": str(folder)})
        screen.say(
            f"the monitor runs on an embedded log, with alert rules of the demo's own ({RULES.relative_to(ROOT)}):"
        )
        screen.say("  their minimum counts are far too low for anything but a demonstration of two minutes")
        bots = await start_bots(household, folder, {booking.agent for booking in bookings}, screen)
        board = Switchboard(bots, lambda call: screen.say(call_line(call)))
        screen.say(f"{len(bots)} bots are up; placing {len(bookings)} calls")
        async with Watch(url) as watch:
            calling = asyncio.ensure_future(board.run(bookings))
            try:
                await look_on(watch, screen, calling, len(bookings))
            finally:
                calling.cancel()
                await asyncio.gather(calling, return_exceptions=True)
            calls = list(board.placed.values())
            keep_truth(folder, calls, watch.call_ids())
            screen.close()
            return report(folder, calls, watch)


async def start_bots(household: Household, folder: Path, agents: Collection[str], screen: Screen) -> dict[str, Child]:
    """Model, recogniser and bots, each a process."""
    llm = await household.start_module("llm", "examples.demo.llm_server")
    recogniser = await household.start_module("recogniser", "examples.demo.recogniser")
    clips = await asyncio.to_thread(clips_folder, folder, screen)
    services = ("--llm", (await llm.ready())["url"], "--recogniser", (await recogniser.ready())["url"])
    screen.say("scripted model and recogniser are up; starting the bots (importing Pipecat takes some seconds)")
    secret = secrets.token_hex(16)
    bots = {
        agent.name: await household.start_module(
            f"bot-{agent.name}",
            "examples.demo.bot",
            *(agent.name, *services, "--clips", str(clips)),
            environ={**environment(agent, folder), "EARWITNESS_SECRET": secret},
        )
        for agent in AGENTS.values()
        if agent.name in agents
    }
    for bot in bots.values():
        await bot.ready()
    return bots


async def look_on(watch: Watch, screen: Screen, calling: asyncio.Future[None], bookings: int) -> None:
    """Show the numbers until every call has ended and the alerts have said what is to be said of it."""
    patience_s = time.monotonic() + LONGEST_S
    while time.monotonic() < patience_s:
        for line in await watch.refresh():
            screen.say(line)
        screen.numbers(watch.lines(WIDTH))
        if calling.done():
            calling.result()
            patience_s = min(patience_s, time.monotonic() + PATIENCE_S)
            if watch.ended_calls() >= bookings and watch.alerts >= ALERTS:
                return
        await asyncio.sleep(REFRESH_S)


def keep_truth(folder: Path, calls: Sequence[Placed], call_ids: Mapping[str, str]) -> None:
    """What the far ends heard and said, for whoever wants to check a number by hand."""
    told = [{**asdict(call), "scenario": call.scenario.name, "title": call.scenario.title} for call in calls]
    (folder / "truth.json").write_text(json.dumps({"calls": told, "call_ids": dict(call_ids)}, indent=1))


def report(folder: Path, calls: Sequence[Placed], watch: Watch) -> int:
    """Print the summary and keep it as ``summary.json``; 1 where a call is missing."""
    figures = watch.figures()
    measured, wanted = watch.counts(), intended(calls, ALERTS)
    lines = [*compare(measured, wanted), *far_end(measured, wanted, figures, calls)]
    (folder / "summary.json").write_text(json.dumps({"rows": [asdict(line) for line in lines]}, indent=1))
    for line in closing(lines, figures, folder, next(iter(watch.call_ids()), "ID")):
        print(line)
    return 0 if measured.calls == wanted.calls else 1


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
    with (folder / "logs" / "demo.log").open("w") as own_log:
        configure(format="json", stream=own_log)
        return show(folder, plain=chosen.plain or not sys.stdout.isatty() or os.environ.get("TERM") == "dumb")


def show(folder: Path, *, plain: bool) -> int:
    """Run the demo on this terminal; the exit code."""
    screen: Screen = Plain() if plain else Terminal()
    screen.say(f"Earwitness demo: {len(BOOKINGS)} real calls, about two and a half minutes. Files: {folder}")

    async def work() -> int:
        return await _until_signal(asyncio.ensure_future(run(folder, BOOKINGS, screen)))

    code = 1
    try:
        code = asyncio.run(work())
    except* (ChildFailed, LogError, BadInput) as failures:
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
