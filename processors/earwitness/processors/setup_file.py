"""The file for ``PIPECAT_SETUP_FILES``: watches every call of an unmodified bot.

Pipecat loads it by its path and calls one of these functions for each worker it sets up; which one depends on its
version. Agent, version and labels come from the environment.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

_log = logging.getLogger("earwitness.setup")


def setup_file_path() -> str:
    """The path to give to ``PIPECAT_SETUP_FILES``."""
    return str(Path(__file__).resolve())


async def setup_pipeline_worker(worker: Any) -> None:
    """Called by Pipecat 1.3 and newer. Never raises."""
    try:
        from earwitness.processors.attaching import attach, owns_a_line  # noqa: PLC0415 - a fault here is ours to catch

        if owns_a_line(worker):
            attach(worker)
    except Exception as error:  # without us the bot runs as before
        _log.warning("earwitness: this call is not watched: %r", error)


async def setup_pipeline_task(task: Any) -> None:
    """Called by Pipecat before 1.3. Never raises."""
    await setup_pipeline_worker(task)


async def setup_worker_runner(runner: Any) -> None:
    """Called by Pipecat for each runner, which warns where it is missing. Calls are watched by their workers."""
