"""From a call to a picture's file: which call is meant, and whether it becomes SVG or PNG."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from earwitness.monitor import wording
from earwitness.monitor.calls.bounds import Bounds
from earwitness.monitor.calls.sides import Sides, sides_of
from earwitness.monitor.cli.opened_file import EMPTY
from earwitness.monitor.cli.views.picture import height_of, picture
from earwitness.monitor.cli.views.picture_png import drawing_library, png
from earwitness.monitor.contract.events import AnyEvent
from earwitness.monitor.contract.records import AnyRecord
from earwitness.monitor.errors import BadInput

FORMATS = (".svg", ".png")


def picture_path(name: str) -> Path:
    """Where the picture goes. Raises BadInput, before any work, for a name that ends in neither ``.svg`` nor ``.png``,
    and for a PNG where nothing is installed that makes one."""
    path = Path(name)
    if path.suffix.lower() not in FORMATS:
        raise BadInput(
            "give the picture a name that ends in .svg or .png", where=f"--svg {wording.printable(name) or EMPTY}"
        )
    if path.suffix.lower() == ".png":
        drawing_library()
    return path


def one_of(call_ids: Iterable[str], asked: str | None) -> str:
    """The call to be drawn: the one that there is, or the one whose id begins as ``asked``. Raises BadInput."""
    given = sorted(call_ids)
    asked = asked.removesuffix("…") if asked else None
    meant = given if asked is None else [c for c in given if c == asked] or [c for c in given if c.startswith(asked)]
    if len(meant) == 1:
        return meant[0]
    some = ", ".join(wording.printable(c, 60) for c in (meant or given)[:4]) + (" …" if len(meant or given) > 4 else "")
    if asked is None:
        raise BadInput(f"a picture shows one call, and there are {len(given):,}: choose with --call ID ({some})")
    what = "no call begins so" if not meant else f"{len(meant):,} calls begin so"
    raise BadInput(f"{what}; there are {some}", where=f"--call {wording.printable(asked)}")


def draw(path: Path, records: Sequence[AnyRecord], sides: Sides) -> None:
    """Write the picture of one call. Raises BadInput."""
    svg = picture(records, sides)
    data = svg.encode() if path.suffix.lower() == ".svg" else png(svg, height_of(svg))
    try:
        path.write_bytes(data)
    except OSError as error:
        raise BadInput(f"cannot be written ({error.strerror})", where=wording.printable(str(path))) from None


def draw_one(
    path: Path, calls: Mapping[str, Sequence[AnyEvent]], asked: str | None, records: Iterable[AnyRecord], bounds: Bounds
) -> None:
    """Write the picture of one call out of several. ``records`` are those of all of them. Raises BadInput."""
    call_id = one_of(calls, asked)
    draw(path, [r for r in records if r.call_id == call_id], sides_of(calls[call_id], bounds=bounds))
