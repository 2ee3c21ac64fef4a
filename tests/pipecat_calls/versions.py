"""What differs between Pipecat 1.0 and the newest, for the scripted calls only."""

from __future__ import annotations

import importlib
import re
from typing import Any

from pipecat.frames import frames as pipecat_frames
from pipecat.metrics import metrics as pipecat_metrics


def _module(*names: str) -> Any:
    for name in names:
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError:
            continue
    raise ModuleNotFoundError(names[0])


def _split_sentences_without_a_download() -> None:
    """Old versions load sentence rules from the network; where there are none, a full stop ends a sentence here."""
    module = importlib.import_module("pipecat.utils.string")
    if not hasattr(module, "sent_tokenize"):
        return
    try:
        importlib.import_module("nltk").data.find("tokenizers/punkt_tab")
    except LookupError:
        setattr(module, "sent_tokenize", lambda text, *_, **__: re.split(r"(?<=[.?!])\s+", text))  # noqa: B010


_split_sentences_without_a_download()
_worker_module = _module("pipecat.pipeline.worker", "pipecat.pipeline.task")
_runner_module = _module("pipecat.workers.runner", "pipecat.pipeline.runner")

Worker: Any = getattr(_worker_module, "PipelineWorker", None) or _worker_module.PipelineTask
PipelineParams: Any = _worker_module.PipelineParams


async def run_worker(worker: Any) -> None:
    """Run a worker to its end."""
    if hasattr(_runner_module, "WorkerRunner"):
        runner = _runner_module.WorkerRunner(handle_sigint=False)
        await runner.add_workers(worker)
        await runner.run()
    else:
        await _runner_module.PipelineRunner(handle_sigint=False).run(worker)


def end_request(reason: str | None) -> Any:
    """The frame by which a processor asks for the end of the call."""
    kind = getattr(pipecat_frames, "EndWorkerFrame", None) or pipecat_frames.EndTaskFrame
    return kind(reason=reason)


class _Frames:
    """Frames and metrics that only some versions have."""

    def __getattr__(self, name: str) -> Any:
        return getattr(pipecat_frames, name)

    @staticmethod
    def turn_metrics(processor: str, complete: bool) -> Any:
        return pipecat_metrics.TurnMetricsData(
            processor=processor, is_complete=complete, probability=0.9, e2e_processing_time_ms=5.0
        )

    @staticmethod
    def realtime_metadata(name: str) -> Any:
        from pipecat.turns.user_turn_strategies import ExternalUserTurnStrategies

        return pipecat_frames.LLMServiceMetadataFrame(
            service_name=name, is_realtime_service=True, user_turn_strategies=ExternalUserTurnStrategies()
        )


frames: Any = _Frames()
