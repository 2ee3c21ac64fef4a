"""No test leaves structlog set up for those after it: what a command line was told to log, they would not see."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import structlog


@pytest.fixture(autouse=True)
def logging_as_before() -> Iterator[None]:
    yield
    structlog.reset_defaults()
