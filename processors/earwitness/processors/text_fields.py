"""Which fields of which event carry text: the one table that redaction goes by.

A test holds it against the contract, so that a new text field cannot be forgotten; a kind that is not in the table has
all of its strings redacted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

Treatment = Literal["text", "json", "identity", "keys"]
"""``text``: everything is looked for. ``json``: the same inside the values of JSON, else as text. ``identity``: a name
given by a system, such as a participant's id or a label: addresses, cards and numbers that are phone numbers beyond
doubt, since other digits there are ids. ``keys``: what was keyed in; nothing of it is kept."""

ENVELOPE = frozenset({"v", "kind", "call_id", "source", "seq", "at_ns", "wall_ns"})

TEXT_FIELDS: Mapping[str, Mapping[str, Treatment]] = {
    "call_started": {"labels": "identity", "provider": "identity"},
    "connected": {"participant": "identity"},
    "speech_started": {"participant": "identity"},
    "speech_ended": {"participant": "identity"},
    "audio_gap": {},
    "playout": {},
    "turn_started": {},
    "turn_ended": {"reason": "text"},
    "interruption": {"by": "identity"},
    "classifier": {},
    "transcript": {"text": "text", "participant": "identity"},
    "agent_text": {"intended": "text", "spoken": "text", "unspoken": "text"},
    "response": {},
    "stage": {},
    "tool": {"arguments": "json", "result": "json", "error": "text"},
    "mute": {"cause": "identity"},
    "dtmf": {"button": "keys"},
    "participant": {"participant": "identity", "reason": "text"},
    "transfer": {"target": "text", "by": "identity", "reason": "text"},
    "transport": {"reason": "text"},
    "app": {"value": "text"},
    "fault": {"message": "text"},
    "health": {},
    "call_ended": {"reason": "text"},
    "verdict": {"reason": "text"},
    "human_label": {"label": "text"},
    "late_fact": {"value": "text"},
    "expectation": {},
}

NEVER_TEXT: frozenset[str] = ENVELOPE | {
    "agent", "version", "caller_hash", "language", "process", "trace_id", "recording", "strategy", "overlap_id",
    "model", "utterance_id", "response_id", "after", "processor", "metric", "tool_call_id", "name", "fault_id",
    "category", "criterion", "rubric", "subject", "author", "versions", "turn_start", "turn_stop", "mute_strategies",
    "usage", "dropped", "invalid", "counts", "evidence",
}  # fmt: skip
"""Fields that hold strings which the site's own code or configuration wrote, by name: ids, models, settings."""
