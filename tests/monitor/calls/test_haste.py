"""What waits for the next look changes nothing that anybody waits for; what presses is found at once."""

from __future__ import annotations

import ast
import copy
import inspect
import random
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from invented_calls.effort import effort
from invented_calls.plausible import plausible_calls
from invented_calls.script import CALL_ID, S

from earwitness.monitor.calls.published import UNCOUNTED
from earwitness.monitor.calls.timeline import CallTimeline
from earwitness.monitor.measures import call_rules, exemplars, talk_rules

CHANCE = st.randoms(use_true_random=False)


@effort(25)
@given(plausible_calls(5), CHANCE)
def test_an_answer_is_never_kept_waiting(events: list[Any], chance: random.Random) -> None:
    timeline, known = CallTimeline(CALL_ID), set[str]()
    for event in events:
        timeline.add(event)
        if timeline.pressing or event.at_ns >= timeline.due_ns or chance.randrange(10) == 0:
            known |= answered(timeline.advance(timeline.last_at_ns))
            continue
        looked = copy.deepcopy(timeline)
        assert answered(looked.advance(looked.last_at_ns)) <= known


def answered(changed: list[Any]) -> set[str]:
    return {r.id for r in changed if r.kind == "turn" and r.response_latency_ns is not None}


@pytest.mark.parametrize(
    ("kind", "fields", "presses"),
    [
        pytest.param("playout", {"phase": "first", "edge_ns": 5 * S, "response_id": "r1"}, True, id="an answer"),
        pytest.param("tool", {"tool_call_id": "x", "name": "look_up", "phase": "called"}, True, id="a tool"),
        pytest.param("call_ended", {"cause": "caller"}, True, id="the end"),
        pytest.param("stage", {"service": "llm", "metric": "ttfb", "value_s": 0.2}, False, id="a metric"),
        pytest.param("agent_text", {"response_id": "r1", "spoken": "Yes"}, False, id="a word of the agent"),
        pytest.param("response", {"response_id": "r1", "phase": "first_token"}, False, id="a milestone"),
        pytest.param("response", {"response_id": "r1", "phase": "cancelled"}, False, id="a cancelled run"),
        pytest.param("transcript", {"party": "caller", "text": "yes", "final": False}, False, id="an interim"),
    ],
)
def test_what_presses(call: Callable[..., Any], kind: str, fields: dict[str, Any], presses: bool) -> None:
    story = call().connected(0.1).user(1.0, 2.5, "hello there").turn_end(2.9)
    timeline = CallTimeline("c1")
    for event in story.events():
        timeline.add(event)
    timeline.advance(3 * S)
    timeline.add(story.put(5.0, kind, **fields).events()[-1])
    assert timeline.pressing is presses


@pytest.mark.parametrize("rules", [(talk_rules, call_rules), (exemplars,)])
def test_no_measure_reads_a_field_in_which_revisions_may_differ_uncounted(rules: tuple[ModuleType, ...]) -> None:
    nodes = [node for module in rules for node in ast.walk(ast.parse(inspect.getsource(module)))]
    read = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    read |= {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    assert "response_latency_ns" in read
    assert not read & UNCOUNTED
