"""The published JSON Schema says what the models say."""

from __future__ import annotations

import json

from earwitness.monitor.contract import schema
from earwitness.monitor.contract.wire import EVENT_KINDS, RECORD_KINDS


def test_the_schema_files_are_what_the_models_say() -> None:
    """On failure: python -m earwitness.monitor.contract.schema --write"""
    assert schema.drifted() == []


def test_the_schemas_name_every_kind() -> None:
    texts = schema.schemas()

    for name, kinds in (("event.json", EVENT_KINDS), ("record.json", RECORD_KINDS)):
        assert set(json.loads(texts[name])["discriminator"]["mapping"]) == kinds
