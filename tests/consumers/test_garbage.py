"""How a worker's process looks for garbage, tried in a process of its own: it would change all other tests'."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import gc, weakref
from earwitness.consumers.garbage import YOUNG, collect_seldom

class Node:
    pass

def cycle():
    node = Node()
    node.itself = node
    return weakref.ref(node)

before = len(gc.get_objects())
collect_seldom()
left = len(gc.get_objects())
gone = cycle()
kept = [[] for _ in range(YOUNG + 1)]
print(gc.get_freeze_count() > before / 2, left < before / 10, gone() is None)
"""


def test_what_was_there_at_the_start_is_looked_at_no_more_and_cycles_still_go() -> None:
    ran = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)

    assert ran.stdout.split() == ["True", "True", "True"]
