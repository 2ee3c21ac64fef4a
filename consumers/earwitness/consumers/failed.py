"""How who takes records in tells of those that he cannot."""

from __future__ import annotations

from collections.abc import Callable

from earwitness.monitor.log.protocol import Entry

Failed = Callable[[Entry, Exception], None]
"""Told of a record that cannot be taken in, and why."""
