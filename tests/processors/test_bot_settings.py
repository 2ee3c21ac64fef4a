"""A bot's settings: a slip in them is said aloud and never stops a call."""

from __future__ import annotations

from pathlib import Path

import pytest

from earwitness.monitor.errors import BadInput
from earwitness.processors.bot_settings import BotSettings

HOME = {"HOME": "/home/ann"}


def test_with_nothing_set_bot_and_monitor_meet_at_the_embedded_log_of_the_machine() -> None:
    settings = BotSettings.from_env(HOME)
    assert settings.log == "sqlite:///home/ann/.local/share/earwitness/log.db"
    assert settings.spool_folder == Path("/home/ann/.local/share/earwitness/spool")
    assert (settings.off, settings.sample, settings.taps, settings.record) == (False, 1.0, True, None)
    assert (settings.linger_s, settings.buffer_bytes, settings.spool_bytes) == (0.2, 8 * 2**20, 256 * 2**20)


def test_every_variable_of_the_interface_is_read(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("from a file\n")
    settings = BotSettings.from_env(
        {
            "EARWITNESS_HOME": str(tmp_path),
            "EARWITNESS_LOG": "kafka://broker:9092/site",
            "EARWITNESS_AGENT": "clinic",
            "EARWITNESS_VERSION": "42",
            "EARWITNESS_LABELS": "route=ivr, tier = gold",
            "EARWITNESS_OFF": "0",
            "EARWITNESS_SAMPLE": "0.25",
            "EARWITNESS_TAPS": "false",
            "EARWITNESS_RECORD": str(tmp_path / "recordings"),
            "EARWITNESS_SECRET_FILE": str(tmp_path / "secret"),
            "EARWITNESS_KAFKA__SECURITY_PROTOCOL": "SASL_SSL",
            "EARWITNESS_KAFKA__SASL_PASSWORD": "hush",
            "EARWITNESS_BOT__SPOOL_BYTES": "1000000",
            "EARWITNESS_BOT__REGIONS": "us, AT",
            "EARWITNESS_METRICS__PORT": "9000",
        }
    )
    assert settings.log == "kafka://broker:9092/site"
    assert (settings.agent, settings.version, settings.labels) == ("clinic", "42", {"route": "ivr", "tier": "gold"})
    assert (settings.off, settings.sample, settings.taps) == (False, 0.25, False)
    assert settings.record == tmp_path / "recordings"
    assert settings.secret_bytes == b"from a file"
    assert settings.kafka == {"security_protocol": "SASL_SSL", "sasl_password": "hush"}
    assert (settings.spool_bytes, settings.regions) == (1_000_000, ("us", "AT"))
    assert "hush" not in repr(settings)
    assert "from a file" not in repr(settings)


def test_what_code_says_goes_before_the_environment() -> None:
    settings = BotSettings.from_env(
        {**HOME, "EARWITNESS_AGENT": "a", "EARWITNESS_VERSION": "1"}, agent="b", version=None
    )
    assert (settings.agent, settings.version) == ("b", "1")


MALFORMED = [
    ("EARWITNESS_SAMPLE", "half"),
    ("EARWITNESS_SAMPLE", "2"),
    ("EARWITNESS_LABELS", "route"),
    ("EARWITNESS_TAPS", "perhaps"),
    ("EARWITNESS_LOG", "http://x"),
    ("EARWITNESS_LOG", "kafka://user:pw@x"),
    ("EARWITNESS_SECRET_FILE", "/nowhere/at/all"),
    ("EARWITNESS_BOT__LINGER_S", "-1"),
    ("EARWITNESS_BOT__LINGERS", "1"),
    ("EARWITNESS_BOT__LOG", "x.db"),
]


@pytest.mark.parametrize(("variable", "text"), MALFORMED)
def test_a_malformed_value_is_warned_of_and_its_default_holds(
    variable: str, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert BotSettings.from_env({**HOME, variable: text}) == BotSettings.from_env(HOME)
    assert len(caplog.records) == 1
    assert caplog.records[0].getMessage().startswith(f"{variable}: ")
    assert "pw" not in caplog.text


@pytest.mark.parametrize(("variable", "text"), MALFORMED)
def test_who_asks_on_purpose_is_told_of_a_malformed_value(variable: str, text: str) -> None:
    with pytest.raises(BadInput, match=variable) as error:
        BotSettings.from_env({**HOME, variable: text}, strict=True)
    assert "\n" not in str(error.value)


def test_several_slips_are_each_named_and_the_rest_holds(caplog: pytest.LogCaptureFixture) -> None:
    settings = BotSettings.from_env(
        {**HOME, "EARWITNESS_SAMPLE": "x", "EARWITNESS_TAPS": "maybe", "EARWITNESS_AGENT": "clinic"}, nonsense=1
    )
    assert settings.agent == "clinic"
    assert {record.getMessage().split(":")[0] for record in caplog.records} == {
        "EARWITNESS_SAMPLE", "EARWITNESS_TAPS", "nonsense=",
    }  # fmt: skip


@pytest.mark.parametrize(("text", "off"), [("1", True), ("true", True), ("0", False), ("", False), ("please", True)])
def test_the_kill_switch_errs_towards_off(text: str, off: bool) -> None:
    assert BotSettings.from_env({**HOME, "EARWITNESS_OFF": text}).off is off
