"""From a stretch of a call's facts to the contents of its records, as of one moment.

A pure function: same facts, same past, same moment, same contents. Ids count in time order (``t1``, ``a1``, ``o1``).
"""

from __future__ import annotations

from dataclasses import dataclass

from earwitness.monitor.calls.agent_records import write_agent_turns, write_interruptions
from earwitness.monitor.calls.bounds import Bounds
from earwitness.monitor.calls.call_record import Tally, count_facts, write_call
from earwitness.monitor.calls.carry import Carry
from earwitness.monitor.calls.classes import Standing
from earwitness.monitor.calls.facts import Facts
from earwitness.monitor.calls.outcome import end_cause
from earwitness.monitor.calls.overlap_records import write_overlaps
from earwitness.monitor.calls.page import Page
from earwitness.monitor.calls.scene import build_scene
from earwitness.monitor.calls.service_records import write_dead_air, write_stages, write_tools
from earwitness.monitor.calls.silence import Stretch, dead_air
from earwitness.monitor.calls.turn_records import write_turns
from earwitness.monitor.calls.turns import follow
from earwitness.monitor.calls.unheard import unheard_audio
from earwitness.monitor.contract.records import StageSample


@dataclass(frozen=True, slots=True)
class Reckoning:
    """The records of a stretch of a call, and what they were worked out from."""

    page: Page
    stretches: list[Stretch]


def reckon(
    facts: Facts, carry: Carry, bounds: Bounds, *, as_of_ns: int, over: bool, wall_ns: int, tally: Tally
) -> Reckoning:
    """The records from ``carry.cut_ns`` on as of a moment; ``over``: the call ended at ``as_of_ns``."""
    page = lay_out(facts, carry, bounds, as_of_ns=as_of_ns, over=over, wall_ns=wall_ns)
    fates, stretches = _write(page)
    write_call(page, fates, stretches, tally)
    return Reckoning(page, stretches)


def lay_out(facts: Facts, carry: Carry, bounds: Bounds, *, as_of_ns: int, over: bool, wall_ns: int) -> Page:
    """The page of such a reckoning, before anything is written on it."""
    scene = build_scene(facts, bounds, as_of_ns=as_of_ns, over=over)
    talk = follow(scene, overlaps_before=carry.numbers["o"])
    cause = end_cause(scene, as_of_ns) if over else None
    return Page(scene, talk, carry, wall_ns, cause, unheard_audio(scene, carry, cause))


def reckon_before(page: Page, moment_ns: int, told_ns: int) -> Reckoning:
    """Of the records of a page those that begin before a moment, and not the call's; of service metrics, which lie
    where they are told, those that were told before ``told_ns``."""
    page.before_ns, page.told_before_ns = moment_ns, told_ns
    _, stretches = _write(page)
    page.drafts = [
        draft for draft in page.drafts if draft.place_ns < (told_ns if draft.kind is StageSample else moment_ns)
    ]
    return Reckoning(page, stretches)


def _write(page: Page) -> tuple[list[Standing], list[Stretch]]:
    fates = write_turns(page)
    write_agent_turns(page)
    write_overlaps(page)
    write_interruptions(page)
    stretches = dead_air(page.scene, page.talk, page.carry)
    write_dead_air(page, stretches)
    write_tools(page)
    write_stages(page)
    count_facts(page)
    return fates, stretches
