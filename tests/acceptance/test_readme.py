"""What the README says to type: its Python runs on a real pipeline, its rules load, its commands exist."""

from __future__ import annotations

import asyncio
import inspect
import re
import shlex
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pipecat_calls.call import RunningCall, place_call  # isort: skip - puts the clock in before Pipecat

from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.worker import PipelineParams, PipelineWorker
from pipecat.workers.runner import WorkerRunner
from pipecat_calls.script import Reply, Say, Script

from earwitness.alerts.rules import load_rules
from earwitness.alerts.targets import find_target
from earwitness.monitor.cli.parser import make_parser
from earwitness.monitor.contract.events import App, CallEnded, CallStarted, SpeechStarted
from earwitness.processors import Witness, attach
from earwitness.processors import witness as witness_module
from earwitness.processors.redaction import NoRedaction
from earwitness.processors.setup_file import setup_file_path
from earwitness.processors.sink import MemorySink

pytestmark = pytest.mark.pipecat

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
CALL = Script(
    lines=(Say("where is my order please", at_s=1.0), Say("thank you goodbye")),
    replies=(Reply("It is on its way."), Reply("Goodbye.", ends=True)),
    greets=False,
)


def blocks(language: str) -> list[str]:
    return [text for name, text in re.findall(r"^```(\w*)\n(.*?)^```$", README, re.DOTALL | re.M) if name == language]


def block(language: str, having: str) -> str:
    (found,) = [text for text in blocks(language) if having in text]
    return found


@pytest.fixture
def sink(monkeypatch: pytest.MonkeyPatch) -> MemorySink:
    found = MemorySink()
    monkeypatch.setattr(witness_module, "_process_writer", lambda settings: found)
    monkeypatch.setattr(witness_module, "default_redactor", lambda settings: NoRedaction())
    return found


def run_as_written(code: str, monkeypatch: pytest.MonkeyPatch, after: str = "") -> None:
    """Run a block in place of the harness's own pipeline: with its parts, its worker, its runner."""
    said = {
        "Pipeline": Pipeline, "PipelineWorker": PipelineWorker, "PipelineParams": PipelineParams,
        "WorkerRunner": lambda: WorkerRunner(handle_sigint=False), "Witness": Witness, "attach": attach,
    }  # fmt: skip

    async def instead(call: RunningCall, _: Any) -> bool:
        call.worker._clock.start()  # the line goes by it
        parts = {
            "transport": call.line, "stt": call.stt, "llm": call.llm, "tts": call.tts,
            "aggregators": SimpleNamespace(user=lambda: call.user, assistant=lambda: call.assistant),
        }  # fmt: skip
        names = {**said, **parts}
        exec(compile(code + after, "README.md", "exec"), names)
        run_bot = names.get("run_bot")
        if run_bot is not None:
            await asyncio.wait_for(run_bot(**{name: parts[name] for name in inspect.signature(run_bot).parameters}), 60)
        else:
            runner = WorkerRunner(handle_sigint=False)
            await runner.add_workers(names["worker"])
            await asyncio.wait_for(runner.run(), 60)
        return True

    monkeypatch.setattr("pipecat_calls.call._run", instead)
    place_call(CALL)


def check_call(sink: MemorySink) -> None:
    started = [event for event in sink.events if isinstance(event, CallStarted)]
    assert [(event.agent, event.version) for event in started] == [("clinic", "42")]
    assert {event.party for event in sink.events if isinstance(event, SpeechStarted)} == {"caller", "agent"}
    assert {event.evidence for event in sink.events if isinstance(event, SpeechStarted)} >= {"audio", "vad"}
    assert isinstance(sink.events[-1], CallEnded)
    assert sink.events[-1].terminal == "end"


def test_one_line_watches_the_call_as_written(sink: MemorySink, monkeypatch: pytest.MonkeyPatch) -> None:
    run_as_written(block("python", "async def run_bot"), monkeypatch)

    check_call(sink)
    assert next(event.labels for event in sink.events if isinstance(event, CallStarted)) == {"route": "ivr"}


def test_by_hand_and_the_facts_of_the_application_work_as_written(
    sink: MemorySink, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_as_written(block("python", "witness.caller_tap()"), monkeypatch, block("python", "witness.outcome"))

    check_call(sink)
    facts = {event.name: event.value for event in sink.events if isinstance(event, App)}
    assert facts == {"intent": "refund", "outcome": "declined", "csat": 4.0}


def test_no_line_at_all_watches_the_call_with_the_readmes_environment(
    sink: MemorySink, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = block("", "SETUP_FILES")
    for name, value in re.findall(r"(EARWITNESS_\w+)=(\S+)", code):
        monkeypatch.setenv(name, value)
    assert "PIPECAT_SETUP_FILES=$(earwitness setup-file)" in code
    monkeypatch.setenv("PIPECAT_SETUP_FILES", setup_file_path())

    place_call(CALL)

    check_call(sink)


def test_the_first_block_imports_what_it_uses() -> None:
    names: dict[str, Any] = {"worker": SimpleNamespace()}  # no worker: said in the log, and never raised
    exec(blocks("python")[0], names)
    assert names["attach"] is attach


def test_every_block_of_python_is_one_of_those_tried_here() -> None:
    tried = ("from earwitness.processors import attach", "async def run_bot", "witness.caller_tap()", "witness.outcome")
    assert [text for text in blocks("python") if not any(part in text for part in tried)] == []


def test_the_alert_rules_load(tmp_path: Path) -> None:
    for text in blocks("yaml"):
        path = tmp_path / "alerts.yaml"
        path.write_text(text)
        assert [rule.name for rule in load_rules(path, find_target)] == ["slow answers"]


def commands() -> list[list[str]]:
    """Every ``earwitness ...`` that the page shows, without its comments and the words around it."""
    shown = re.findall(r"`(earwitness [^`]+)`", README) + re.findall(r"^(earwitness .+)$", README, re.MULTILINE)
    return [shlex.split(text, comments=True)[1:] for text in shown if "setup-file" not in text]


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_a_command_exists(words: list[str]) -> None:
    made = make_parser().parse_args([*words, "list"] if words == ["alerts"] else words)

    assert made is not None


def test_what_make_is_asked_for_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))

    assert set(re.findall(r"(?:^|`)make ([a-z-]+)", README, re.MULTILINE)) <= targets


def test_every_page_and_picture_that_is_linked_is_there() -> None:
    links = [link for link in re.findall(r"\]\(([^)]+)\)", README) if "://" not in link]

    assert [link for link in links if not (ROOT / link).exists()] == []
