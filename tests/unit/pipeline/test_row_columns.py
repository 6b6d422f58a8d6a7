"""Queries have the fields of a row as the contract states them."""

import pytest

from namekeeper.pipeline.row_columns import row_columns, with_columns

_ENVELOPE = "namesrv boot seq place checkpoint change ts up_ms cause peer window_ms"


@pytest.mark.parametrize(
    ("placeholder", "names"),
    [
        ("{fields of kv}", "`namespace`, `key`, `value`, `gone`"),
        ("{fields of kv as f}", "f.`namespace`, f.`key`, f.`value`, f.`gone`"),
        ("{values of topic_row}", "`read_queue_nums`, `write_queue_nums`, `perm`, `topic_sys_flag`"),
        (
            "{nulls of topic_row}",
            "CAST(NULL AS int), CAST(NULL AS int), CAST(NULL AS int), CAST(NULL AS int)",
        ),
        ("{row of broker_group}", "`broker_name`, `cluster`, `zone`, `acting_master`, `members`"),
        ("{plain of broker_group}", "`broker_name`, `cluster`, `zone`, `acting_master`, `gone`"),
        ("{fields of filter_servers}", "`cluster`, `broker_addr`, `filter_servers`, `gone`"),
        ("{row of config as h}", "h.`property`, h.`value`"),
        (
            "{envelope}",
            ", ".join(f"`{name}`" for name in _ENVELOPE.split()),
        ),
        ("{table} {key}", "{table} {key}"),
    ],
)
def test_a_placeholder_is_the_names_of_columns(placeholder: str, names: str):
    assert with_columns(f"SELECT {placeholder} FROM t") == f"SELECT {names} FROM t"


def test_notes_about_a_record_are_no_part_of_its_row():
    assert with_columns("{fields of broker_live}") == (
        "`cluster`, `broker_addr`, `broker_name`, `broker_id`, `gen`, `ha_server_addr`, `timeout_ms`, `data_version`,"
        " `gone`, `reason`, `idle_ms`, `closed_by`"
    )


def test_a_row_has_a_key_values_and_what_says_how_it_ended():
    names = {
        part: [column.name for column in row_columns("broker_live", part)] for part in ("key", "value", "end")
    }
    assert names == {
        "key": ["cluster", "broker_addr"],
        "value": ["broker_name", "broker_id", "gen", "ha_server_addr", "timeout_ms", "data_version"],
        "end": ["reason", "idle_ms", "closed_by"],
    }
