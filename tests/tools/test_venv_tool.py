"""``tools/venv.sh``: a failed attempt leaves nothing that the next one would take for an environment."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

TOOL = Path(__file__).resolve().parents[2] / "tools" / "venv.sh"
HALF_A_PYTHON = """#!/bin/sh
case "$1" in
    -c) exit 0 ;;
    -m) mkdir -p "$3/bin"; printf '#!/bin/sh\\n' > "$3/bin/python"; chmod +x "$3/bin/python"; exit 1 ;;
esac
"""


def test_a_python_without_ensurepip_is_named_and_leaves_no_half_environment(tmp_path: Path) -> None:
    python, venv = tmp_path / "python3", tmp_path / "venv"
    python.write_text(HALF_A_PYTHON)
    python.chmod(0o755)
    environ = {"PATH": "/usr/bin:/bin", "PYTHON": str(python), "VENV": str(venv), "HOME": os.environ.get("HOME", "/")}

    done = subprocess.run([str(TOOL), "demo"], capture_output=True, text=True, timeout=60, env=environ, check=False)

    assert done.returncode == 2
    assert "apt install python3-venv" in done.stderr
    assert not venv.exists()
