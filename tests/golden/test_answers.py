"""The golden journals and the golden warehouse are answered as they were, by every command that reads them."""

import json
from collections.abc import Iterator, Mapping
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest

from namekeeper.journal.contract.kinds import KINDS
from tests.golden.questions import ANSWERS, EXPECTED, JOURNALS, QUESTIONS, answers_of, stored_answers
from tests.golden.written_journals import NAME_SERVERS, write_journals
from tests.unit.journal.disk_parts import records_in

OF_ALL_MEMBERS = frozenset({"bytes", "crc"})
"""Sizes of segments, and checksums: they cover members that are not stored, too."""
MANY = [
    f"{source}/{name}.txt"
    for source in ("journals", "warehouse")
    for name in ("why", "why_json", "route_at", "history", "history_json")
]
"""Files with so many answers that `make test` asks each third question."""
BLOCK_BEGIN = bytes((0x1F, 0x8B, 8, 4, 0, 0, 0, 0, 0, 255))


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.long if name in MANY else ()) for name in ANSWERS]
)
def test_the_answers_are_those_that_are_stored(name: str):
    assert ANSWERS[name]() == (EXPECTED / name).read_text()


@pytest.mark.parametrize("name", MANY)
def test_each_third_answer_is_the_stored_one(name: str):
    """The questions go through ten topics or four forms, so that each third one meets all of them."""
    commands, folder = QUESTIONS[name]
    stored = stored_answers(name)
    assert len(stored) == len(commands)
    assert answers_of(commands[::3], folder) == "\n".join(stored[::3])


def test_no_answer_is_stored_without_a_question():
    assert {str(file.relative_to(EXPECTED)) for file in EXPECTED.rglob("*.*")} == set(ANSWERS)


def every_record() -> Iterator[dict[str, Any]]:
    for namesrv in NAME_SERVERS:
        yield from records_in(JOURNALS / namesrv)


def test_every_kind_of_record_occurs():
    assert {str(kind.__struct_config__.tag) for kind in KINDS} <= {
        record["kind"] for record in every_record()
    }


def test_the_causes_and_reasons_of_a_name_server_occur():
    found = {record.get(name, "") for record in every_record() for name in ("cause", "reason")}
    assert found >= {
        "register_broker", "unregister_broker", "expired", "channel_closed", "replaced", "stale_registration",
        "wipe_write_perm", "add_write_perm", "delete_topic", "register_topic", "put_kv_config", "delete_kv_config",
        "update_namesrv_config", "restored", "start", "interval", "recovery", "age",
    }  # fmt: skip


def test_segments_are_sealed_open_torn_and_made_of_several_blocks():
    files = [file for namesrv in NAME_SERVERS for file in (JOURNALS / namesrv).rglob("*.jsonl.*")]
    assert {file.suffix for file in files} == {".gz", ".open", ".torn"}
    assert max(file.read_bytes().count(BLOCK_BEGIN) for file in files) > 2


@pytest.fixture(scope="module")
def written_today(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the journals that today's code writes."""
    folder = tmp_path_factory.mktemp("journals")
    write_journals(folder)
    return folder


def test_todays_code_writes_the_same_records(written_today: Path):
    """Records may have more members than were stored; they may not lack one."""
    for namesrv in NAME_SERVERS:
        stored, written = JOURNALS / namesrv, written_today / namesrv
        names = sorted(str(file.relative_to(stored)) for file in stored.rglob("*"))
        assert sorted(str(file.relative_to(written)) for file in written.rglob("*")) == names
        for old, new in zip_longest(records_in(stored), records_in(written), fillvalue={}):
            assert shared(new, old) == shared(old, old)


def shared(new: Mapping[str, Any], old: Mapping[str, Any]) -> dict[str, Any]:
    """The members of a record, and its properties, that the old one has, too."""
    found = {name: value for name, value in new.items() if name in old and name not in OF_ALL_MEMBERS}
    if "properties" in old:
        found["properties"] = {
            name: value for name, value in new["properties"].items() if name in old["properties"]
        }
    return found


def test_what_is_written_beside_the_records_is_the_same(written_today: Path):
    for namesrv in NAME_SERVERS:
        for name in ("identity.json", ".heard", ".missing"):
            old, new = (
                json.loads((folder / namesrv / name).read_text()) for folder in (JOURNALS, written_today)
            )
            assert shared(new, old) == shared(old, old)
