"""How the log has answered of late: how long to wait before it is tried again, and when to speak of it."""

from __future__ import annotations

import logging
import random

from earwitness.monitor.errors import BadInput
from earwitness.monitor.log.protocol import LogError, LogRefused

log = logging.getLogger("earwitness.writer")

FIRST_WAIT_S = 0.5
MOST_WAIT_S = 30.0
REFUSED_WAIT_S = 5.0
WARN_EVERY_S = 300.0


class LogHealth:
    """Failures in a row. One warning when they begin, and one in five minutes while they last. ``meanwhile`` says what
    becomes of the events until the log answers."""

    def __init__(self, meanwhile: str = "they wait on disk and in memory") -> None:
        self._meanwhile = meanwhile
        self.failures = 0
        self.refused = False
        """Whether the log last said no, rather than nothing."""
        self._warned_at_s = float("-inf")

    def answered(self) -> None:
        if self.failures:
            log.warning("the log takes events again, after %d failures", self.failures)
        self.failures = 0
        self.refused = False
        self._warned_at_s = float("-inf")

    def failed(self, error: BaseException, now_s: float) -> float:
        """Note a failure; the seconds to wait: half to all of a time that doubles with each."""
        self.failures += 1
        refused = isinstance(error, (LogRefused, BadInput))
        if now_s - self._warned_at_s >= WARN_EVERY_S or refused != self.refused:
            self._warned_at_s = now_s
            said = str(error) if isinstance(error, (LogError, BadInput)) else f"{type(error).__name__}: {error}"
            what = "refuses events" if refused else "does not take events"
            log.warning("the log %s, %s: %s", what, self._meanwhile, said)
        self.refused = refused
        least_s = REFUSED_WAIT_S if refused else FIRST_WAIT_S
        wait_s = min(MOST_WAIT_S, least_s * 2.0 ** min(self.failures - 1, 10))
        return wait_s * random.uniform(0.5, 1.0)  # noqa: S311 - spreads processes, keeps no secret

    def suspect(self, error: BaseException) -> bool:
        """Whether the log should be opened anew: what it raised is not its word, or it has failed three times."""
        return not isinstance(error, LogError) or self.failures % 3 == 0
