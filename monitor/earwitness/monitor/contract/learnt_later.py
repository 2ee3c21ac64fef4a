"""What others than the call's own process know of it: judges, people, the file that came with a recording.

It goes onto the call's own partition as events too.
"""

from __future__ import annotations

from typing import Literal

from earwitness.monitor.contract.event import Event, Ns

WantClass = Literal["backchannel", "noise", "echo", "not_addressed"]
"""What a sound was that did not want the floor: a cough or a tic is ``noise``."""


class Verdict(Event):
    """A judge's word on one criterion of the call."""

    kind: Literal["verdict"] = "verdict"
    criterion: str
    verdict: Literal["pass", "fail", "abstain", "judge_error", "judge_refused"]
    rubric: str | None = None
    model: str | None = None
    evidence: tuple[str, ...] = ()
    reason: str | None = None
    inclusion_probability: float | None = None
    triggered: bool = False
    attempts: int = 1


class HumanLabel(Event):
    """A person's word on one thing of the call: whether an overlap was wanted, a turn's text, a criterion."""

    kind: Literal["human_label"] = "human_label"
    subject: str
    """An overlap, turn or criterion id."""
    label: str
    """Of an overlap: ``wanted``, ``not``, or ``cleared``, which takes back what was said before."""
    want_class: WantClass | None = None
    """With ``not``: what it was."""
    author: str | None = None


class Expectation(Event):
    """What whoever gave a recording knows of it: whether the caller wanted the floor.

    ``wanted`` true speaks of the overlap that begins at ``overlap_ns`` (within 0.5 s), false of every overlap that no
    other expectation names (definitions, "Interruptions", rule 8).
    """

    kind: Literal["expectation"] = "expectation"
    wanted: bool
    overlap_ns: Ns | None = None


class LateFact(Event):
    """Something learnt after the call: a re-contact, a survey, a goal that was met after all."""

    kind: Literal["late_fact"] = "late_fact"
    name: str
    value: str | float | bool | None = None
