"""The parameters of a request of the page, as values."""

import pytest

from namekeeper.answers.times import shown
from namekeeper.console.query import change_query, instant_in, name_in, number_in, table_query
from namekeeper.errors import ConfigError

NOW = 1_700_000_000_000


def test_a_time_may_be_written_as_people_write_it():
    day, clock, *_ = shown(NOW - 1_000, None).split(" ")
    for text, expected in {
        f"{day} {clock}": NOW - 1_000, str(NOW - 5): NOW - 5, "10m": NOW - 600_000, "now": None, "": None,
    }.items():  # fmt: skip
        assert instant_in({"at": text}, "at", NOW) == expected
    assert instant_in({}, "at", NOW) is None


@pytest.mark.parametrize("text", ["soon", "-5", "9" * 21, "9" * 5_000])
def test_what_is_no_time_is_refused(text):
    with pytest.raises(ConfigError, match=r"is not a time|must be a number"):
        instant_in({"at": text}, "at", NOW)


def test_a_number_has_a_usual_value_and_a_limit():
    assert [number_in({"limit": text}, "limit", 7, 500) for text in ("", "0", "500")] == [7, 0, 500]
    assert number_in({}, "limit", 7, 500) == 7
    for text in ("501", "-1", "1.5", "x", "1" * 21):
        with pytest.raises(ConfigError, match="limit must be a number from 0 to 500"):
            number_in({"limit": text}, "limit", 7, 500)


def test_a_view_of_one_thing_needs_its_name():
    assert name_in({"name": "T"}) == "T"
    for query in ({}, {"name": ""}):
        with pytest.raises(ConfigError, match="say which: name="):
            name_in(query)


def test_a_table_has_a_window_and_filters():
    found = table_query({"text": "pay", "only": "differs", "offset": "100", "limit": "5"})
    assert (found.text, found.only, found.offset, found.limit) == ("pay", "differs", 100, 5)
    usual = table_query({})
    assert (usual.text, usual.only, usual.offset, usual.limit) == ("", "", 0, 100)
    with pytest.raises(ConfigError, match="offset must be a number"):
        table_query({"offset": "-1"})


def test_a_list_of_changes_has_a_window_and_filters():
    found = change_query({"topic": "T", "cause": "expired", "from": "10m", "to": str(NOW)}, NOW)
    assert (found.topic, found.cause, found.peer) == ("T", "expired", "")
    assert (found.begin_at, found.end_at, found.limit) == (NOW - 600_000, NOW, 100)
    with pytest.raises(ConfigError, match="is not a time"):
        change_query({"to": "soon"}, NOW)
