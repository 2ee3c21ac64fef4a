"""The contract, and what ``--json`` prints, as JSON Schema for readers in other languages. The files are generated.

``python -m earwitness.monitor.contract.schema --write`` writes them again; a test fails while they differ from the
models.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Final, cast

from pydantic import TypeAdapter

from earwitness.monitor.contract.comparison import Comparison
from earwitness.monitor.contract.events import EVENT_ADAPTER
from earwitness.monitor.contract.records import RECORD_ADAPTER
from earwitness.monitor.contract.report import REPORT_ADAPTER

FOLDER: Final = Path(__file__).parent / "schema"

_SOURCES: dict[str, tuple[str, TypeAdapter[Any]]] = {
    "event.json": ("Earwitness event, version 1", EVENT_ADAPTER),
    "record.json": ("Earwitness record, version 1", RECORD_ADAPTER),
}
_PRINTED: dict[str, tuple[str, TypeAdapter[Any]]] = {
    "analyze.json": ("Report of earwitness analyze --json, version 1", REPORT_ADAPTER),
    "compare.json": ("Comparison of earwitness compare --json, version 1", TypeAdapter(Comparison)),
}


def schemas() -> dict[str, str]:
    """File name to text, as the models are now."""
    read = {name: _text(title, adapter.json_schema(mode="validation")) for name, (title, adapter) in _SOURCES.items()}
    printed = {
        name: _text(title, _open(adapter.json_schema(mode="serialization")))
        for name, (title, adapter) in _PRINTED.items()
    }
    return read | printed


def drifted() -> list[str]:
    """Names of the files that do not say what the models say."""
    return [name for name, text in schemas().items() if _read(FOLDER / name) != text]


def write() -> None:
    """Bring the files up to date."""
    FOLDER.mkdir(exist_ok=True)
    for name, text in schemas().items():
        (FOLDER / name).write_text(text, encoding="utf-8")


def _open(schema: Any) -> Any:
    """Without the word that there are no other fields: a newer version may add some, and readers ignore them."""
    if isinstance(schema, dict):
        given = cast("dict[str, Any]", schema)
        return {k: _open(v) for k, v in given.items() if (k, v) != ("additionalProperties", False)}
    return [_open(one) for one in cast("list[object]", schema)] if isinstance(schema, list) else schema


def _text(title: str, schema: dict[str, Any]) -> str:
    document = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title, **schema}
    return json.dumps(document, indent=2, ensure_ascii=False, sort_keys=True) + "\n"


def _read(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.is_file() else None


def main(arguments: list[str]) -> int:
    """``--write`` writes the files; without it 1 where they differ."""
    if arguments == ["--write"]:
        write()
        return 0
    differing = drifted()
    for name in differing:
        sys.stderr.write(f"{FOLDER / name} differs from the models; run with --write\n")
    return 1 if differing else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
