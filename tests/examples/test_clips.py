"""Clips are rendered anew where flite is installed, and those that ship serve everywhere else."""

from pathlib import Path

import pytest
from examples.demo.callers import sentences
from examples.demo.clips import SHIPPED, Clips, clip_name, flite_has, render
from examples.demo.run import clips_folder
from examples.demo.screen import Plain


def test_without_flite_the_clips_that_ship_are_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert clips_folder(tmp_path, Plain(lambda _: None)) == SHIPPED


def test_flite_speaks_a_sentence_as_it_ships(tmp_path: Path) -> None:
    if not flite_has(set(sentences())):
        pytest.skip("flite with the demo's voices is not installed: apt install flite")
    text = "where is my package please"
    render("slt", text, tmp_path)
    anew, shipped = Clips(tmp_path).get("slt", text), Clips().get("slt", text)
    assert len(anew) == pytest.approx(len(shipped), rel=0.05)


def test_names_of_clips_are_readable_and_differ_where_the_words_do() -> None:
    assert clip_name("rms", "Yes, on Saturday.").startswith("rms-yes-on-saturday-")
    long = "We have a free hour on Tuesday"
    assert clip_name("rms", long) != clip_name("rms", f"{long} at ten")
