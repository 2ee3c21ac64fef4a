"""A recording heard: the truth of real calls and of made ones, and what must never become speech or silence."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
import soundfile  # type: ignore[import-untyped]
from data.ladder import HZ, Call, Floats, Spans, call, crosstalk, echo, kept_calls, kept_clips, noisy, sounds, white
from outside_data import outside, outside_json

from earwitness.monitor.audio.recording import Ears, VoiceActivity, hear
from earwitness.monitor.audio.wav import Block
from earwitness.monitor.calls.heard import Expectation, HeardCall, events_of
from earwitness.monitor.calls.report import report
from earwitness.monitor.calls.whole_call import fold
from earwitness.monitor.errors import BadInput

S = 1_000_000_000
Hears = Callable[..., HeardCall]


@pytest.fixture
def hears(tmp_path: Path) -> Hears:
    """Writes two channels (full scale 1) to a file and hears it."""

    def heard(caller: Floats, agent: Floats, rate_hz: int = HZ, subtype: str = "PCM_16", **named: Any) -> HeardCall:
        path = tmp_path / "call.wav"
        soundfile.write(path, np.clip(np.stack((caller, agent), axis=1), -1, 1), rate_hz, subtype=subtype)
        return hear(path, **named)

    return heard


def seconds(spans: tuple[tuple[int, int], ...]) -> Spans:
    return tuple((on / S, off / S) for on, off in spans)


def own(heard: HeardCall) -> Spans:
    """The caller's speech without the agent's echo."""
    return seconds(tuple(span for span in heard.caller if span not in heard.echo))


def assert_heard(true: Spans, heard: Spans, *, within_s: float = 0.06) -> None:
    """Every true stretch was heard with both edges in place, and nothing else was."""
    claimed: set[tuple[float, float]] = set()
    for on, off in true:
        mine = [span for span in heard if span[0] < off and span[1] > on]
        assert mine, f"nothing heard from {on:.2f} to {off:.2f} s"
        assert mine[0][0] == pytest.approx(on, abs=within_s)
        assert mine[-1][1] == pytest.approx(off, abs=within_s)
        claimed.update(mine)
    assert claimed == set(heard)


@pytest.fixture(scope="module")
def usual() -> Call:
    return kept_calls(turns=3)[0]


@pytest.fixture(scope="module")
def quiet() -> Call:
    return kept_calls(turns=3)[2]


# Real calls


CLIPS = [
    f"vapi-default-{name}"
    for name in (
        "01-hard-interruption", "03-backchannel-mhm", "04-backchannel-halt", "05-backchannel-yeah", "07-correction",
        "08-rapid-1", "08-rapid-3", "10-quiet-retry", "12-greeting-overlap",
    )
]  # fmt: skip


def label_of(clip: str) -> dict[str, Any]:
    labels: list[dict[str, Any]] = outside_json("truth", "vapi-calls", "labels.json")
    return next(label for label in labels if label["id"] == clip)


@pytest.mark.parametrize("voice_activity", ["accurate", "fast"])
@pytest.mark.parametrize("clip", CLIPS)
def test_real_calls_give_way_and_fall_silent_as_their_signal_says(clip: str, voice_activity: VoiceActivity) -> None:
    label = label_of(clip)
    truth = label["by_signal"]
    runs: list[list[float]] = truth["caller_runs_sec"]
    scripted = min(runs, key=lambda run: abs(run[0] - label["caller_onset_sec"]))[0]

    heard = hear(outside("truth", "vapi-calls", label["audio"]), voice_activity=voice_activity)
    shown: dict[str, Any] = report(fold(events_of(heard)))["calls"][0]

    assert min(abs(on / S - scripted) for on, _ in heard.caller) <= 0.1
    near = [o for o in shown["overlaps"] if abs(o["u_on_s"] - scripted) <= 0.1]
    if truth["gave_way"] is None:
        assert near == []
        return
    assert [o["yielded_observed"] for o in near] == [truth["gave_way"]]
    assert [o["gave_way"] for o in near] == [truth["gave_way"]]
    silent = next(off / S for on, off in heard.agent if on / S <= near[0]["u_on_s"] < off / S)
    if truth["gave_way"]:
        assert silent == pytest.approx(truth["agent_silent_at_sec"], abs=0.1)


# What becomes speech


@pytest.mark.parametrize("voice_activity", ["accurate", "fast"])
@pytest.mark.parametrize("gain_db", [0.0, -21.0])
def test_callers_are_heard_where_they_spoke_the_quiet_ones_too(
    hears: Hears, usual: Call, gain_db: float, voice_activity: VoiceActivity
) -> None:
    heard = hears(usual.caller * 10 ** (gain_db / 20), usual.agent, voice_activity=voice_activity)

    assert_heard(usual.caller_s, own(heard))
    assert_heard(usual.agent_s, seconds(heard.agent), within_s=0.02)
    assert (heard.unobserved, heard.echo, heard.speaking_at_end) == ((), (), ())
    assert heard.details["voice activity"] == voice_activity


def converted(pcm: Floats, rate_hz: int) -> Floats:
    size = round(pcm.size * rate_hz / HZ)
    spectrum = np.fft.rfft(pcm)
    kept = np.zeros(size // 2 + 1, complex)
    kept[: min(kept.size, spectrum.size)] = spectrum[: kept.size]
    made: Floats = np.fft.irfft(kept, size) * (size / pcm.size)
    return made


@pytest.mark.parametrize("rate_hz", [8_000, 11_025, 22_050, 32_000, 44_100, 48_000])
def test_b19_calls_of_any_rate_are_heard_to_their_end(hears: Hears, usual: Call, rate_hz: int) -> None:
    last = round(usual.caller_s[-1][1] * HZ) - 113  # ends in a word, and in mid-frame
    heard = hears(converted(usual.caller[:last], rate_hz), converted(usual.agent[:last], rate_hz), rate_hz)

    assert_heard(usual.caller_s, own(heard), within_s=0.13)  # a closing "sh" lies above what 8 kHz carries
    assert_heard(usual.agent_s, seconds(heard.agent), within_s=0.13)
    assert heard.duration_ns == pytest.approx(last * S / HZ, abs=S / rate_hz)
    assert heard.speaking_at_end == ("caller",)
    assert heard.caller[-1][1] == heard.duration_ns


def test_a_soft_mhm_on_a_gated_line_is_heard_and_clicks_are_not(hears: Hears) -> None:
    pcm = np.zeros(HZ * 6)
    pcm[HZ : HZ + 400] = 0.01 * np.sin(np.arange(400) * 0.05)
    pcm[3 * HZ :: HZ // 2] = 0.5

    heard = hears(pcm, np.zeros(HZ * 6))

    assert seconds(heard.caller) == ((1.0, 1.03),)


def test_rings_keys_and_clatter_are_nobody_speaking(hears: Hears, usual: Call) -> None:
    noisy_line = sounds(usual)

    heard = hears(noisy_line.caller + white(usual.caller.size, 1) * 1e-3, usual.agent)

    assert not np.array_equal(noisy_line.caller, usual.caller)
    assert_heard(usual.caller_s, own(heard), within_s=0.15)


def test_noise_alone_is_nobody_speaking_on_either_side(hears: Hears) -> None:
    heard = hears(white(HZ * 30, 1) * 0.03, white(HZ * 30, 2) * 0.01)

    assert heard.caller == heard.agent == ()
    assert heard.unobserved == ()
    assert heard.caller_snr_db is None


@pytest.mark.parametrize("snr_db", [30, 20, 10])
def test_the_signal_to_noise_is_told(hears: Hears, usual: Call, snr_db: int) -> None:
    made = noisy(usual, white, snr_db)

    assert hears(made.caller, made.agent).caller_snr_db == pytest.approx(snr_db, abs=2.5)


# Echo and crosstalk


@pytest.mark.parametrize("voice_activity", ["accurate", "fast"])
@pytest.mark.parametrize("level_db", [-10.0, -15.0, -25.0])
def test_b07_the_agents_echo_is_marked_and_who_speaks_over_it_is_heard(
    hears: Hears, quiet: Call, level_db: float, voice_activity: VoiceActivity
) -> None:
    made = echo(quiet, level_db)  # the echo at -10 dB is 10 dB louder than this caller

    heard = hears(made.caller, made.agent, voice_activity=voice_activity)

    assert_heard(quiet.caller_s, own(heard), within_s=0.2)
    assert len(heard.echo) >= len(quiet.agent_s) - 1
    assert set(heard.echo) <= set(heard.caller)
    for on, off in seconds(heard.echo):
        assert any(start + 0.1 < off and on < end + 0.3 for start, end in quiet.agent_s)
    assert heard.details["leak into the caller channel"] == "the agent, 180 ms late: taken out"
    assert all(a[1] < b[0] for a, b in pairwise(heard.caller))


def test_b07_an_echo_wants_nothing_and_opens_no_turn(hears: Hears) -> None:
    said = kept_clips()
    agent = np.concatenate([np.zeros(HZ), said["desk"].pcm, np.zeros(HZ * 2), said["appointment"].pcm, np.zeros(HZ)])
    made = echo(Call("echo", np.zeros(agent.size), agent, (), ()), -15)

    shown: dict[str, Any] = report(fold(events_of(hears(made.caller, made.agent))))["calls"][0]

    assert shown["turns"] == []
    assert shown["overlaps"]
    assert {(o["wanted"], o["class"], o["decided_by"]) for o in shown["overlaps"]} == {("no", "echo", "echo")}


@pytest.mark.parametrize("level_db", [-20.0, -30.0])
def test_channels_that_leak_into_each_other_give_each_side_its_own_speech(
    hears: Hears, usual: Call, level_db: float
) -> None:
    made = crosstalk(usual, level_db)

    heard = hears(made.caller, made.agent)

    assert_heard(usual.caller_s, seconds(heard.caller))
    assert_heard(usual.agent_s, seconds(heard.agent), within_s=0.05)
    assert heard.echo == ()
    assert heard.details["leak into the caller channel"] == "the agent, at once: taken out"


def test_two_who_speak_at_once_without_any_leak_keep_their_speech(hears: Hears, usual: Call) -> None:
    both = Call("both", usual.agent, usual.caller, usual.agent_s, usual.caller_s)
    longer = np.concatenate((both.caller, usual.caller)), np.concatenate((both.agent, usual.agent))

    heard = hears(*longer)

    assert heard.echo == ()
    assert not [key for key in heard.details if key.startswith("leak")]


# What is never silence


@pytest.mark.parametrize("idle", ["zeros", "dither", "one constant"])
@pytest.mark.parametrize("silent", ["caller", "agent"])
def test_a_channel_that_carries_nothing_is_unobserved(hears: Hears, usual: Call, silent: str, idle: str) -> None:
    size = usual.caller.size
    nothing = {
        "zeros": np.zeros(size),
        "dither": np.random.default_rng(1).integers(-1, 2, size) / 32768,
        "one constant": np.full(size, 0.25),
    }[idle]
    sides = (nothing, usual.agent) if silent == "caller" else (usual.caller, nothing)

    heard = hears(*sides)

    assert heard.unobserved == (silent,)
    assert (heard.caller if silent == "caller" else heard.agent) == ()
    assert (heard.agent if silent == "caller" else heard.caller) != ()
    assert "nothing of this side was recorded" in heard.details[f"{silent} channel"]


@pytest.mark.parametrize("offset", [0.05, -0.3])
def test_a_constant_offset_is_no_sound(hears: Hears, usual: Call, offset: float) -> None:
    heard = hears(usual.caller + offset, usual.agent + offset)

    assert heard.unobserved == ()
    assert_heard(usual.agent_s, seconds(heard.agent))
    assert_heard(usual.caller_s, own(heard), within_s=0.3)


@pytest.mark.parametrize("offset", [0.0, 0.3])
def test_the_same_sound_in_both_channels_is_no_call_of_two_sides(hears: Hears, usual: Call, offset: float) -> None:
    both = usual.caller + usual.agent
    dither = np.random.default_rng(1).normal(size=both.size).astype(np.float32) * 1e-4

    with pytest.raises(BadInput, match="both channels hold the same sound: it is mono"):
        hears(both + offset, both + offset + dither)
    hears(usual.caller + 0.3, usual.agent + 0.3)


def test_samples_at_full_scale_are_remarked_on(hears: Hears, usual: Call) -> None:
    heard = hears(usual.caller * 30, usual.agent)

    assert heard.details["caller channel"].startswith("clipped: ")
    assert "agent channel" not in heard.details


# Length and blocks


def blocks_of(made: Call, size: int, times: int = 1) -> Iterator[Block]:
    caller, agent = ((np.clip(side, -1, 1) * 32767).astype(np.int16) for side in (made.caller, made.agent))
    for _ in range(times):
        for at in range(0, caller.size, size):
            yield Block(caller[at : at + size], agent[at : at + size])


def test_it_makes_no_difference_how_a_recording_is_cut_into_blocks(usual: Call) -> None:
    found = []
    for size in (HZ * 60, HZ * 2, 4_801):
        ears = Ears(HZ, "fast")
        ears.hear(blocks_of(usual, size))
        found.append((ears.spans("caller"), ears.spans("agent"), ears.snr_db, ears.duration_ns))

    assert found[0] == found[1] == found[2]


def test_a_long_call_needs_no_more_memory_than_a_short_one(usual: Call) -> None:
    process = psutil.Process()
    ears = Ears(HZ, "fast")
    resident: list[int] = []

    def watched() -> Iterator[Block]:
        for block in blocks_of(usual, HZ * 2, times=24):
            yield block
            resident.append(process.memory_info().rss)

    ears.hear(watched())

    assert ears.duration_ns > 420 * S
    assert len(ears.spans("caller")) >= 24 * len(usual.caller_s)
    assert max(resident) - max(resident[: len(resident) // 8]) < 12_000_000


def test_a_monologue_without_a_pause_is_one_stretch(hears: Hears) -> None:
    words = np.tile(kept_clips()["no"].pcm, 300)  # longer than any stretch is held back for
    pcm = np.concatenate((np.zeros(HZ * 3), words, np.zeros(HZ * 3))) + white(words.size + HZ * 6, 1) * 1e-3

    heard = hears(pcm, np.zeros(pcm.size))

    assert_heard(((3.0, 3.0 + words.size / HZ),), own(heard))
    assert len(heard.caller) == 1


@pytest.mark.parametrize("size", [1, 100, 161, 7_999])
def test_a_recording_of_next_to_nothing_is_heard_too(hears: Hears, size: int) -> None:
    heard = hears(white(size, 1) * 0.01, white(size, 2) * 0.01 + 0.1)

    assert (heard.caller, heard.duration_ns) == ((), size * S // HZ)


def test_the_end_of_a_call_is_heard_like_its_middle(hears: Hears) -> None:
    said = kept_clips()
    made = call("long", {"again": said["again"]}, {"desk": said["desk"]}, gain_db=0.0, seed=4, turns=9)

    heard = own(hears(made.caller, made.agent))

    assert len(heard) >= len(made.caller_s) > 4
    assert_heard(made.caller_s, heard)


def test_an_expectation_given_with_a_recording_finds_its_overlap(hears: Hears, usual: Call) -> None:
    on, _ = usual.overlaps_s[0]
    heard = hears(usual.caller, usual.agent)
    named = HeardCall(
        heard.call_id, heard.duration_ns, heard.caller, heard.agent, expectations=(Expectation(round(on * S), True),)
    )

    shown: dict[str, Any] = report(fold(events_of(named)))["calls"][0]

    assert "expectation" in {o["decided_by"] for o in shown["overlaps"]}
