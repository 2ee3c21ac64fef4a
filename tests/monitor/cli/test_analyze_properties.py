"""``analyze`` on files of which anything may be wrong: one of three exit codes, a line that says why, no traceback."""

from __future__ import annotations

import contextlib
import io
import json
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from invented_calls.broken_files import event_log, intervals, rttm, spoiled
from invented_calls.effort import effort

from earwitness.monitor.cli import main

KINDS = (event_log, intervals, rttm)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("broken")


def said_by(*arguments: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(["analyze", *arguments])
    return code, out.getvalue(), err.getvalue()


@effort(60)
@given(st.randoms(use_true_random=False), st.sampled_from(KINDS), st.booleans())
def test_any_file_gives_numbers_or_a_line_that_says_why_not(
    folder: Path, chance: random.Random, kind: object, as_json: bool
) -> None:
    assert callable(kind)
    path = folder / "call"
    path.write_bytes(spoiled(chance, kind(chance)))
    code, out, err = said_by(*(["--json"] if as_json else []), str(path))
    assert code in (0, 1, 2)
    assert "Traceback" not in err
    assert not {"\x1b", "\x00", "\x07"} & set(err)
    if code == 2:
        assert (out, err.count("\n")) == ("", 1)
    elif as_json:
        json.loads(out, parse_constant=pytest.fail)
    else:
        assert not {"\x1b", "\x00", "\x07"} & set(out)


@effort(20)
@given(st.randoms(use_true_random=False), st.sampled_from(KINDS))
def test_whole_files_are_read_whole(folder: Path, chance: random.Random, kind: object) -> None:
    assert callable(kind)
    path = folder / "whole"
    path.write_bytes(kind(chance))
    code, _, err = said_by(str(path))
    assert code == 0 or (code == 2 and kind is not event_log) or "is empty" in err or "no event" in err
