"""The contract means what it meant: what a reader of the stored one relies on holds in today's."""

import json
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

STORED = json.loads(Path(__file__).with_name("v1.json").read_text())
TODAY = json.loads((files("namekeeper.journal.contract") / "v1.json").read_text())
Fields = Mapping[str, Mapping[str, Any]]


def forms(fields: Fields) -> dict[str, tuple[str, bool]]:
    """Type of each field, and whether it is required."""
    return {name: (field["type"], field.get("required", False)) for name, field in fields.items()}


def assert_grown(today: Fields, stored: Fields) -> None:
    """Every old field has its form; a new one is not required, so that old records are whole."""
    new = forms(today)
    assert {name: new[name] for name in stored} == forms(stored)
    assert [name for name in new.keys() - stored.keys() if new[name][1]] == []


@pytest.mark.parametrize("name", ["version", "order", "identity", "segment", "heartbeat_gap_edges_ms"])
def test_a_value_is_the_same(name: str):
    assert TODAY[name] == STORED[name]


def test_the_envelope_has_grown_at_most():
    assert_grown(TODAY["envelope"], STORED["envelope"])


@pytest.mark.parametrize("kind", STORED["kinds"])
def test_a_kind_has_grown_at_most(kind: str):
    today, stored = TODAY["kinds"][kind], STORED["kinds"][kind]
    assert (today["class"], today.get("key")) == (stored["class"], stored.get("key"))
    assert_grown(today["fields"], stored["fields"])


@pytest.mark.parametrize("removed", ["type", "required"])
def test_an_altered_field_would_be_found(removed: str):
    altered = {"uuid": {"type": "string", "required": True, removed: None}}
    with pytest.raises(AssertionError):
        assert_grown(altered, {"uuid": {"type": "string", "required": True}})
