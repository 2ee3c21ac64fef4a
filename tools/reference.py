"""Writes docs/reference.md from the code: settings, a bot's environment, measures, events.

``--check`` only compares: 1 where the page and the code differ.
"""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel, SecretStr

from earwitness.consumers.metrics_collector import WINDOW_METRICS
from earwitness.consumers.own_metrics import OWN_METRICS
from earwitness.monitor.contract.events import EVENT_TYPES
from earwitness.monitor.measures.catalogue import MEASURES
from earwitness.monitor.settings import Settings, Webhook
from earwitness.processors.bot_settings import BotSettings

PAGE = Path(__file__).resolve().parent.parent / "docs" / "reference.md"
BOT_OWN_NAMES = (
    "log",
    "agent",
    "version",
    "labels",
    "off",
    "sample",
    "taps",
    "record",
    "secret",
    "secret_file",
    "home",
)


def attribute_docs(model: type[BaseModel]) -> dict[str, str]:
    """The string under each field of a class body."""
    body = ast.parse(textwrap.dedent(inspect.getsource(model))).body[0]
    assert isinstance(body, ast.ClassDef)
    docs: dict[str, str] = {}
    for field, below in zip(body.body, body.body[1:], strict=False):
        if not (isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)):
            continue
        if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant) and isinstance(below.value.value, str):
            docs[field.target.id] = " ".join(below.value.value.split())
    return docs


def default_of(value: Any) -> str:
    """A default as it is written in a settings file."""
    if value is None or value in ((), {}):
        return "–"
    if isinstance(value, SecretStr):
        return "secret"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return f"`{value}`"


def rows(model: type[BaseModel], prefix: str = "") -> Iterator[str]:
    """One table row for each setting, groups opened."""
    docs = attribute_docs(model)
    for name, field in model.model_fields.items():
        default = field.get_default(call_default_factory=True)
        if isinstance(default, BaseModel):
            yield from rows(type(default), f"{prefix}{name}.")
            continue
        yield f"| `{prefix}{name}` | {default_of(default)} | {docs.get(name, '')} |"


def bot_rows() -> Iterator[str]:
    """One table row for each variable of a bot."""
    docs = attribute_docs(BotSettings)
    for name, field in BotSettings.model_fields.items():
        if name == "kafka":
            yield "| `EARWITNESS_KAFKA__…` | – | Passed on to the Kafka client, such as `…SECURITY_PROTOCOL`. |"
            continue
        variable = "EARWITNESS_" + ("" if name in BOT_OWN_NAMES else "BOT__") + name.upper()
        default = "–" if field.is_required() else default_of(field.get_default(call_default_factory=True))
        yield f"| `{variable}` | {default} | {docs.get(name, '')} |"


def page() -> str:
    """The whole page."""
    lines = ["# Reference", "", "Written from the code by `tools/reference.py`; `make check` compares."]
    lines += ["", "## In a bot: environment", "", "| variable | default | |", "|---|---|---|", *bot_rows()]
    lines += ["", "## Service side: settings", ""]
    lines += [
        "`metrics.port` in `earwitness.yaml` is `EARWITNESS_METRICS__PORT` in the environment, `--set metrics.port=…`"
    ]
    lines += ["on the command line; the command line wins over the environment, the environment over the file.", ""]
    lines += ["| setting | default | |", "|---|---|---|", *rows(Settings)]
    lines += ["", "Each of `alerts.webhooks`:", "", "| setting | default | |", "|---|---|---|", *rows(Webhook)]
    lines += [
        "",
        "## Measures",
        "",
        "What rules, `/metrics` and views can name. Sections are those of [definitions](definitions.md).",
        "",
    ]
    lines += ["| measure | statistics | unit | section | meaning | Prometheus |", "|---|---|---|---|---|---|"]
    for m in MEASURES:
        names = ", ".join(f"`{name}`" for name in m.prometheus) or "–"
        lines.append(f"| `{m.name}` | {' '.join(m.stats)} | {m.unit} | {m.section} | {m.help} | {names} |")
    lines += ["", "Of every window of a label set also:", "", "| metric | meaning |", "|---|---|"]
    lines += [f"| `{name}{{window}}` | {about} |" for name, about in WINDOW_METRICS]
    lines += [
        "",
        "## The monitor about itself",
        "",
        "Also at `/metrics`. What is not known, or no longer so, has no sample.",
        "",
    ]
    lines += ["| metric | kind | meaning |", "|---|---|---|"]
    for own in OWN_METRICS:
        name = f"{own.name}{{{own.label}}}" if own.label else own.name
        lines.append(f"| `{name}` | {own.kind} | {own.help} |")
    lines += [
        "",
        "## Events",
        "",
        "Field by field in the JSON Schema (`earwitness schema event`); in time in [events](events.md).",
        "",
    ]
    lines += ["| kind | fields beside the common ones | |", "|---|---|---|"]
    common = set(EVENT_TYPES[0].__mro__[1].model_fields)  # type: ignore[attr-defined]
    for event in EVENT_TYPES:
        fields = [name for name in event.model_fields if name not in common and name != "kind"]
        about = " ".join((inspect.getdoc(event) or "").split("\n\n")[0].split())
        lines.append(f"| `{event.model_fields['kind'].default}` | {', '.join(fields) or '–'} | {about} |")
    return "\n".join(lines) + "\n"


def main(arguments: list[str]) -> int:
    """Write the page, or compare it."""
    text = page()
    if arguments == ["--check"]:
        if PAGE.is_file() and PAGE.read_text(encoding="utf-8") == text:
            return 0
        sys.stderr.write("docs/reference.md differs from the code; run python tools/reference.py\n")
        return 1
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
