"""Settings of the service side: command line over environment over file over defaults.

A setting has one name everywhere: ``metrics.port`` in the file, ``EARWITNESS_METRICS__PORT`` in the environment,
``--set metrics.port=9000`` or an option of its own on the command line. Unknown names are errors that say what was
meant. Secrets are never shown; each may stand in a file of its own (``..._file``).
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, cast
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, ValidationError

from earwitness.monitor.calls.lexicon import LISTS, SHIPPED, language_of
from earwitness.monitor.calls.tokens import tokens
from earwitness.monitor.errors import BadInput
from earwitness.monitor.strict_yaml import Loc, Tree, check, dotted, first_mistake, parse_tree, plain_scalar, read_tree

ENV_PREFIX = "EARWITNESS_"
FILE_NAME = "earwitness.yaml"

BOT_ONLY = frozenset(
    {"AGENT", "VERSION", "LABELS", "OFF", "SAMPLE", "TAPS", "RECORD", "SECRET", "SECRET_FILE"}
)  # fmt: skip
"""Variables that the hooks in the bot read; one environment may hold both sides'."""
METRIC_LABELS = frozenset(
    {
        "le",
        "quantile",
        "window",
        "part",
        "owner",
        "cell",
        "class",
        "cause",
        "outcome",
        "end_cause",
        "measure",
        "shown_by",
    }
)
"""What metrics use to tell their own values apart."""
_LABEL_KEY = re.compile(r"(?!__)[A-Za-z_][A-Za-z0-9_.-]{0,63}")
_ELSEWHERE = frozenset({"SETTINGS", "HOME"})


def _comma_list(value: object) -> object:
    if value is None:
        return ()
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


def _home(path: Path) -> Path:
    return path.expanduser()


def _distinct_names(keys: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """Keys become labels of metrics: of two that become the same, or of one that the metrics have, a value is lost."""
    taken = dict.fromkeys(METRIC_LABELS, "the metrics")
    for key in keys:
        if not _LABEL_KEY.fullmatch(key):
            raise ValueError(f'"{key}" cannot be a label key: use letters, digits, "_", "-" and "."')
        name = re.sub(r"[-.]", "_", key)
        if name in taken:
            raise ValueError(f'"{key}" is taken in /metrics by {taken[name]}; choose another key')
        taken[name] = f'"{key}"'
    return keys


FilePath = Annotated[Path, AfterValidator(_home)]
Port = Annotated[int, Field(ge=0, le=65535)]
P = TypeVar("P", bound="Part")


class Part(BaseModel):
    """A group of settings: frozen, unknown keys refused, values never repeated in errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class _AnyKeys(BaseModel):
    model_config = ConfigDict(extra="allow")


class Kafka(Part):
    """How to talk to the brokers that the log's URL names; passed through to the client."""

    security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = "PLAINTEXT"
    sasl_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "GSSAPI"] = "PLAIN"
    sasl_username: str | None = None
    sasl_password: SecretStr | None = None
    sasl_password_file: FilePath | None = None
    ssl_cafile: FilePath | None = None
    ssl_certfile: FilePath | None = None
    ssl_keyfile: FilePath | None = None
    ssl_key_password: SecretStr | None = None
    ssl_key_password_file: FilePath | None = None
    ssl_check_hostname: bool = True
    client_id: str = "earwitness"
    request_timeout_ms: Annotated[int, Field(ge=1_000)] = 10_000
    session_timeout_ms: Annotated[int, Field(ge=1_000)] = 10_000
    topic_configs: dict[str, str] = {}
    """Added to those of every topic that is made."""
    partitions: Annotated[int, Field(ge=1, le=1000)] = 12
    """Of the topics that ``earwitness topics create`` makes."""
    replication_factor: Annotated[int, Field(ge=-1, le=15)] = -1
    """-1: the cluster's own default."""


class Retention(Part):
    """What the embedded log keeps: whichever bound is reached first."""

    days: Annotated[float, Field(gt=0)] = 8.0
    """The embedded log remembers what is set for ``run`` or ``topics create``, for bots and all others that open it."""
    bytes: Annotated[int, Field(ge=1_000_000)] = 4 * 1024**3
    """As ``retention.days``."""


class State(Part):
    """What ``run`` keeps of its state on the log, so that a restart, and another worker, go on from there."""

    enabled: bool = True
    """False: each start folds the past again."""
    every_s: Annotated[float, Field(gt=0, le=600)] = 15.0
    """How often what changed is written, and offsets are committed."""
    calls_at_hand: Annotated[int, Field(ge=0)] = 10_000
    """Open calls that a worker keeps as it works with them (120 to 300 kB each): more than a core can follow. Where
    more are open fewer stay; of others it keeps few bytes (30 to 150 kB) between two looks, and works 1.6 times as
    long on each of their events. Less of it saves memory where a host has little."""


class Metrics(Part):
    """The page for Prometheus, with ``/healthz`` and ``/readyz``."""

    enabled: bool = True
    host: str = "127.0.0.1"
    port: Port = 9464


class Relay(Part):
    """What ``earwitness relay`` ships, and where to."""

    source: str | None = None
    """URL of the embedded log to ship; None: ``log`` where that is one, else this machine's."""
    to: str | None = None
    """``kafka://...``; None: ``log`` where that is one."""
    port: Port | None = None
    """Of the relay's own page for Prometheus, at ``metrics.host``; None: no page."""


class Webhook(Part):
    """Where alerts are posted. The URL counts as a secret: many carry a token."""

    url: SecretStr | None = None
    url_file: FilePath | None = None
    bearer_token: SecretStr | None = None
    bearer_token_file: FilePath | None = None
    severities: Annotated[tuple[str, ...], BeforeValidator(_comma_list)] = ()
    """Only alerts of these; empty: all."""
    timeout_s: Annotated[float, Field(gt=0, le=60)] = 10.0
    give_up_after_s: Annotated[float, Field(ge=0)] = 3600.0
    """Of waiting between attempts, for a message that is not taken."""


class Alerts(Part):
    """Rules of alerts and where their messages go."""

    enabled: bool = True
    file: FilePath | None = None
    """None: the rules that ship with Earwitness."""
    every_s: Annotated[float, Field(ge=1, le=3600)] = 10.0
    console: bool = True
    webhooks: tuple[Webhook, ...] = ()


WordList = Annotated[tuple[str, ...], BeforeValidator(_comma_list)]


class Words(Part):
    """A site's own small words of one language, added to those that ship: phrases, without regard to case, punctuation
    and lengthened letters. What stands in one of two contrary lists here is taken out of the other."""

    backchannels: WordList = ()
    """Said while somebody else talks, and wanting nothing: ``righty-ho``."""
    stops: WordList = ()
    """Beginning as one begins to stop somebody."""
    stops_alone: WordList = ()
    """The same, where nothing else is said."""
    closings: WordList = ()
    """The caller's thanks and farewells."""
    farewells: WordList = ()
    """The agent's."""
    holds: WordList = ()
    """The agent asks to wait."""
    transfers: WordList = ()
    """The agent promises a hand-over."""
    promises: WordList = ()
    """The agent promises to do something now."""
    hellos: WordList = ()
    """Asking whether anybody is there, where nothing else is said: ``hello?``."""
    presence: WordList = ()
    """The same, anywhere in few words: ``can you hear me``."""


class Logging(Part):
    """What Earwitness says of itself on standard error."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    format: Literal["auto", "json", "console"] = "auto"


def _readable_words(languages: dict[str, Words]) -> dict[str, Words]:
    """Lists that can be used: a known kind of key, phrases with words in them, and no phrase in contrary lists."""
    seen: dict[str, str] = {}
    for tag, words in languages.items():
        language = language_of(tag)
        if not re.fullmatch(r"[a-z]{2,3}", language) or not tag.strip():
            raise ValueError(f'"{tag}" is no language; write a code such as "en" or "pt"')
        if (other := seen.setdefault(language, tag)) != tag:
            raise ValueError(f'"{tag}" and "{other}" are one language here; write its phrases under one of them')
        said = {name: {tokens(phrase): phrase for phrase in getattr(words, name)} for name in LISTS}
        for name, phrases in said.items():
            if () in phrases:
                raise ValueError(f'{tag}.{name}: "{phrases[()]}" has no word in it')
        for name in ("stops", "stops_alone"):
            for phrase in said["backchannels"].keys() & said[name].keys():
                text = said[name][phrase]
                raise ValueError(f'{tag}: "{text}" stands in backchannels and in {name}; leave it in one of them')
        if language not in SHIPPED and not words.backchannels:
            raise ValueError(f"{tag}: no lists ship for this language; give its backchannels")
    return languages


class Settings(Part):
    """Everything that the service side can be told."""

    log: str | None = None
    """URL of the log; None: the embedded log of this machine."""
    kafka: Kafka = Kafka()
    retention: Retention = Retention()
    label_keys: Annotated[
        dict[str, Annotated[tuple[str, ...], BeforeValidator(_comma_list)]], AfterValidator(_distinct_names)
    ] = {}
    """Declared label keys, each with its values; no values: open, up to ``label_values_max``."""
    label_values_max: Annotated[int, Field(ge=1, le=1000)] = 50
    bounds: dict[str, float] = {}
    """Bounds of the definitions that differ from the defaults, by name."""
    words: Annotated[dict[str, Words], AfterValidator(_readable_words)] = {}
    """Small words of telephone talk that a site adds, by language (``en``, ``pt``)."""
    state: State = State()
    metrics: Metrics = Metrics()
    relay: Relay = Relay()
    alerts: Alerts = Alerts()
    logging: Logging = Logging()


@dataclass(frozen=True, slots=True)
class Sources:
    """Where settings may come from, given by the caller: nothing here looks at the process by itself.

    ``options`` are settings from the command line by dotted name, each with how it was written there.
    """

    environ: Mapping[str, str] = field(default_factory=dict[str, str])
    options: Mapping[str, tuple[object, str]] = field(default_factory=dict[str, tuple[object, str]])
    file: Path | None = None
    """``--settings``."""
    here: Path = Path()
    home: Path | None = None


def load_settings(sources: Sources) -> Settings:
    """Layer the sources and check the whole. Raises BadInput, which names the source of the wrong value."""
    tree = _file_tree(sources)
    values: dict[str, Any] = {}
    if tree is not None:
        values = check(tree, _AnyKeys).model.model_dump()
    origins: dict[Loc, str] = {}
    for variable, text in sorted(sources.environ.items()):
        if (loc := _variable_loc(variable)) is not None:
            is_tree = text.lstrip().startswith(("[", "{")) and not _is_text(loc)
            _put(values, loc, parse_tree(text, name=variable).value if is_tree else text, variable, origins)
    for name, (value, written) in sources.options.items():
        _put(values, tuple(name.split(".")), value, written, origins)
    try:
        settings = Settings.model_validate(values)
    except ValidationError as error:
        loc, what = first_mistake(error, Settings)
        for size in range(len(loc), 0, -1):
            if (origin := origins.get(loc[:size])) is not None:
                raise BadInput(what, where=origin) from None
        if deeper := [origin for below, origin in origins.items() if below[: len(loc)] == loc]:
            raise BadInput(what, where=deeper[0]) from None
        raise (tree or Tree("settings", None)).bad(loc, what) from None
    return _with_files(settings)


def _is_text(loc: Loc) -> bool:
    """Whether a setting is text as it stands, brackets and all: a password may begin with one."""
    here: object = Settings
    for part in loc:
        if not (isinstance(here, type) and issubclass(here, BaseModel) and part in here.model_fields):
            return False
        here = here.model_fields[str(part)].annotation
    return here in (str, str | None, SecretStr | None, Path | None)


def option(text: str) -> tuple[str, object]:
    """``name=value`` of ``--set``. Raises BadInput."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise BadInput('expected name=value, such as "metrics.port=9464"', where=f"--set {text!r}")
    name, value = name.strip(), value.strip()
    if _is_text(tuple(name.split("."))):
        return name, value
    return name, parse_tree(value, name="--set").value if value.startswith(("[", "{")) else plain_scalar(value)


def _file_tree(sources: Sources) -> Tree | None:
    if sources.file is not None:
        return read_tree(sources.file)
    if named := sources.environ.get(f"{ENV_PREFIX}SETTINGS"):
        return read_tree(Path(named).expanduser())
    for folder in (sources.here, sources.home):
        if folder is not None and (path := folder / FILE_NAME).is_file():
            return read_tree(path)
    return None


def _variable_loc(variable: str) -> Loc | None:
    if not variable.startswith(ENV_PREFIX):
        return None
    name = variable.removeprefix(ENV_PREFIX)
    if name in BOT_ONLY or name in _ELSEWHERE or name.startswith(("TEST_", "BOT__")):
        return None
    loc = tuple(name.lower().split("__"))
    if loc[0] not in Settings.model_fields:
        known = {ENV_PREFIX + word.upper() for word in {*Settings.model_fields, *BOT_ONLY, *_ELSEWHERE}}
        close = difflib.get_close_matches(variable, known, n=1)
        hint = f" Did you mean {close[0]}?" if close else " Unset it, or see `earwitness doctor`."
        raise BadInput(f"is no setting.{hint}", where=variable)
    return loc


def _put(values: dict[str, Any], loc: Loc, value: object, origin: str, origins: dict[Loc, str]) -> None:
    """Set one value in nested keys, leaving the given values of a file as they are elsewhere."""
    here = values
    for part in loc[:-1]:
        inner = here.get(str(part))
        here[str(part)] = here = dict(cast("dict[str, Any]", inner)) if isinstance(inner, dict) else {}
    here[str(loc[-1])] = value
    origins[loc] = origin


def _with_files(settings: Settings) -> Settings:
    """Read the secrets that stand in files."""
    hooks = tuple(_filled(hook, f"alerts.webhooks[{i}]") for i, hook in enumerate(settings.alerts.webhooks))
    for i, hook in enumerate(hooks):
        if hook.url is None:
            raise BadInput("needs url or url_file", where=f"alerts.webhooks[{i}]")
        if what := _wrong_with(hook.url.get_secret_value()):
            raise BadInput(what, where=f"alerts.webhooks[{i}].url")
    alerts = settings.alerts.model_copy(update={"webhooks": hooks})
    return settings.model_copy(update={"kafka": _filled(settings.kafka, "kafka"), "alerts": alerts})


def _wrong_with(url: str) -> str | None:
    if not url.startswith(("http://", "https://")):
        return "must begin with http:// or https://"
    try:
        parts = urlsplit(url)
        named = bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        named = False
    return None if named else "names no host that can be; write https://host/path"


def _filled(part: P, where: str) -> P:
    found: dict[str, SecretStr] = {}
    for name in type(part).model_fields:
        path = getattr(part, f"{name}_file", None)
        if not isinstance(path, Path):
            continue
        loc = dotted((where, f"{name}_file"))
        if getattr(part, name) is not None:
            raise BadInput(f"{name} is given too; leave one of them out", where=loc)
        try:
            found[name] = SecretStr(path.read_text(encoding="utf-8").strip())
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "no text"
            raise BadInput(f"{path} cannot be read ({reason})", where=loc) from None
    return part.model_copy(update=found)
