"""``earwitness setup-file``: the path for ``PIPECAT_SETUP_FILES``. Needs nothing of the service side."""

from __future__ import annotations

import argparse
import importlib.util
from pathlib import Path

from earwitness.monitor.errors import BadInput


def execute(arguments: argparse.Namespace) -> int:
    # Found by its place, not imported: the path must be had where Pipecat is not installed too.
    spec = importlib.util.find_spec("earwitness.processors")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        path = Path(folder) / "setup_file.py"
        if path.is_file():
            print(path)
            return 0
    raise BadInput("the setup file is not part of this installation; install earwitness again")
