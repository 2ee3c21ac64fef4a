"""How long properties are searched for a counterexample.

By default few examples and always the same ones, so that the suite is quick and depends on no luck. A search:
``EARWITNESS_TEST_EXAMPLES=10000 python -m pytest tests/monitor/calls -k properties``; only a search shrinks what it
finds, which takes minutes.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, Phase, settings

SEARCH = int(os.environ.get("EARWITNESS_TEST_EXAMPLES", "0"))


def effort(examples: int) -> settings:
    """Settings of a property: ``examples`` fixed ones, or as many random ones as the environment asks for."""
    return settings(
        max_examples=SEARCH or examples,
        derandomize=not SEARCH,
        database=None,
        deadline=None,
        phases=tuple(Phase) if SEARCH else (Phase.explicit, Phase.generate),
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
    )
