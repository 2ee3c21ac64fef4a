"""Data with known answers that nobody here made and that is no part of the repository: read where it lies.

It lies in the folder that ``EARWITNESS_TEST_SHARED`` names, by default ``../shared`` beside the project.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from loud_skips import OUTSIDE_DATA

PROJECT = Path(__file__).resolve().parent.parent


def outside(*parts: str) -> Path:
    """A file or folder of the outside data; where it is not there, the test is skipped, loudly."""
    folder = Path(os.environ.get("EARWITNESS_TEST_SHARED") or PROJECT.parent / "shared")
    path = folder.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"{OUTSIDE_DATA} is not here: {'/'.join(parts)} (EARWITNESS_TEST_SHARED names its folder)")
    return path


def outside_json(*parts: str) -> Any:
    """The same, read as JSON."""
    return json.loads(outside(*parts).read_text(encoding="utf-8"))
