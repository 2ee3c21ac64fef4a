"""Pictures from the command line: which call, which file, and one line where it cannot be."""

from __future__ import annotations

import asyncio
import importlib
import re
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from event_logs import written

from earwitness.monitor.cli.entry import main
from earwitness.monitor.cli.views import picture_png
from earwitness.monitor.contract.events import AnyEvent
from earwitness.monitor.contract.wire import encode
from earwitness.monitor.errors import BadInput
from earwitness.monitor.log.open import open_log
from earwitness.monitor.log.protocol import Outgoing

PNG_MAGIC = b"\x89PNG\r\n\x1a\n"
S = 1_000_000_000
MakeCall = Callable[..., list[AnyEvent]]


@pytest.fixture
def one(tmp_path: Path, make_call: MakeCall) -> str:
    return written(tmp_path / "one.jsonl", make_call("c-7f3a"))


@pytest.fixture
def two(tmp_path: Path, make_call: MakeCall) -> str:
    return written(tmp_path / "two.jsonl", make_call("c-7f3a"), make_call("c-81c0"))


def test_a_call_is_drawn_as_svg_the_same_each_time(one: str, tmp_path: Path) -> None:
    assert main(["analyze", one, "--svg", "a.svg"]) == 0
    assert main(["analyze", one, "--svg", "b.svg"]) == 0

    drawn = (tmp_path / "a.svg").read_bytes()
    assert drawn == (tmp_path / "b.svg").read_bytes()
    assert b"good morning" in drawn
    ET.fromstring(drawn)


def test_a_call_is_drawn_as_png(one: str, tmp_path: Path) -> None:
    pytest.importorskip("resvg_py")

    assert main(["analyze", one, "--svg", "a.PNG"]) == 0

    assert (tmp_path / "a.PNG").read_bytes().startswith(PNG_MAGIC)


def test_of_several_calls_one_is_chosen(two: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyze", two, "--svg", "a.svg"]) == 2
    said = capsys.readouterr()
    assert said.err == (
        "earwitness: a picture shows one call, and there are 2: choose with --call ID (c-7f3a, c-81c0)\n"
    )
    assert said.out == ""
    assert not (tmp_path / "a.svg").exists()

    assert main(["analyze", two, "--svg", "a.svg", "--call", "c-8"]) == 0
    assert "c-81c0" in (tmp_path / "a.svg").read_text()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--svg", "a.gif"], "--svg a.gif: give the picture a name that ends in .svg or .png"),
        (["--svg", "no/a.svg"], "no/a.svg: cannot be written (No such file or directory)"),
        (["--svg", "a.svg", "--call", "x"], "--call x: no call begins so; there are c-7f3a, c-81c0"),
        (["--svg", "a.svg", "--call", "c-"], "--call c-: 2 calls begin so; there are c-7f3a, c-81c0"),
    ],
)
def test_what_cannot_be_drawn_is_one_line(
    two: str, arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    given = arguments if "--call" in arguments else [*arguments, "--call", "c-7"]

    assert main(["analyze", two, *given]) == 2

    assert capsys.readouterr().err == f"earwitness: {said}\n"


def test_the_lanes_of_a_call_of_the_log_show_its_pauses(
    log_path: Path, make_call: MakeCall, capsys: pytest.CaptureFixture[str]
) -> None:
    events = make_call("c-9", began_ns=time.time_ns() - 30 * S, latency_s=2.4)
    on, off = (next(e for e in events if e.kind == kind) for kind in ("speech_started", "speech_ended"))
    more = [
        one.model_copy(update={"seq": 100 + n, "at_ns": round((at_s + 0.2) * S), "edge_ns": round(at_s * S)})
        for n, (one, at_s) in enumerate(((on, 2.9), (off, 3.5)))
    ]

    async def write() -> None:
        log = await open_log(str(log_path))
        await log.append("earwitness.events", [Outgoing(e.call_id, encode(e)) for e in (*events, *more)])
        await log.close()

    asyncio.run(write())

    assert main(["calls", "c-9", "--log", str(log_path)]) == 0

    caller = next(line for line in capsys.readouterr().out.splitlines() if line.startswith(" caller"))
    assert len(re.findall("▂+", caller)) == 2


def test_a_call_of_the_log_is_drawn(log_path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["calls", "c-7f", "--log", str(log_path), "--svg", "a.svg"]) == 0
    assert "good morning" in (tmp_path / "a.svg").read_text()
    assert "c-7f3a" in capsys.readouterr().out

    assert main(["calls", "--log", str(log_path), "--svg", "a.svg"]) == 2
    assert "a picture shows one call" in capsys.readouterr().err


def test_without_the_library_a_png_says_what_to_install_before_any_work(
    one: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def absent(name: str) -> Any:
        raise ModuleNotFoundError(name=name)

    monkeypatch.setattr(picture_png, "import_module", absent)

    assert main(["analyze", one, "gone.wav", "--svg", "a.png"]) == 2

    assert capsys.readouterr().err == (
        'earwitness: a PNG needs the extra "pictures": pip install "earwitness[pictures]"; '
        "a name that ends in .svg needs nothing\n"
    )
    assert not (tmp_path / "a.png").exists()


def test_without_a_font_a_png_says_so_and_is_not_made_without_its_words(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("resvg_py")
    real = importlib.import_module("resvg_py")

    class Fontless:
        """The library on a machine without fonts."""

        @staticmethod
        def svg_to_bytes(svg_string: str) -> bytes:
            return bytes(real.svg_to_bytes(svg_string=svg_string, skip_system_fonts=True))

    monkeypatch.setattr(picture_png, "import_module", lambda _: Fontless)
    picture_png.has_fonts.cache_clear()
    try:
        with pytest.raises(BadInput, match="needs a font"):
            picture_png.png("<svg/>", 100)
    finally:
        picture_png.has_fonts.cache_clear()


def test_a_call_too_long_for_viewers_is_no_png() -> None:
    pytest.importorskip("resvg_py")

    with pytest.raises(BadInput, match="too long for a PNG"):
        picture_png.png("<svg/>", 100_000)
