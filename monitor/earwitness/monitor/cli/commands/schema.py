"""``earwitness schema``: the contract for readers in other languages."""

from __future__ import annotations

import argparse

from earwitness.monitor.contract.schema import schemas


def execute(arguments: argparse.Namespace) -> int:
    print(schemas()[f"{arguments.what}.json"], end="")
    return 0
