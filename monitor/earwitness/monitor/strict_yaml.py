"""YAML files that people edit, read strictly: every mistake is one line that names file, line and key.

Stricter than YAML: a key given twice, an unknown key, an endless alias and an oversized file are errors, and
only ``true``/``false`` are booleans, so that a country, a version or a time of day stays what was typed.
"""

from __future__ import annotations

import difflib
import re
import types
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Generic, TypeVar, Union, cast, get_args, get_origin

import yaml
from pydantic import BaseModel, ValidationError

from earwitness.monitor.errors import BadInput

MAX_BYTES = 1_000_000
MAX_NODES = 50_000
MAX_DEPTH = 40

Loc = tuple[str | int, ...]
M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Tree:
    """Plain values of a YAML text, with the line of each."""

    name: str
    value: Any
    lines: Mapping[Loc, int] = field(default_factory=dict[Loc, int])

    def bad(self, loc: Loc, what: str) -> BadInput:
        """The error to raise for the value at ``loc``: its line, or that of the nearest thing around it."""
        for size in range(len(loc), -1, -1):
            if (line := self.lines.get(loc[:size])) is not None:
                return BadInput(what, where=f"{self.name}:{line}{': ' + dotted(loc) if loc else ''}")
        return BadInput(what, where=f"{self.name}: {dotted(loc)}" if loc else self.name)


@dataclass(frozen=True, slots=True)
class Document(Generic[M]):
    """A checked file: the model, and where each of its values stands for checks that come later."""

    model: M
    tree: Tree

    def bad(self, *loc: str | int, what: str) -> BadInput:
        """The error to raise for the value at ``loc``."""
        return self.tree.bad(loc, what)


def load(path: Path, model: type[M]) -> Document[M]:
    """Read and check a file. Raises BadInput."""
    return check(read_tree(path), model)


def parse(text: str, model: type[M], *, name: str) -> Document[M]:
    """The same from a text; ``name`` stands in errors for the file. Raises BadInput."""
    return check(parse_tree(text, name=name), model)


def read_tree(path: Path) -> Tree:
    """Read a file without knowing what should be in it. Raises BadInput."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise BadInput("no such file", where=str(path)) from None
    except IsADirectoryError:
        raise BadInput("is a folder, not a file", where=str(path)) from None
    except OSError as error:
        raise BadInput(f"cannot be read ({error.strerror or error})", where=str(path)) from None
    if len(data) > MAX_BYTES:
        raise BadInput(f"is larger than {MAX_BYTES // 1_000_000} MB; is it the right file?", where=str(path))
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BadInput("is no UTF-8 text; is it the right file?", where=f"{path}:{line}") from None
    return parse_tree(text, name=str(path))


def parse_tree(text: str, *, name: str) -> Tree:
    """The plain values of a text. Raises BadInput."""
    lines: dict[Loc, int] = {}
    try:
        loader = _Loader(text)
        try:
            root = loader.get_single_node()
            value = None if root is None else _Builder(name, lines).build(root, ())
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise BadInput(f"is no valid YAML: {error.problem or 'cannot be read'}", where=f"{name}:{line}") from None
    except yaml.YAMLError:
        raise BadInput("is no valid YAML: it holds characters that no text has", where=name) from None
    except RecursionError:
        raise BadInput("is nested too deeply", where=name) from None
    return Tree(name, value, lines)


def check(tree: Tree, model: type[M]) -> Document[M]:
    """Check a tree against a model; of several mistakes the first is told and the others are counted.

    Raises BadInput.
    """
    if not _holds_keys(tree.value):
        raise tree.bad((), f"expected keys and values, found {_kind(tree.value)}")
    try:
        return Document(model.model_validate(tree.value or {}), tree)
    except ValidationError as error:
        loc, what = first_mistake(error, model)
        raise tree.bad(loc, what) from None


def first_mistake(error: ValidationError, model: type[BaseModel]) -> tuple[Loc, str]:
    """Where the first mistake lies and what it is, in our words. The value itself is not shown: it may be a secret."""
    mistakes = error.errors(include_url=False, include_context=True)
    first = mistakes[0]
    loc = tuple(first["loc"])
    match first["type"]:
        case "extra_forbidden":
            what = f'unknown key "{_short(loc[-1])}".{did_you_mean(str(loc[-1]), _keys_at(model, loc[:-1]))}'
        case "missing":
            what = "is missing"
        case "value_error" | "assertion_error":
            what = first["msg"].split(", ", 1)[-1]
        case _:
            message = first["msg"]
            what = message[0].lower() + message[1:]
            for theirs, ours in _OUR_WORDS.items():
                what = what.replace(theirs, ours)
    if len(mistakes) > 1:
        what += f" (and {len(mistakes) - 1} more)"
    return loc, what


_OUR_WORDS = {
    "input should be": "should be",
    "a valid tuple": "a list",
    "a valid list": "a list",
    "a valid string": "a text",
    "a valid dictionary or instance of ": "keys and values: ",
    "a valid dictionary": "keys and values",
    "a valid boolean": "true or false",
    "a valid integer": "a whole number",
    ", unable to parse string as an integer": "",
    ", unable to parse string as a number": "",
}


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`` Did you mean "x"?``, the known words where they are few, or nothing."""
    words = sorted(set(known))
    close = difflib.get_close_matches(word.lower(), words, n=1, cutoff=0.6)
    if close:
        return f' Did you mean "{close[0]}"?'
    return f" Known: {', '.join(words)}." if 0 < len(words) <= 12 else ""


def dotted(loc: Sequence[str | int]) -> str:
    """``rules[2].measure``."""
    text = ""
    for part in loc:
        text += f"[{part}]" if isinstance(part, int) else f"{'.' if text else ''}{_short(part)}"
    return text


def _short(part: str | int) -> str:
    text = str(part)
    return "".join(c if c.isprintable() else "?" for c in (text if len(text) <= 60 else text[:57] + "..."))


def _holds_keys(value: object) -> bool:
    return value is None or isinstance(value, dict)


def _kind(value: object) -> str:
    match value:
        case list():
            return "a list"
        case str():
            return "a text"
        case bool():
            return "true or false"
        case _:
            return "a number"


def _keys_at(model: type[BaseModel], loc: Loc) -> list[str]:
    """Keys that the model knows at ``loc``; nothing where it takes any."""
    here: Any = model
    for part in loc:
        if isinstance(here, type) and issubclass(here, BaseModel):
            found = next((f for name, f in here.model_fields.items() if part in (name, f.alias)), None)
            here = None if found is None else found.annotation
        else:
            inner = [a for a in get_args(here) if a is not Ellipsis]
            here = inner[-1] if inner else None
        here = _model_in(here)
    if isinstance(here, type) and issubclass(here, BaseModel):
        return [f.alias or name for name, f in here.model_fields.items()]
    return []


def _model_in(annotation: Any) -> Any:
    """See through ``Optional`` and ``Annotated``."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return _model_in(get_args(annotation)[0])
    if origin in (Union, types.UnionType):
        options = [a for a in get_args(annotation) if a is not type(None)]
        return _model_in(options[0]) if options else None
    return annotation


class _Loader(yaml.SafeLoader):
    """PyYAML's safe loader, which here only parses: what a scalar means is decided below, by YAML 1.2's rules."""

    def resolve(self, kind: object, value: object, implicit: object) -> str:
        if kind is yaml.ScalarNode and isinstance(implicit, tuple) and cast("tuple[bool, bool]", implicit)[0]:
            return _PLAIN
        return _OTHER


_PLAIN, _OTHER = "plain", "other"
_NULL = re.compile(r"(?:~|null|Null|NULL|)")
_TRUE, _FALSE = re.compile(r"(?:true|True|TRUE)"), re.compile(r"(?:false|False|FALSE)")
_INT = re.compile(r"[-+]?(?:0|[1-9][0-9_]{0,30})")
_FLOAT = re.compile(r"[-+]?(?:[0-9][0-9_]*\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?")


def plain_scalar(text: str) -> str | int | float | bool | None:
    """What an unquoted word means."""
    if _NULL.fullmatch(text):
        return None
    if _TRUE.fullmatch(text):
        return True
    if _FALSE.fullmatch(text):
        return False
    if _INT.fullmatch(text):
        return int(text)
    return float(text.replace("_", "")) if _FLOAT.fullmatch(text) else text


class _Builder:
    """Turns nodes into plain values within a budget of nodes, so that aliases cannot multiply without end."""

    def __init__(self, name: str, lines: dict[Loc, int]) -> None:
        self._name = name
        self._lines = lines
        self._left = MAX_NODES

    def build(self, node: yaml.Node, loc: Loc) -> Any:
        self._lines[loc] = node.start_mark.line + 1
        self._left -= 1
        if self._left < 0 or len(loc) > MAX_DEPTH:
            raise self._bad(node, loc, "holds too much: aliases that repeat aliases, or nesting without end")
        if node.tag not in (_PLAIN, _OTHER):
            raise self._bad(node, loc, f"tags such as {node.tag.rsplit(':', 1)[-1]} are not read here")
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, loc)
        if isinstance(node, yaml.SequenceNode):
            return [self.build(item, (*loc, i)) for i, item in enumerate(cast("list[yaml.Node]", node.value))]
        text = str(node.value)
        return plain_scalar(text) if node.tag == _PLAIN else text

    def _mapping(self, node: yaml.MappingNode, loc: Loc) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key_node, value_node in cast("list[tuple[yaml.Node, yaml.Node]]", node.value):
            if not isinstance(key_node, yaml.ScalarNode):
                raise self._bad(key_node, loc, "a key must be a plain word")
            key = str(key_node.value)
            if key in result:
                raise self._bad(key_node, (*loc, key), "is given twice")
            result[key] = self.build(value_node, (*loc, key))
            self._lines[(*loc, key)] = key_node.start_mark.line + 1
        return result

    def _bad(self, node: yaml.Node, loc: Loc, what: str) -> BadInput:
        where = f"{self._name}:{node.start_mark.line + 1}"
        return BadInput(what, where=f"{where}: {dotted(loc[:MAX_DEPTH])}" if loc else where)
