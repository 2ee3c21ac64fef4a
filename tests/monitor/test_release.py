"""The release that runs, installed or not."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import NoReturn

import pytest

from earwitness.monitor.release import release


def test_it_is_that_of_the_installed_package() -> None:
    assert release() == version("earwitness")


def test_what_was_never_installed_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    def is_missing(name: str) -> NoReturn:
        raise PackageNotFoundError(name)

    monkeypatch.setattr("earwitness.monitor.release.version", is_missing)

    assert release() == "unknown"
