"""Shapes as SVG: no scripts, no links, no fonts of its own, and the same bytes for the same call.

The tree is written by the standard library, which escapes; texts from outside come through ``wording.printable``, which
takes out what XML forbids.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET

from earwitness.monitor import wording

FONTS = "system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif"
INK, SOFT, FAINT, PAPER = "#1b1f24", "#57606a", "#d8dee4", "#ffffff"
CALLER, AGENT, BOTH, ALARM, TOOL = "#1f5fb4", "#c2590a", "#5b2a86", "#a3122a", "#4d5b1d"

PATTERNS = {
    "both": ("M0 6 L6 0 M-1.5 1.5 L1.5 -1.5 M4.5 7.5 L7.5 4.5", BOTH, 1.6),
    "dead": ("M0 0 L6 6 M-1.5 4.5 L1.5 7.5 M4.5 -1.5 L7.5 1.5", "#b6bec8", 1.0),
    "tool": ("M3 0 L3 6", TOOL, 1.4),
    "others": ("M0 3 L6 3", CALLER, 2.0),
}
"""Hatches by name: path of one tile of 6 by 6, colour, stroke. Shape tells them apart where colour does not."""


class Drawing:
    """An SVG being drawn. Lengths are pixels; texts may be anybody's."""

    def __init__(self, width: float, height: float, *, title: str, description: str) -> None:
        self.root = ET.Element(
            "svg",
            {
                "xmlns": "http://www.w3.org/2000/svg",
                "width": number(width),
                "height": number(height),
                "viewBox": f"0 0 {number(width)} {number(height)}",
                "role": "img",
                "aria-labelledby": "earwitness-title earwitness-description",
                "font-family": FONTS,
                "font-size": "12",
            },
        )
        ET.SubElement(self.root, "title", {"id": "earwitness-title"}).text = wording.printable(title, 300)
        ET.SubElement(self.root, "desc", {"id": "earwitness-description"}).text = "\n".join(
            wording.printable(line, 1_000) for line in description.split("\n")
        )
        tiles = ET.SubElement(self.root, "defs")
        for name, (path, colour, stroke) in PATTERNS.items():
            tile = ET.SubElement(
                tiles,
                "pattern",
                {"id": f"earwitness-{name}", "width": "6", "height": "6", "patternUnits": "userSpaceOnUse"},
            )
            ET.SubElement(tile, "path", {"d": path, "stroke": colour, "stroke-width": number(stroke), "fill": "none"})
        self.rect(0, 0, width, height, fill=PAPER)

    def rect(self, x: float, y: float, width: float, height: float, *, tip: str = "", **look: str | float) -> None:
        """A rectangle; ``tip`` is shown by a browser that hovers over it."""
        self._put("rect", {"x": x, "y": y, "width": width, "height": height}, look, tip)

    def line(self, x1: float, y1: float, x2: float, y2: float, **look: str | float) -> None:
        """A straight line."""
        self._put("line", {"x1": x1, "y1": y1, "x2": x2, "y2": y2}, {"stroke": INK, **look})

    def path(self, points: str, *, tip: str = "", **look: str | float) -> None:
        """Any line; ``points`` in SVG's own language."""
        self._put("path", {"d": points}, {"fill": "none", "stroke": INK, **look}, tip)

    def text(self, x: float, y: float, text: str, *, halo: bool = False, **look: str | float) -> None:
        """One line of text; ``halo`` keeps it readable over lines and hatches."""
        if halo:
            look = {"stroke": PAPER, "stroke_width": 4, "stroke_linejoin": "round", "paint_order": "stroke", **look}
        self._put("text", {"x": x, "y": y}, {"fill": INK, **look}).text = wording.printable(text, 600)

    def svg(self) -> str:
        """The file's text."""
        ET.indent(self.root, " ")
        return ET.tostring(self.root, encoding="unicode") + "\n"

    def _put(self, kind: str, place: dict[str, str | float], look: dict[str, str | float], tip: str = "") -> ET.Element:
        given = {name.replace("_", "-"): v if isinstance(v, str) else number(v) for name, v in (place | look).items()}
        shape = ET.SubElement(self.root, kind, given)
        if tip:
            ET.SubElement(shape, "title").text = wording.printable(tip, 1_000)
        return shape


def hatch(name: str) -> str:
    """The fill of a hatch."""
    return f"url(#earwitness-{name})"


def number(value: float) -> str:
    """A length to a tenth of a pixel."""
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text
