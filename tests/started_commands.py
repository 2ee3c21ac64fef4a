"""Commands in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys


def started(arguments: list[str]) -> subprocess.Popen[bytes]:
    command = [
        sys.executable,
        "-c",
        # Tests that are themselves run under nohup would hand it on.
        "import signal, sys; signal.signal(signal.SIGHUP, signal.SIG_DFL);"
        "from earwitness.monitor.cli import main; sys.exit(main())",
        *arguments,
    ]
    env = os.environ | {"PYTHONUNBUFFERED": "1"}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)
