"""The fact tables lock_warehouse what the contract has, and every column says what it means."""

from namekeeper.pipeline.contract import KINDS, members_of_rows
from namekeeper.pipeline.schema import ENVELOPE, FACTS, INCOMPLETE, KINDS_OF, LOAD_ID, QUARANTINE
from namekeeper.pipeline.table import names_in


def test_every_kind_has_a_table():
    assert {kind for kinds in KINDS_OF.values() for kind in kinds} == set(KINDS)


def test_every_member_of_a_kind_is_a_column_of_its_table_or_says_that_it_has_none():
    without = set()
    for table, kinds in KINDS_OF.items():
        members = {name: member for kind in kinds for name, member in members_of_rows(kind)}
        without |= set(members) - set(names_in(FACTS[table]))
    # How lines are written, who owns a broker, and what server_started says as well.
    assert without == {"checksums", "cluster_label", "owner_host", "owner_user", "owner_certificate"}


def test_where_kinds_share_a_table_a_column_names_its_kind():
    meaning = {column.name: column.meaning for column in FACTS["server"].columns}
    assert meaning["connections"] == "server_alive: open connections."


def test_existing_tables_have_their_columns():
    described = {
        name: [f"{column.name} {column.type}" for column in table.columns] for name, table in FACTS.items()
    }
    assert described["topic_row"] == [
        "namesrv string", "boot bigint", "seq bigint", "place bigint", "checkpoint bigint", "change bigint",
        "ts bigint", "up_ms bigint", "cause string", "peer string",
        "window_ms bigint", "broker_name string", "topic string",
        "read_queue_nums int", "write_queue_nums int", "perm int", "topic_sys_flag int", "gone boolean",
        "load_id bigint",
    ]  # fmt: skip
    assert FACTS["topic_row"].key == ("namesrv", "boot", "seq", "topic")
    assert FACTS["config"].key == ("namesrv", "boot", "seq", "property")


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
