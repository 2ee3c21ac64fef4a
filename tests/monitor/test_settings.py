from __future__ import annotations

from pathlib import Path

import pytest

from earwitness.monitor.errors import BadInput
from earwitness.monitor.settings import Settings, Sources, load_settings, option


def write(folder: Path, text: str, name: str = "earwitness.yaml") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(text)
    return path


def test_without_any_source_the_defaults_hold() -> None:
    settings = load_settings(Sources(here=Path("/nowhere")))

    assert settings == Settings()
    assert (settings.metrics.host, settings.metrics.port) == ("127.0.0.1", 9464)
    assert (settings.retention.days, settings.retention.bytes) == (8, 4 * 1024**3)


def test_command_line_goes_before_environment_before_file_before_defaults(tmp_path: Path) -> None:
    write(tmp_path, "metrics: {port: 1, host: a}\nalerts: {every_s: 5}\nlabel_keys:\n  route: [ivr, web]\n  tier:\n")
    environ = {"EARWITNESS_METRICS__PORT": "2", "EARWITNESS_METRICS__ENABLED": "no"}
    options: dict[str, tuple[object, str]] = {"metrics.port": (3, "--set metrics.port=3")}

    from_file = load_settings(Sources(here=tmp_path))
    with_env = load_settings(Sources(here=tmp_path, environ=environ))
    with_all = load_settings(Sources(here=tmp_path, environ=environ, options=options))

    assert (from_file.metrics.port, from_file.metrics.host, from_file.alerts.every_s) == (1, "a", 5)
    assert (with_env.metrics.port, with_env.metrics.host, with_env.metrics.enabled) == (2, "a", False)
    assert with_all.metrics.port == 3


def test_declared_label_keys_may_be_open_or_have_values(tmp_path: Path) -> None:
    write(tmp_path, "label_keys:\n  route: [ivr, web]\n  tier:\n")

    assert load_settings(Sources(here=tmp_path)).label_keys == {"route": ("ivr", "web"), "tier": ()}
    assert load_settings(Sources(environ={"EARWITNESS_LABEL_KEYS__ROUTE": "ivr, web"})).label_keys == {
        "route": ("ivr", "web")
    }


def test_the_file_is_the_named_one_else_that_of_the_folder_else_that_of_the_home(tmp_path: Path) -> None:
    given = write(tmp_path, "metrics: {port: 1}", "x.yaml")
    named = write(tmp_path, "metrics: {port: 2}", "y.yaml")
    here, home = tmp_path / "here", tmp_path / "home"
    write(here, "metrics: {port: 3}")
    write(home, "metrics: {port: 4}")
    environ = {"EARWITNESS_SETTINGS": str(named)}

    assert load_settings(Sources(file=given, environ=environ, here=here, home=home)).metrics.port == 1
    assert load_settings(Sources(environ=environ, here=here, home=home)).metrics.port == 2
    assert load_settings(Sources(here=here, home=home)).metrics.port == 3
    assert load_settings(Sources(here=tmp_path, home=home)).metrics.port == 4


def test_a_named_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"none\.yaml: no such file"):
        load_settings(Sources(file=tmp_path / "none.yaml"))


@pytest.mark.parametrize(
    ("sources", "says"),
    [
        pytest.param(
            Sources(environ={"EARWITNESS_METRICS__PRT": "1"}),
            'EARWITNESS_METRICS__PRT: unknown key "prt". Did you mean "port"?',
            id="an unknown key below a known one",
        ),
        pytest.param(
            Sources(environ={"EARWITNESS_METRIKS": "1"}),
            "EARWITNESS_METRIKS: is no setting. Did you mean EARWITNESS_METRICS?",
            id="an unknown variable",
        ),
        pytest.param(
            Sources(environ={"EARWITNESS_AGNET": "x"}),
            "EARWITNESS_AGNET: is no setting. Did you mean EARWITNESS_AGENT?",
            id="a mistyped variable of the bot",
        ),
        pytest.param(
            Sources(environ={"EARWITNESS_METRICS__PORT": "many"}),
            "EARWITNESS_METRICS__PORT: should be a whole number",
            id="a wrong value in the environment",
        ),
        pytest.param(
            Sources(environ={"EARWITNESS_METRICS__PORT__X": "1"}),
            "EARWITNESS_METRICS__PORT__X: should be a whole number",
            id="keys below a value",
        ),
        pytest.param(
            Sources(options={"metrics.port": (-1, "--set metrics.port=-1")}),
            "--set metrics.port=-1: should be greater than or equal to 0",
            id="a wrong value on the command line",
        ),
    ],
)
def test_a_wrong_value_names_where_it_came_from(sources: Sources, says: str) -> None:
    with pytest.raises(BadInput) as caught:
        load_settings(sources)
    assert str(caught.value).startswith(says)


def test_a_mistake_in_the_file_names_its_line(tmp_path: Path) -> None:
    path = write(tmp_path, "metrics:\n  port: 1\n  hots: x\n")

    with pytest.raises(BadInput) as caught:
        load_settings(Sources(here=tmp_path))
    assert str(caught.value) == f'{path}:3: metrics.hots: unknown key "hots". Did you mean "host"?'


def test_a_mistake_of_the_file_is_found_although_the_environment_sets_its_neighbour(tmp_path: Path) -> None:
    write(tmp_path, "metrics:\n  hots: x\n")

    with pytest.raises(BadInput, match=r"earwitness\.yaml:2: metrics\.hots"):
        load_settings(Sources(here=tmp_path, environ={"EARWITNESS_METRICS__PORT": "1"}))


def test_what_the_bot_reads_is_not_unknown() -> None:
    bot = ["AGENT", "VERSION", "LABELS", "OFF", "SAMPLE", "TAPS", "RECORD", "SECRET", "SECRET_FILE"]
    environ = {f"EARWITNESS_{name}": "x" for name in bot} | {
        "EARWITNESS_HOME": "/x",
        "EARWITNESS_BOT__LINGER_S": "1",
        "PATH": "/bin",
    }

    assert load_settings(Sources(environ=environ)) == Settings()


def test_secrets_come_from_files_and_are_never_shown(tmp_path: Path) -> None:
    secret = write(tmp_path, "hunter2\n", "password")
    hook = write(tmp_path, "https://hooks.example/T0KEN\n", "hook")
    path = write(
        tmp_path,
        f"kafka: {{sasl_password_file: {secret}}}\nalerts: {{webhooks: [{{url_file: {hook}}}]}}\n",
        "s.yaml",
    )

    settings = load_settings(Sources(file=path))

    assert settings.kafka.sasl_password is not None
    assert settings.kafka.sasl_password.get_secret_value() == "hunter2"
    assert "hunter2" not in repr(settings)
    assert "T0KEN" not in repr(settings)
    assert "hunter2" not in settings.model_dump_json()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("kafka: {sasl_password_file: /nowhere/x}", "kafka.sasl_password_file: /nowhere/x cannot be read"),
        ("kafka: {sasl_password_file: /x, sasl_password: y}", "sasl_password is given too"),
        ("alerts: {webhooks: [{}]}", "alerts.webhooks[0]: needs url or url_file"),
        ("alerts: {webhooks: [{url: 'ftp://x'}]}", "must begin with http"),
    ],
)
def test_secrets_that_cannot_be_had_are_errors(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(BadInput) as caught:
        load_settings(Sources(file=write(tmp_path, text)))
    assert says in str(caught.value)


def test_a_secret_of_a_wrong_shape_is_not_repeated() -> None:
    with pytest.raises(BadInput) as caught:
        load_settings(Sources(options={"kafka.sasl_password": (["hunter2"], "--set kafka")}))
    assert "hunter2" not in str(caught.value)


def test_an_option_is_a_name_and_a_value() -> None:
    assert option("metrics.port=9000") == ("metrics.port", 9000)
    assert option("label_keys={route: [ivr]}") == ("label_keys", {"route": ["ivr"]})
    with pytest.raises(BadInput, match="expected name=value"):
        option("metrics.port")


@pytest.mark.parametrize("password", ["[hunter2", "{hunter2}", "[*hunter2]", "12345", "true"])
def test_a_password_is_taken_as_it_stands(password: str) -> None:
    by_environment = load_settings(Sources(environ={"EARWITNESS_KAFKA__SASL_PASSWORD": password}))
    name, value = option(f"kafka.sasl_password={password}")
    by_option = load_settings(Sources(options={name: (value, "--set")}))

    for settings in (by_environment, by_option):
        assert settings.kafka.sasl_password is not None
        assert settings.kafka.sasl_password.get_secret_value() == password


@pytest.mark.parametrize(
    "url", ["https://[::1/token", "https:///token", "https://host:0/token", "https://h:99999/token"]
)
def test_a_webhook_without_a_possible_host_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(BadInput, match=r"webhooks\[0\]\.url: names no host") as caught:
        load_settings(Sources(options={"alerts.webhooks": ([{"url": url}], "--set")}))
    assert "token" not in str(caught.value)


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        (["a-b", "a.b"], '"a.b" is taken in /metrics by "a-b"'),
        (["le"], '"le" is taken in /metrics by the metrics'),
        (["end-cause"], '"end-cause" is taken'),
        (["two words"], '"two words" cannot be a label key'),
        (["__name__"], '"__name__" cannot be a label key'),
    ],
)
def test_label_keys_that_metrics_cannot_tell_apart_are_refused(keys: list[str], says: str) -> None:
    with pytest.raises(BadInput) as caught:
        load_settings(Sources(options={"label_keys": (dict.fromkeys(keys, ()), "--set label_keys")}))
    assert str(caught.value).startswith(f"--set label_keys: {says}")


def test_a_site_adds_small_words_of_its_own(tmp_path: Path) -> None:
    write(
        tmp_path,
        "words:\n  en: {backchannels: [righty-ho, tickety boo], stops: [whoa]}\n  ja: {backchannels: [はい]}\n",
    )

    settings = load_settings(Sources(here=tmp_path, environ={"EARWITNESS_WORDS__PT__STOPS": "calma aí, opa"}))

    assert settings.words["en"].backchannels == ("righty-ho", "tickety boo")
    assert settings.words["ja"].backchannels == ("はい",)
    assert settings.words["pt"].stops == ("calma aí", "opa")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("words: {english: {stops: [whoa]}}", '"english" is no language; write a code such as "en"'),
        ("words: {en: {backchanels: [x]}}", 'Did you mean "backchannels"?'),
        ("words: {en: {stops: ['...']}}", 'en.stops: "..." has no word in it'),
        ("words: {en: {stops: [Oh well], backchannels: [oh well]}}", '"Oh well" stands in backchannels and in stops'),
        ("words: {en: {stops: [whoa]}, en-GB: {stops: [oi]}}", '"en-GB" and "en" are one language here'),
        ("words: {ja: {stops: [待って]}}", "no lists ship for this language; give its backchannels"),
        ("words: [uh]", "words"),
    ],
)
def test_small_words_that_cannot_be_used_are_named(tmp_path: Path, text: str, complaint: str) -> None:
    write(tmp_path, text)

    with pytest.raises(BadInput) as caught:
        load_settings(Sources(here=tmp_path))

    assert "earwitness.yaml:1: words" in str(caught.value)
    assert complaint in str(caught.value)
