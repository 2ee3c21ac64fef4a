"""Where an integer stands in a series: the flat layout that buckets, windows and histograms share.

A series is one measure and class of one label set. Each of its integers has a slot below ``STRIDE``; only slots
that are not 0 are kept.
"""

from __future__ import annotations

from typing import Final

STRIDE: Final = 4096
"""Slots of one series; bins of values, of waits and of lower bounds have a quarter each."""

CLASSES: Final = 1024
"""Classes of all measures together that one process tells apart; the rest is dropped from sight as ``other``. A key is
``(label set * CLASSES + class) * STRIDE + slot``."""

VALUES: Final = 0
"""Measured values, by bin."""
CENSORED: Final = 1024
"""Those who waited in vain, by the bin of their wait."""
AT_LEAST: Final = 2048
"""Values of which only a lower bound is known, by the bin of that bound."""

SUM_NS: Final = 3072
LOW_SUM_NS: Final = 3073
"""Sum of the values under the least log bin."""
HIGH_SUM_NS: Final = 3074
"""Sum of the values over the greatest log bin."""
ELIGIBLE: Final = 3075
INVALID: Final = 3076
UNMEASURED: Final = 3077
COUNT: Final = 3078
DENOMINATOR: Final = 3079
RESTATED: Final = 3080
"""Changes that came after the bucket was published; no part of a result."""
