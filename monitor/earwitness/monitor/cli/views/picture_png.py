"""A picture as PNG, drawn from its SVG by resvg: one small wheel, no system library."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from earwitness.monitor.errors import BadInput

SCALE = 2.0
"""Pixels of the file for one of the picture: sharp on dense screens and when a ticket shrinks it."""
MOST_PIXELS = 30_000
"""Higher than this is more than viewers open."""


def png(svg: str, height: float) -> bytes:
    """The picture as PNG; ``height`` is that of the SVG.

    Raises BadInput where the drawing library or every font is missing.
    """
    scale = SCALE if height * SCALE <= MOST_PIXELS else max(0.5, MOST_PIXELS / height)
    if height * scale > MOST_PIXELS:
        raise BadInput("the call is too long for a PNG; take --svg with a name that ends in .svg")
    library = drawing_library()
    if not has_fonts():
        raise BadInput(
            "a PNG needs a font, and this machine has none; install one (apt-get install fonts-dejavu-core), "
            "or take a name that ends in .svg"
        )
    return bytes(library.svg_to_bytes(svg_string=svg, zoom=scale, languages=["en"]))


def drawing_library() -> Any:
    """resvg. Raises BadInput where it is not installed."""
    try:
        return import_module("resvg_py")
    except ModuleNotFoundError:
        raise BadInput(
            'a PNG needs the extra "pictures": pip install "earwitness[pictures]"; '
            "a name that ends in .svg needs nothing"
        ) from None


@cache
def has_fonts() -> bool:
    """Whether letters come out at all: without a font resvg leaves them away in silence."""
    blank = '<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20">{}</svg>'
    letters = '<text x="2" y="15" font-size="14" font-family="sans-serif">M</text>'
    drawn, empty = (bytes(drawing_library().svg_to_bytes(svg_string=blank.format(inside))) for inside in (letters, ""))
    return drawn != empty
