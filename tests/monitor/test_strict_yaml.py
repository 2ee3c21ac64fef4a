from __future__ import annotations

from pathlib import Path
from typing import Annotated

import pytest
from pydantic import BaseModel, ConfigDict, Field, SecretStr

from earwitness.monitor.errors import BadInput
from earwitness.monitor.strict_yaml import did_you_mean, load, parse, parse_tree


class Item(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str
    measure: str = ""
    for_s: float = Field(0.0, alias="for")


class File(BaseModel):
    model_config = ConfigDict(extra="forbid")

    items: Annotated[list[Item], Field(max_length=3)] = []
    labels: dict[str, str] = {}
    port: int = 1
    on: bool = False
    password: SecretStr | None = None


def mistake(text: str) -> str:
    with pytest.raises(BadInput) as caught:
        parse(text, File, name="a.yaml")
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_a_good_file_becomes_the_model() -> None:
    document = parse("items:\n  - name: x\n    for: 2\nport: 8080\non: true\n", File, name="a.yaml")

    assert document.model.items[0].name == "x"
    assert document.model.items[0].for_s == 2.0
    assert (document.model.port, document.model.on) == (8080, True)


def test_an_empty_file_means_the_defaults() -> None:
    assert parse("# nothing\n", File, name="a.yaml").model == File()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param(
            "items:\n  - name: a\n  - name: b\n    measur: c\n",
            'a.yaml:4: items[1].measur: unknown key "measur". Did you mean "measure"?',
            id="an unknown key in a list is named with its line and the likely word",
        ),
        pytest.param(
            "prt: 3\n", 'a.yaml:1: prt: unknown key "prt". Did you mean "port"?', id="an unknown key at the top"
        ),
        pytest.param(
            "items:\n- name: a\n  zzzz: 1\n",
            'a.yaml:3: items[0].zzzz: unknown key "zzzz". Known: for, measure, name.',
            id="where nothing is like it the known keys are listed",
        ),
        pytest.param("items:\n- measure: a\n", "a.yaml:2: items[0].name: is missing", id="a missing key"),
        pytest.param("port: 1\n\nport: 2\n", "a.yaml:3: port: is given twice", id="a key given twice"),
        pytest.param("port: [1\n", "a.yaml:2: is no valid YAML", id="broken YAML"),
        pytest.param("- 1\n", "a.yaml:1: expected keys and values, found a list", id="a list where keys are expected"),
        pytest.param("port: !!python/name:os.system\n", "a.yaml:1: port: tags such as", id="a tag is not run"),
        pytest.param("? [a, b]\n: 1\n", "a.yaml:1: a key must be a plain word", id="a key that is no word"),
        pytest.param("port: \x00", "a.yaml: is no valid YAML", id="characters that no text has"),
        pytest.param("prt: 1\nqrt: 2\n", "(and 1 more)", id="further mistakes are counted"),
        pytest.param("port: " + "[" * 3000, "a.yaml: is nested too deeply", id="nesting without end"),
    ],
)
def test_a_mistake_is_one_line_that_names_it(text: str, says: str) -> None:
    assert says in mistake(text)


def test_aliases_that_multiply_are_refused() -> None:
    bomb = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"{chr(98 + i)}: &{chr(98 + i)} [{', '.join(['*' + chr(97 + i)] * 9)}]\n" for i in range(8)
    )
    assert "holds too much" in mistake(bomb)


def test_an_alias_inside_itself_is_refused() -> None:
    assert "holds too much" in mistake("labels: &x\n  a: *x\n")


def test_words_stay_words() -> None:
    tree = parse_tree("a: no\nb: on\nc: 1:30\nd: 2026-01-01\ne: 007\nf: '42'\ng: 1.5\nh: 1e3\ni: 1_000", name="a")

    assert tree.value == {
        "a": "no", "b": "on", "c": "1:30", "d": "2026-01-01", "e": "007", "f": "42", "g": 1.5, "h": 1000.0, "i": 1000,
    }  # fmt: skip


def test_a_later_check_names_the_line_of_a_value_or_of_what_holds_it() -> None:
    document = parse("items:\n  - name: a\n    measure: b\n", File, name="a.yaml")

    assert str(document.bad("items", 0, "measure", what="no")) == "a.yaml:3: items[0].measure: no"
    assert str(document.bad("items", 0, "clear", what="no")) == "a.yaml:2: items[0].clear: no"


def test_a_wrong_value_is_never_shown_since_it_may_be_a_secret() -> None:
    assert "hunter2" not in mistake("password: [hunter2]\n")


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    binary = tmp_path / "call.wav"
    binary.write_bytes(b"RIFF\xff\xfe\x00")
    huge = tmp_path / "huge.yaml"
    huge.write_bytes(b"a" * 1_000_001)

    for path, says in [
        (tmp_path / "none.yaml", "no such file"),
        (tmp_path, "is a folder"),
        (binary, "is no UTF-8 text"),
        (huge, "larger than 1 MB"),
    ]:
        with pytest.raises(BadInput, match=says) as caught:
            load(path, File)
        assert str(path) in str(caught.value)


def test_a_suggestion_needs_a_likeness() -> None:
    assert did_you_mean("response_latancy", ["response_latency", "dead_air"]) == ' Did you mean "response_latency"?'
    assert did_you_mean("zzz", [f"word{i}" for i in range(20)]) == ""
