"""What the tools of the repository put into the environment must not read as a mistake of the user's settings."""

from __future__ import annotations

import re
from pathlib import Path

from earwitness.monitor.settings import Sources, load_settings

ROOT = Path(__file__).resolve().parents[2]


def test_what_the_tools_export_is_taken_for_no_setting() -> None:
    scripts = [ROOT / ".ci" / "run", *sorted((ROOT / "tools").glob("*.sh"))]
    exported = {name for script in scripts for name in re.findall(r"export (EARWITNESS_\w+)=", script.read_text())}
    assert exported

    load_settings(Sources(environ=dict.fromkeys(exported, "given"), here=ROOT / "tests"))
