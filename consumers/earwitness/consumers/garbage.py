"""How often a worker's process looks for cycles of garbage: a look at everything that it holds stops it for a while."""

from __future__ import annotations

import gc
from typing import Final

YOUNG: Final = 50_000
"""So many objects more than before are looked through, instead of Python's 700; each further generation is ten times
that. Of what a fold lets go hardly anything is a cycle, so that next to nothing waits for it."""


def collect_seldom() -> None:
    """For a process that does nothing but fold, once it has started: what it has until then is not looked at again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, 10, 10)
