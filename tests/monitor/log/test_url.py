"""How logs are named, and that a secret never gets into a name."""

from __future__ import annotations

from pathlib import Path

import pytest

from earwitness.monitor.errors import BadInput
from earwitness.monitor.log.url import KafkaUrl, LogUrl, SqliteUrl, default_log_url, parse_log_url


@pytest.mark.parametrize(
    ("text", "means"),
    [
        ("sqlite:///var/lib/log.db", SqliteUrl(Path("/var/lib/log.db"))),
        ("sqlite:////var/lib/log.db", SqliteUrl(Path("/var/lib/log.db"))),
        ("SQLITE:///a%20b/log.db", SqliteUrl(Path("/a b/log.db"))),
        ("/var/lib/log.db", SqliteUrl(Path("/var/lib/log.db"))),
        (" log.db ", SqliteUrl(Path.cwd() / "log.db")),
        ("~/log.db", SqliteUrl(Path.home() / "log.db")),
        ("kafka://broker", KafkaUrl(("broker:9092",))),
        ("kafka://a:1,b:65535/site.one", KafkaUrl(("a:1", "b:65535"), "site.one")),
        ("kafka://[::1]:9093/", KafkaUrl(("[::1]:9093",))),
        ("kafka://a/p?security_protocol=SSL", KafkaUrl(("a:9092",), "p", {"security_protocol": "SSL"})),
    ],
)
def test_a_name_means_one_log_and_is_read_back_the_same(text: str, means: LogUrl) -> None:
    assert parse_log_url(text) == means
    assert parse_log_url(str(means)) == means


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no name"),
        ("a\0b", "no name"),
        ("localhost:9092", "kafka://localhost:9092"),
        ("kafka:host", "without //"),
        ("redis://host", "redis:// is no log"),
        ("sqlite://log.db", "three slashes"),
        ("sqlite:///", "names no file"),
        ("sqlite:///log.db?mode=ro", "no options"),
        ("kafka://", "'' is no broker"),
        ("kafka://a,,b", "'' is no broker"),
        ("kafka://a:0", "1 to 65535"),
        ("kafka://a:99999", "1 to 65535"),
        ("kafka://a b", "'a b' is no broker"),
        ("kafka://a/two/parts", "'two/parts' cannot begin"),
        ("kafka://a/?colour=blue", "unknown option colour"),
    ],
)
def test_a_name_that_cannot_be_right_is_refused_with_what_to_write(text: str, says: str) -> None:
    with pytest.raises(BadInput, match=rf"^--log: .*{says}") as caught:
        parse_log_url(text, where="--log")

    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "kafka://bot:hunter2@host:9092",
        "kafka://host/?sasl_plain_password=hunter2",
        "kafka://host/?ssl_key_password=hunter2",
        "kafka://host/?token=hunter2",
    ],
)
def test_a_secret_in_a_name_is_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(BadInput, match=r"kafka\.sasl_username") as caught:
        parse_log_url(text)

    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("environ", "path"),
    [
        ({"EARWITNESS_HOME": "/srv/ew", "XDG_DATA_HOME": "/data", "HOME": "/home/a"}, "/srv/ew/log.db"),
        ({"XDG_DATA_HOME": "/data", "HOME": "/home/a"}, "/data/earwitness/log.db"),
        ({"XDG_DATA_HOME": "relative", "HOME": "/home/a"}, "/home/a/.local/share/earwitness/log.db"),
        ({"HOME": "/home/a"}, "/home/a/.local/share/earwitness/log.db"),
    ],
)
def test_bot_and_monitor_of_a_machine_meet_at_one_place_unasked(environ: dict[str, str], path: str) -> None:
    assert default_log_url(environ) == SqliteUrl(Path(path))
