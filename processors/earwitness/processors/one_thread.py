"""A thread of its own for one kind of work, shared by all calls of a process."""

from __future__ import annotations

import os
import threading
from concurrent.futures import Executor, ThreadPoolExecutor


class OneThread:
    """An executor with a single thread, made on first use and made anew in a forked child, which has no threads."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._made: tuple[int, ThreadPoolExecutor] | None = None

    def __call__(self) -> Executor:
        """The executor of this process."""
        with self._lock:
            if self._made is None or self._made[0] != os.getpid():
                self._made = (os.getpid(), ThreadPoolExecutor(max_workers=1, thread_name_prefix=self._name))
            return self._made[1]
