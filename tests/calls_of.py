"""Many calls out of the little language for calls, each different, from a seed."""

from __future__ import annotations

import importlib.util
import random
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from earwitness.monitor.contract.records import AnyRecord


def _language() -> ModuleType:
    path = Path(__file__).parent / "monitor" / "calls" / "conftest.py"
    spec = importlib.util.spec_from_file_location("story_of_a_call", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def sample_call(rng: random.Random, *, slow_s: float = 0.9, unanswered: float = 0.05, **started: Any) -> Any:
    """The story of one call: turns, barge-ins kept and yielded, backchannels, silences, an ending."""
    story = _language().Story(language="en", **started).connected(0.0)
    story.bot(0.5, 3.0, "Hello, how can I help?", why="greeting", cut=False)
    own_s, at = slow_s * rng.lognormvariate(0, 0.2), 4.0
    for _ in range(rng.randint(3, 7)):
        story.user(at, at + 1.5, "I need something for tomorrow").turn_end(at + 1.9)
        if rng.random() < unanswered:
            at += 14
            continue
        begins = at + 1.5 + max(0.3, own_s * rng.lognormvariate(0, 0.2))
        what = rng.random()
        if what < 0.2:  # yielded to
            story.bot(begins, begins + 1.6, "here you are", cut=True).interruption(begins + 1.5)
            story.user(begins + 1.2, begins + 2.0, "no wait, I meant something else")
            at = begins + 4
            continue
        story.bot(begins, begins + 4.5, "here you are, it is all very good", cut=False)
        if what < 0.35:
            story.user(begins + 1, begins + 1.9, "no wait, I meant something else")
        elif what < 0.6:
            story.user(begins + 1, begins + 1.4, "mhm")
        elif what < 0.7:
            story.bot(begins + 6, begins + 7.5, "one more thing", why="application", cut=False)
            story.user(begins + 5.5, begins + 6.8, "and is there")
        at = begins + rng.choice([7.5, 9.5, 12.0])
    return story.end(at + 1, rng.choice(["caller", "agent"]))


def sample_calls(count: int, seed: int, **more: Any) -> list[list[AnyRecord]]:
    """The records of many calls."""
    rng = random.Random(seed)
    return [sample_call(rng, **more).told().records for _ in range(count)]
