"""Settings of a cluster: what the client gets, and what is refused before anything connects."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from pydantic import SecretStr

from earwitness.monitor.errors import BadInput
from earwitness.monitor.log.kafka_settings import kafka_settings
from earwitness.monitor.log.url import KafkaUrl

URL = KafkaUrl(("a:1", "b:2"))


def test_nothing_given_is_a_plain_connection_with_bounds() -> None:
    client = kafka_settings(URL, {}).client()

    assert client["bootstrap_servers"] == ["a:1", "b:2"]
    assert client["security_protocol"] == "PLAINTEXT"
    assert client["request_timeout_ms"] == 10_000
    assert client["ssl_context"] is None


def test_user_and_password_come_under_either_name_wrapped_or_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "password").write_text("hunter2\n")
    given = {"security_protocol": "sasl_ssl", "sasl_mechanism": "SCRAM-SHA-256"}
    ways: list[dict[str, object]] = [
        {"sasl_username": "bot", "sasl_password": SecretStr("hunter2")},
        {"sasl_plain_username": "bot", "sasl_plain_password": "hunter2"},
        {"sasl_username": "bot", "sasl_password_file": tmp_path / "password", "sasl_password": None},
        {"sasl_plain_username": "bot", "sasl_plain_password_file": str(tmp_path / "password")},
    ]

    for way in ways:
        settings = kafka_settings(URL, {**given, **way})
        client = settings.client()
        assert (client["sasl_plain_username"], client["sasl_plain_password"]) == ("bot", "hunter2")
        assert client["sasl_mechanism"] == "SCRAM-SHA-256"
        assert client["ssl_context"] is not None
        assert "hunter2" not in repr(settings)


def test_the_url_comes_before_the_settings() -> None:
    url = KafkaUrl(("a:1",), options={"client_id": "relay"})

    assert kafka_settings(url, {"client_id": "bot"}).client_id == "relay"


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"sasl_pasword": "hunter2"}, r"^kafka\.sasl_pasword: unknown setting"),
        ({"security_protocol": "TLS"}, r"^kafka\.security_protocol: TLS is not possible; one of PLAINTEXT, SSL"),
        ({"sasl_mechanism": "OAUTHBEARER"}, r"^kafka\.sasl_mechanism: .*one of PLAIN"),
        ({"security_protocol": "SASL_SSL", "sasl_password": "hunter2"}, r"needs kafka\.sasl_username"),
        ({"security_protocol": "SASL_SSL", "sasl_username": "bot"}, r"needs kafka\.sasl_password"),
        ({"request_timeout_ms": "soon"}, r"^kafka\.request_timeout_ms: 'soon' is no whole number"),
        ({"request_timeout_ms": 5}, r"^kafka\.request_timeout_ms: 5 is too small; 1000 or more"),
        ({"sasl_password_file": "/no/such"}, r"^kafka\.sasl_password_file: cannot read /no/such: No such file"),
        ({"security_protocol": "SSL", "ssl_cafile": "/no/such"}, r"^kafka\.ssl_cafile: no such file: /no/such"),
        ({"security_protocol": "SSL", "ssl_keyfile": __file__}, r"^kafka\.ssl_keyfile: .*kafka\.ssl_certfile too"),
        ({"security_protocol": "SSL", "ssl_cafile": __file__}, r"^kafka\.ssl_cafile: .*no PEM certificates"),
        ({"security_protocol": "SSL", "ssl_certfile": __file__}, r"^kafka\.ssl_certfile: cannot use"),
        ({"topic_configs": "cleanup"}, r"^kafka\.topic_configs: must be names with values"),
    ],
)
def test_a_setting_that_cannot_be_right_is_named(given: dict[str, object], says: str) -> None:
    with pytest.raises(BadInput, match=says) as caught:
        kafka_settings(URL, given)

    assert "\n" not in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_kerberos_without_its_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [])

    with pytest.raises(BadInput, match=r"^kafka\.sasl_mechanism: GSSAPI needs .* pip install gssapi"):
        kafka_settings(URL, {"security_protocol": "SASL_SSL", "sasl_mechanism": "GSSAPI"})
