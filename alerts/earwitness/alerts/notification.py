"""What an alert tells: one firing or resolved notice, with where to look and what grew."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from earwitness.alerts.quantities import Unit
from earwitness.monitor.measures.reading import Labels


class Frozen(BaseModel):
    """Kept on the log and read again: fields are only added."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Part(Frozen):
    """The part of the latency that grew most, in seconds of its typical share against the hour before."""

    name: str
    now_s: float
    before_s: float

    @property
    def growth_s(self) -> float:
        return self.now_s - self.before_s


class Cause(Frozen):
    """What is known of the why; each field only where it is known."""

    part: Part | None = None
    service: str | None = None
    new_version: str | None = None
    """A version that took no call in the hour before."""


class Evidence(Frozen):
    """A call to look at."""

    call_id: str
    subject: str
    value_s: float | None = None
    at_s: float
    censored: bool = False


class Notice(Frozen):
    """One message: that an alert fires, or that it no longer does. ``(fingerprint, since_ns, status)`` is its
    identity: whoever gets it twice has got it once."""

    status: Literal["firing", "resolved"]
    fingerprint: str
    rule: str
    severity: str
    labels: dict[str, str] = {}
    measure: str
    """With its statistic: ``response_latency.p95``."""
    title: str
    """For people: ``response latency p95``."""
    unit: Unit
    direction: Literal["above", "below"]
    threshold: float
    window_s: int
    value: float | None = None
    more_than: float | None = None
    count: int | None = None
    """Of a rate: how many of ``n``."""
    n: int = 0
    coverage: float | None = None
    since_ns: int
    until_ns: int | None = None
    as_of_ns: int
    reason: Literal["clear", "no_data", "rule_gone"] | None = None
    """Why it was resolved."""
    cause: Cause = Cause()
    evidence: tuple[Evidence, ...] = ()

    @property
    def group(self) -> Labels:
        return tuple(sorted(self.labels.items()))
