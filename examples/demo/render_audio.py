"""Renders every sentence of the demo with flite: ``python -m examples.demo.render_audio [FOLDER]``."""

from __future__ import annotations

import sys
from pathlib import Path

from examples.demo.callers import sentences
from examples.demo.clips import SHIPPED, flite_has, render


def render_all(folder: Path) -> int:
    """Write one clip per sentence and voice into ``folder``; how many."""
    folder.mkdir(parents=True, exist_ok=True)
    wanted = [(voice, text) for voice, texts in sentences().items() for text in sorted(texts)]
    for voice, text in wanted:
        render(voice, text, folder)
    return len(wanted)


def main() -> int:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else SHIPPED
    if not flite_has(set(sentences())):
        print(f"flite with the voices {', '.join(sorted(sentences()))} is needed: apt install flite", file=sys.stderr)
        return 2
    print(f"{render_all(folder)} clips in {folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
