"""The command line: the one place that may import everything and puts it together. Nothing imports it."""

from earwitness.monitor.cli.entry import main

__all__ = ["main"]
