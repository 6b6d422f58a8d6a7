"""The fact tables lock_warehouse what the contract has, and every column says what it means."""

from namekeeper.pipeline.contract import KINDS
from namekeeper.pipeline.schema import ENVELOPE, FACTS, INCOMPLETE, KINDS_OF, LOAD_ID, QUARANTINE
from namekeeper.pipeline.table import names_in

EXPLODED = {"rows": "topic_row", "lookups": "lookup_hour", "properties": "config"}

NO_COLUMNS = {"checksums", "owner_host", "owner_user", "owner_certificate"}
"""Members that say how lines are written, and who owns a broker: only a restart of the server reads these."""


def test_every_kind_has_a_table():
    assert {kind for kinds in KINDS_OF.values() for kind in kinds} == set(KINDS)


def test_every_member_of_a_kind_is_a_column_of_its_table():
    for table, kinds in KINDS_OF.items():
        members = {member for kind in kinds for member in KINDS[kind]}
        members -= {*EXPLODED, *NO_COLUMNS}
        assert members - set(names_in(FACTS[table])) == set(), table


def test_columns_are_described_and_named_once():
    for table in FACTS.values():
        assert len(set(names_in(table))) == len(table.columns), table.name
        assert [column for column in table.columns if not (column.type and column.meaning)] == [], table.name
        assert table.meaning
        assert table.grain
        assert set(table.key) <= set(names_in(table)), table.name


def test_tables_of_records_begin_with_the_envelope_and_all_end_with_the_load():
    for table in FACTS.values():
        assert table.columns[-1] == LOAD_ID
        if table not in {INCOMPLETE, QUARANTINE}:
            assert table.columns[: len(ENVELOPE)] == ENVELOPE
