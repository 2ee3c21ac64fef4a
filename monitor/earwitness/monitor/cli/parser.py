"""What can be typed: commands, options, help. No command's own module is loaded here, so that help is quick."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, NoReturn, Protocol

from earwitness.monitor.release import release

_SETTINGS_HELP = "settings file (default: EARWITNESS_SETTINGS, ./earwitness.yaml, earwitness.yaml in the home)"
_LOG_HELP = "log: kafka://host:9092, sqlite:///path/log.db or a path (default: EARWITNESS_LOG, else this machine's log)"


def make_parser() -> argparse.ArgumentParser:
    """The parser of ``earwitness``. Its result has ``command``, the module to run, and ``spelled``, what was typed."""
    parser = _Parser(
        prog="earwitness",
        description="Watches live voice agents: every number means what the caller heard.",
        epilog="Exit codes: 0 done, 1 the check that was asked for found a fault, 2 wrong use or bad input.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"earwitness {release()}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    run = _command(commands, "run", "run", "run the monitor: calls, numbers, alerts, /metrics; until Ctrl-C")
    _log_options(run)
    run.add_argument("--rules", type=Path, metavar="FILE", help="alert rules (default: those of the settings)")
    run.add_argument("--port", type=int, metavar="PORT", help="port of /metrics (default: 9464; 0: any free one)")

    relay = _command(commands, "relay", "relay", "ship this host's embedded log to Kafka; until Ctrl-C")
    relay.add_argument("--from", dest="source", metavar="URL", help="embedded log (default: this machine's)")
    relay.add_argument("--to", metavar="URL", help="kafka://host:9092 (default: the settings' relay.to, or log)")
    relay.add_argument("--port", dest="page", type=int, metavar="PORT", help="serve /metrics there (0: any free one)")
    _settings_options(relay)

    top = _command(commands, "top", "top", "live view of a log: q leaves, arrows choose an agent, Enter its worst call")
    _log_options(top)
    top.add_argument("--once", action="store_true", help="print one frame and end")
    top.add_argument("--window", metavar="LENGTH", default="5m", help="what the numbers cover: 1m 5m 30m 1h 2h 6h 24h")
    top.add_argument("--every", type=float, metavar="SECONDS", help="between two frames (default: 1, plain lines: 5)")

    calls = _command(commands, "calls", "calls", "list calls, or show one: who spoke when, overlaps, silences, numbers")
    _log_options(calls)
    calls.add_argument("call_id", metavar="ID", nargs="?", help="call to show; the beginning of its id is enough")
    calls.add_argument("--since", metavar="LENGTH", default="1h", help="how far back the list goes (default: 1h)")
    calls.add_argument("--limit", type=int, default=50, metavar="N", help="calls in the list, newest first")
    calls.add_argument("--agent", help="list only this agent's")
    calls.add_argument("--svg", metavar="FILE", help="draw the call into FILE; a name that ends in .png makes a PNG")

    label = _command(commands, "label", "label", "say whether the caller wanted the floor in an overlap; list overlaps")
    label.add_argument("call_id", metavar="CALL", help="the call; the beginning of its id is enough")
    label.add_argument("overlap", metavar="OVERLAP", nargs="?", help="o3 or 3; left out: list the call's overlaps")
    label.add_argument(
        "want", metavar="wanted|not", nargs="?", choices=["wanted", "not"], help="what the caller wanted"
    )
    label.add_argument(
        "--class",
        dest="want_class",
        choices=["backchannel", "noise", "echo", "not_addressed"],
        help="with not: what it was; a cough or a tic is noise",
    )
    label.add_argument("--author", metavar="NAME", help="whose word it is")
    label.add_argument("--clear", action="store_true", help="take the overlap's label back")
    _log_options(label)

    analyze = _command(commands, "analyze", "analyze", "the numbers of recordings, intervals or event logs, offline")
    _call_files(analyze)
    analyze.add_argument(
        "--log", metavar="URL", help="instead of files: the records that a log has, published or rebuilt"
    )
    analyze.add_argument("--json", action="store_true", help="machine-readable, as in the interface reference")
    analyze.add_argument("--svg", metavar="FILE", help="draw one call into FILE; a name that ends in .png makes a PNG")
    analyze.add_argument("--call", metavar="ID", help="the call to draw, where there are several")
    analyze.add_argument(
        "--profile",
        choices=["tau-voice"],
        help="the numbers of that benchmark instead, by its own rules; reads ticks too",
    )
    analyze.add_argument(
        "--recording", metavar="FILE", help="hold a recording against the live call; of several calls: their folder"
    )
    analyze.add_argument("--settings", type=Path, metavar="FILE", help=_SETTINGS_HELP)
    analyze.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="one setting")

    comparing = _command(commands, "compare", "compare", "two sets of calls: what differs, and whether it can be told")
    comparing.add_argument("a", metavar="A", help="file, folder, quoted pattern, or calls on the log: version=41")
    comparing.add_argument("b", metavar="B", help="the same for the other side; differences are B - A")
    comparing.add_argument("--agent", help="only this agent's calls on the log")
    comparing.add_argument("--since", metavar="LENGTH", default="24h", help="how far back on the log (default: 24h)")
    comparing.add_argument("--json", action="store_true", help="machine-readable; `earwitness schema compare`")
    _log_options(comparing)

    doctor = _command(commands, "doctor", "doctor", "check log, topics, versions, clock, disk, settings; what to do")
    _log_options(doctor)

    topics = _command(commands, "topics", "topics", "topics of the log")
    topic_commands = topics.add_subparsers(title="commands", metavar="COMMAND", required=True)
    create = _command(topic_commands, "create", "topics", "make those that are missing, with the right settings")
    _log_options(create)
    create.add_argument("--partitions", type=int, metavar="N", help="of each topic (default: the settings', 12)")

    rebuild = _command(commands, "replay", "replay", "rebuild records from events with today's definitions, elsewhere")
    rebuild.add_argument("--since", metavar="WHEN", required=True, help="from when on: 7d, or 2026-11-30T08:00")
    rebuild.add_argument("--until", metavar="WHEN", help="until when: 1d, or a date (default: now)")
    rebuild.add_argument("--into", metavar="NAME", required=True, help="a log of its own: a prefix on Kafka, or a file")
    _log_options(rebuild)

    dead = _command(commands, "dead", "dead", "records that could not be read: list, show one, put them back")
    dead_commands = dead.add_subparsers(title="commands", metavar="COMMAND", required=True)
    letters = _command(dead_commands, "list", "dead", "count them by reason and place, and list the newest")
    letters.add_argument("--since", metavar="LENGTH", help="only those set aside since then, such as 24h")
    letters.add_argument("--limit", type=int, default=20, metavar="N", help="letters in the list, newest first")
    letters.add_argument("--json", action="store_true", help="machine-readable")
    _log_options(letters)
    letter = _command(dead_commands, "show", "dead", "one letter: why, where it stood, what to do")
    letter.add_argument("id", metavar="ID", help="as `dead list` says; 3/42 is partition 3, offset 42 of the events")
    letter.add_argument("--payload", action="store_true", help="print its bytes too: they may hold unredacted words")
    _log_options(letter)
    again = _command(dead_commands, "replay", "dead", "put back, once, what can be read by now")
    again.add_argument("ids", metavar="ID", nargs="*", help="these letters (default: all)")
    again.add_argument("--reason", metavar="REASON", help="all of this reason")
    again.add_argument("--dry-run", action="store_true", help="only say what would be put back")
    _log_options(again)

    alerts = _command(commands, "alerts", "alerts", "alerts: list them, silence one, check rules")
    alert_commands = alerts.add_subparsers(title="commands", metavar="COMMAND", required=True)
    listing = _command(alert_commands, "list", "alerts", "open alerts and those resolved within the hour")
    _log_options(listing)
    check = _command(alert_commands, "check", "alerts", "check a file of rules without running it")
    check.add_argument("file", type=Path, metavar="FILE", nargs="?", help="rules (default: those of the settings)")
    check.add_argument("--settings", type=Path, metavar="FILE", help=_SETTINGS_HELP)
    check.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="one setting")
    _command(alert_commands, "defaults", "alerts", "print the rules that ship with Earwitness, to copy and edit")
    silence = _command(alert_commands, "silence", "alerts", "send no firing messages of one alert for a while")
    silence.add_argument("fingerprint", metavar="ID", help="as the message says; its beginning is enough")
    silence.add_argument(
        "--for", dest="length", metavar="LENGTH", default="1h", help="how long (default: 1h; 0: end it)"
    )
    _log_options(silence)

    _command(commands, "setup-file", "setup_file", "print the path for PIPECAT_SETUP_FILES: watch a bot without code")
    schema = _command(commands, "schema", "schema", "print the JSON Schema of what is on the log, or of a report")
    schema.add_argument("what", nargs="?", choices=["event", "record", "analyze", "compare"], default="event")
    return parser


class _Parser(argparse.ArgumentParser):
    """Wrong use is one line that names it and says where help is."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"earwitness: {message}; `{self.prog} --help` shows what there is\n")


class _Group(Protocol):
    """What ``add_subparsers`` returns."""

    def add_parser(self, name: str, **options: Any) -> argparse.ArgumentParser: ...


def _command(group: _Group, name: str, module: str, what: str) -> argparse.ArgumentParser:
    parser = group.add_parser(name, help=what, description=what[0].upper() + what[1:] + ".", allow_abbrev=False)
    parser.set_defaults(command=module, action=name, spelled=parser.prog)
    return parser


def _call_files(parser: argparse.ArgumentParser) -> None:
    """Files that tell of calls, and how recordings among them are to be read."""
    parser.add_argument(
        "files",
        metavar="FILE",
        nargs="*",
        help="recording of two channels (WAV, FLAC, Ogg), speech segments (RTTM), intervals (JSON), event log (JSON "
        "lines), told apart by content; - reads standard input",
    )
    parser.add_argument(
        "--caller-channel", metavar="CHANNEL", default="left", help="left, right, 0, 1, ... (default: left)"
    )
    parser.add_argument("--agent-channel", metavar="CHANNEL", help="the agent's, where there are more than two")
    parser.add_argument("--voice-activity", choices=["accurate", "fast"], default="accurate", help="for recordings")
    parser.add_argument("--caller", metavar="NAME", help="the caller's name among an RTTM file's speakers")
    parser.add_argument("--agent", metavar="NAME", help="the agent's")
    parser.add_argument("--words", metavar="FILE", help="what was said in the recording: a JSON list")
    parser.add_argument("--expect", metavar="FILE", help="what the caller wanted in its overlaps: a JSON list")
    parser.add_argument("--language", metavar="TAG", help="of the words, such as de (default: en)")


def _log_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--log", metavar="URL", help=_LOG_HELP)
    _settings_options(parser)


def _settings_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--settings", type=Path, metavar="FILE", help=_SETTINGS_HELP)
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="one setting, such as metrics.port=0"
    )
