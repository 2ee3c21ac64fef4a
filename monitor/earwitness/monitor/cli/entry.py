"""What happens around every command: help, one-line errors, exit codes, signals, closed pipes.

Exit codes: 0 done; 1 the check that was asked for found a fault; 2 wrong use or bad input (interfaces, "Places").
"""

from __future__ import annotations

import errno
import importlib
import io
import os
import sys
from collections.abc import Sequence
from contextlib import suppress

from earwitness.monitor import wording
from earwitness.monitor.cli.parser import make_parser
from earwitness.monitor.errors import BadInput

DONE, FAULT_FOUND, WRONG_USE = 0, 1, 2
INTERRUPTED = 130
_OUTPUT_ENDS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})
LONGEST_COMPLAINT = 2_000
_SERVICE_SIDE = frozenset({"yaml", "rich", "aiohttp", "prometheus_client", "msgspec", "soundfile"})
"""What ``earwitness[monitor]`` brings and a bot's installation may lack."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; its exit code. Never raises for what a user can mend."""
    # numpy's threads gain nothing on systems as small as ours, and spin where they wait: twice the CPU for a recording.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    _see_to_streams()
    try:
        arguments = make_parser().parse_args(argv)
    except SystemExit as exit_:  # argparse has said what is wrong, or printed help
        return exit_.code if isinstance(exit_.code, int) else WRONG_USE
    try:
        command = importlib.import_module(f"earwitness.monitor.cli.commands.{arguments.command}")
        code: int = command.execute(arguments)
        sys.stdout.flush()
        return code
    except BadInput as error:
        return complain(str(error))
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        _give_up_output()  # the reader has had enough (`| head`)
        return DONE
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in _SERVICE_SIDE:
            raise
        return complain(f'{arguments.spelled} needs the service side: pip install "earwitness[monitor]"')
    except Exception as error:
        if isinstance(error, OSError) and error.errno in _OUTPUT_ENDS:
            _give_up_output()
            return complain(f"the output cannot be written ({error.strerror})")
        if not _is_log_error(error):
            raise
        return complain(f"{_one_line(error)} `earwitness doctor` checks more.")


def complain(what: str) -> int:
    """One line on standard error, and the exit code that goes with it."""
    with suppress(OSError):
        sys.stderr.write(f"earwitness: {wording.printable(what, LONGEST_COMPLAINT)}\n")
    return WRONG_USE


def _see_to_streams() -> None:
    """A stream that was closed (`>&-`) goes nowhere, instead of to the next file that is opened; a character that the
    terminal's encoding lacks is shown as a question mark."""
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:
            with suppress(OSError):
                os.fstat(number)
                continue
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free: this one
            setattr(sys, name, open(number, mode, closefd=False))  # noqa: SIM115 - for as long as the process lasts
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _give_up_output() -> None:
    """Python would complain once more when it flushes at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _is_log_error(error: Exception) -> bool:
    from earwitness.monitor.log.protocol import LogError  # noqa: PLC0415 - a bot's `setup-file` needs no log

    return isinstance(error, LogError)


def _one_line(error: Exception) -> str:
    text = " ".join(str(error).split())
    return text if text.endswith((".", "?", "!")) else f"{text}."
