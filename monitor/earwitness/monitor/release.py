"""Which release of Earwitness runs."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version


def release() -> str:
    """As installed; ``unknown`` where it runs without having been."""
    try:
        return version("earwitness")
    except PackageNotFoundError:
        return "unknown"
