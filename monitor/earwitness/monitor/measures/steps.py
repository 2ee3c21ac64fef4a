"""Which windows are kept, and the steps in which they move."""

from __future__ import annotations

from typing import Final

STEP_OF: Final = {
    60: 10, 300: 10, 1_800: 60, 3_600: 60, 7_200: 60, 21_600: 600, 86_400: 600, 259_200: 3_600, 604_800: 3_600,
}  # fmt: skip
"""Windows in seconds, and the steps in which they move. Those of 3 d and 7 d hold counts and the headline only."""
FINEST_STEP_S: Final = 10
"""Other windows, of up to 5 min, move in steps of these."""
LONG_STEP_S: Final = 3_600
