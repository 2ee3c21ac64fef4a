"""Sizes that a header claims against what lies in the file, and what is said of a recording where they differ."""

from __future__ import annotations

import io
import struct
from pathlib import Path

import numpy as np
import pytest
import soundfile  # type: ignore[import-untyped]

from earwitness.monitor.audio.wav import StereoRecording
from earwitness.monitor.audio.wav_header import UNKNOWN_SIZE, WavSizes, wav_sizes

HZ = 8_000
SIDES = np.random.default_rng(3).integers(-3_000, 3_000, size=(HZ * 4, 2)).astype("<i2")
DATA = SIDES.tobytes()
HEAD = b"fmt " + struct.pack("<IHHIIHH", 16, 1, 2, HZ, HZ * 4, 4, 16)


def wav(claimed: int = len(DATA), *, data: bytes = DATA, after: bytes = b"", before: bytes = HEAD) -> bytes:
    return b"RIFF" + UNKNOWN_SIZE + b"WAVE" + before + b"data" + struct.pack("<I", claimed) + data + after


def sizes(raw: bytes) -> WavSizes:
    return wav_sizes(io.BytesIO(raw), len(raw))


@pytest.mark.parametrize(
    ("raw", "claimed", "there", "stray"),
    [
        pytest.param(wav(), len(DATA), len(DATA), 0, id="as it should be"),
        pytest.param(wav(3 * len(DATA)), 3 * len(DATA), len(DATA), 0, id="cut off"),
        pytest.param(wav(after=b"LIST\4\0\0\0abcd" + b"id3 \3\0\0\0abc\0"), len(DATA), len(DATA), 0, id="more chunks"),
        pytest.param(wav(after=b"bye, bye"), len(DATA), len(DATA), 8, id="junk"),
        pytest.param(wav(after=b"!"), len(DATA), len(DATA), 1, id="one byte of junk"),
        pytest.param(wav(after=b"LIST\4\0\0\0abcd" + DATA), len(DATA), len(DATA), len(DATA), id="junk after a chunk"),
        pytest.param(wav(3, data=b"abc", after=b"\0"), 3, 3, 0, id="filled up to a whole word"),
        pytest.param(wav(0xFFFF_FFFF), None, 0, 0, id="a stream: the size is unknown"),
        pytest.param(wav(0x7FFF_FFFF - 36), None, 0, 0, id="a stream of sox or arecord"),
        pytest.param(DATA, None, 0, 0, id="no WAV file"),
        pytest.param(b"RIFF", None, 0, 0, id="half a header"),
        pytest.param(wav(before=b""), len(DATA), len(DATA), 0, id="nothing else in it"),
    ],
)
def test_what_is_claimed_and_what_is_there(raw: bytes, claimed: int | None, there: int, stray: int) -> None:
    found = sizes(raw)

    assert (found.claimed, found.there, found.stray) == (claimed, there, stray)
    assert found.instead == {}


def test_64_bit_sizes_count_where_the_file_has_them() -> None:
    wide = b"ds64" + struct.pack("<IQQQI", 28, 0, 2 * len(DATA), 0, 0)
    raw = b"RF64" + wav(0xFFFF_FFFF, before=wide + HEAD)[4:]

    assert (sizes(raw).claimed, sizes(raw).there) == (2 * len(DATA), len(DATA))


def test_a_size_of_0_before_audio_is_read_as_unknown() -> None:
    assert sizes(wav(0)).instead == {12 + len(HEAD) + 4: UNKNOWN_SIZE}


@pytest.mark.parametrize(
    ("raw", "remarks"),
    [
        (wav(), []),
        (wav(len(DATA) + 44), []),
        (wav(0), []),
        (wav(10 * len(DATA)), ["cut off: 36.0 s of the 40.0 s that its header says are missing"]),
        (wav(1000 * len(DATA)), ["cut off: 4.0 s of the 1h06m that its header says are there"]),
        (wav(after=DATA), ["128,000 bytes after its audio are left out, 4.0 s if they are audio"]),
        (wav(after=b"bye, bye"), ["8 bytes after its audio are left out"]),
    ],
)
def test_what_is_said_of_a_recording_once_it_is_read(tmp_path: Path, raw: bytes, remarks: list[str]) -> None:
    path = tmp_path / "call.wav"
    path.write_bytes(raw)

    with StereoRecording(path) as recording:
        heard = sum(block.caller.size for block in recording.blocks())
        assert recording.remarks() == remarks
    assert heard == len(SIDES)


def test_a_cut_off_recording_in_another_coding_is_told_in_seconds_too(tmp_path: Path) -> None:
    path = tmp_path / "call.wav"
    soundfile.write(path, SIDES, HZ, subtype="IMA_ADPCM")
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])

    with StereoRecording(path) as recording:
        assert list(recording.blocks())
        [remark] = recording.remarks()
    assert remark == "cut off: 2.0 s of the 4.0 s that its header says are missing"
