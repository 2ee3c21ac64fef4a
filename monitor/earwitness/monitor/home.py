"""Where Earwitness keeps its files unless told otherwise: one absolute place, the same for a bot and a monitor."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def home(environ: Mapping[str, str]) -> Path:
    """``EARWITNESS_HOME``, else ``$XDG_DATA_HOME/earwitness``, else ``~/.local/share/earwitness``.

    Source: interfaces, "Places".
    """
    if named := environ.get("EARWITNESS_HOME"):
        return Path(named).expanduser().absolute()
    # The XDG rules say that a relative path is to be ignored.
    if (data := environ.get("XDG_DATA_HOME")) and Path(data).is_absolute():
        return Path(data) / "earwitness"
    base = Path(environ["HOME"]) if environ.get("HOME") else Path.home()
    return base / ".local" / "share" / "earwitness"
