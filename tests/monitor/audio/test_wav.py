"""Recordings as telephony leaves them: codings, broken headers, odd chunks; what is none is refused in one line."""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile  # type: ignore[import-untyped]

from earwitness.monitor.audio.resampling import Samples
from earwitness.monitor.audio.wav import StereoRecording
from earwitness.monitor.errors import BadInput

HZ = 16_000
SIDES = np.random.default_rng(2).normal(size=(HZ * 5, 2)) * 0.1
PCM = np.rint(SIDES * 32768).astype("<i2")
FMT = struct.pack("<HHIIHH", 1, 2, HZ, HZ * 4, 4, 16)


def chunk(name: bytes, body: bytes, size: int | None = None) -> bytes:
    odd = b"\0" * (len(body) % 2)
    return name + struct.pack("<I", len(body) if size is None else size) + body + odd


def riff(*chunks: bytes, tag: bytes = b"RIFF", size: int | None = None) -> bytes:
    body = b"WAVE" + b"".join(chunks)
    return tag + struct.pack("<I", len(body) if size is None else size) + body


def both_sides(path: Path, **named: Any) -> tuple[Samples, Samples]:
    with StereoRecording(path, **named) as recording:
        blocks = list(recording.blocks())
    return np.concatenate([b.caller for b in blocks]), np.concatenate([b.agent for b in blocks])


@pytest.fixture
def call(tmp_path: Path) -> Path:
    return tmp_path / "call.wav"


@pytest.mark.parametrize(
    ("subtype", "within"),
    [
        ("PCM_16", 1), ("PCM_24", 1), ("PCM_32", 1), ("PCM_U8", 260), ("FLOAT", 1), ("DOUBLE", 1), ("ULAW", 700),
        ("ALAW", 700),
    ],
)  # fmt: skip
@pytest.mark.parametrize("container", ["WAV", "WAVEX", "RF64"])
def test_every_coding_gives_both_sides_as_they_were(call: Path, container: str, subtype: str, within: int) -> None:
    soundfile.write(call, SIDES, HZ, format=container, subtype=subtype)

    caller, agent = both_sides(call)

    assert np.abs(caller.astype(int) - PCM[:, 0]).max() <= within
    assert np.abs(agent.astype(int) - PCM[:, 1]).max() <= within


DATA = PCM.tobytes()
HEAD = chunk(b"fmt ", FMT)
NO_CHANNELS = chunk(b"fmt ", FMT[:2] + b"\0\0" + FMT[4:])
NO_SIZES = chunk(b"ds64", struct.pack("<QQQI", 0, 0, 0, 0))
SIZES = chunk(b"ds64", struct.pack("<QQQI", len(DATA) + 80, len(DATA), len(PCM), 0))
UNKNOWN = 0xFFFFFFFF


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(riff(HEAD, chunk(b"data", DATA)), id="as it should be"),
        pytest.param(riff(HEAD, chunk(b"data", DATA, UNKNOWN), size=UNKNOWN), id="a stream: sizes unknown"),
        pytest.param(riff(HEAD, chunk(b"data", DATA, 0), size=0), id="a killed recorder: sizes of 0"),
        pytest.param(riff(HEAD, chunk(b"data", DATA, len(DATA) * 3)), id="cut off: a size too large"),
        pytest.param(riff(SIZES, HEAD, chunk(b"data", DATA, UNKNOWN), tag=b"RF64", size=UNKNOWN), id="RF64"),
        pytest.param(
            riff(NO_SIZES, HEAD, chunk(b"data", DATA, UNKNOWN), tag=b"RF64", size=UNKNOWN),
            id="RF64 of a killed recorder",
        ),
        pytest.param(
            riff(chunk(b"bext", b"abc"), HEAD, chunk(b"LIST", b"abcde"), chunk(b"data", DATA), chunk(b"id3 ", b"x")),
            id="chunks of odd length before and after",
        ),
    ],
)  # fmt: skip
def test_headers_right_or_wrong_are_read_to_the_end_of_the_file(call: Path, raw: bytes) -> None:
    call.write_bytes(raw)

    caller, agent = both_sides(call)

    assert np.array_equal(caller, PCM[:, 0])
    assert np.array_equal(agent, PCM[:, 1])


def test_a_file_that_ends_in_mid_sample_keeps_all_whole_ones(call: Path) -> None:
    call.write_bytes(riff(HEAD, chunk(b"data", DATA))[:-10_001])

    assert np.array_equal(both_sides(call)[0], PCM[:-2_501, 0])


def test_the_caller_may_be_on_either_side_and_of_many_channels_both_are_named(call: Path) -> None:
    soundfile.write(call, PCM, HZ)
    assert np.array_equal(both_sides(call, caller_channel=1)[0], PCM[:, 1])

    soundfile.write(call, np.column_stack((PCM, PCM[:, ::-1])), HZ)
    caller, agent = both_sides(call, caller_channel=3, agent_channel=1)
    assert np.array_equal(caller, PCM[:, 0])
    assert np.array_equal(agent, PCM[:, 1])


def test_samples_beyond_full_scale_are_held_there_and_such_as_are_no_numbers_are_counted(call: Path) -> None:
    sides = SIDES.copy()
    sides[7, 0], sides[8, 0], sides[9, 1] = 3.0, np.nan, -np.inf
    soundfile.write(call, sides, HZ, subtype="FLOAT")

    with StereoRecording(call) as recording:
        blocks = list(recording.blocks())

    assert blocks[0].caller[7:9].tolist() == [32767, 0]
    assert sum(block.not_numbers for block in blocks) == 2


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        pytest.param(b"", "is empty", id="nothing"),
        pytest.param(b"Dear sir or madam, " * 30, "no audio that can be read", id="a letter"),
        pytest.param(riff(chunk(b"fmt ", FMT))[:30], "no audio that can be read", id="half a header"),
        pytest.param(riff(chunk(b"fmt ", FMT), chunk(b"data", b"")), "holds no audio", id="a header alone"),
        pytest.param(riff(NO_CHANNELS, chunk(b"data", DATA)), "no audio", id="no channels"),
    ],
)  # fmt: skip
def test_what_is_no_recording_is_named(call: Path, raw: bytes, says: str) -> None:
    call.write_bytes(raw)

    with pytest.raises(BadInput, match=says) as told:
        both_sides(call)

    assert str(told.value).startswith(str(call))
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    ("sides", "rate_hz", "named", "says"),
    [
        (SIDES[:, 0], HZ, {}, "is mono; caller and agent are needed on a channel each"),
        (
            np.column_stack((SIDES, SIDES)),
            HZ,
            {},
            "has 4 channels; name both sides' with --caller-channel",
        ),
        (SIDES, HZ, {"caller_channel": 2}, "no channel 2 for the caller"),
        (SIDES, HZ, {"caller_channel": 1, "agent_channel": 1}, "channel 1 cannot be both"),
        (SIDES, 6_000, {}, "sampled at 6000 Hz; give it at 8,000 to 48,000 Hz"),
        (SIDES, 96_000, {}, "sampled at 96000 Hz"),
    ],
)
def test_a_call_on_other_channels_or_rates_is_refused_and_never_silent(
    call: Path, sides: np.ndarray, rate_hz: int, named: dict[str, int], says: str
) -> None:
    soundfile.write(call, sides, rate_hz)

    with pytest.raises(BadInput, match=says):
        both_sides(call, **named)


def test_a_name_that_is_no_text_is_opened_too(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"call\xff.wav")
    soundfile.write(os.fsencode(path), SIDES, HZ)

    caller, _ = both_sides(path)

    assert len(caller) == len(SIDES)


def test_what_lies_on_no_disk_is_refused_at_once(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe\x1b[31m.wav"
    os.mkfifo(pipe)

    with pytest.raises(BadInput, match="is no file") as told:
        both_sides(pipe)
    assert "\x1b" not in str(told.value)
    with pytest.raises(BadInput, match="cannot be read: No such file"):
        both_sides(tmp_path / "gone.wav")
    with pytest.raises(BadInput, match="is no file"):
        both_sides(tmp_path)
