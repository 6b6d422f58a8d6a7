"""Answers by days, out of a warehouse of Parquet files, held against the rows of its tables."""

from namekeeper.pipeline.answers import daily
from tests.support.pipeline.file_warehouse import FileWarehouse

NASTY = "it's; DROP TABLE --"


def test_sums_over_days_are_those_of_the_rows(warehouse: FileWarehouse):
    rows = warehouse.rows("broker_availability_daily")
    days = sorted({row["day"] for row in rows})
    total = daily.availability(warehouse.tables).rows
    for name in ("up_ms", "down_ms", "unknown_ms", "outages"):
        assert sum(row[name] for row in total) == sum(row[name] for row in rows)
    states = warehouse.rows("broker_state_daily")
    retired = sum(row["valid_to"] - row["valid_from"] for row in states if row["state"] == "unregistered")
    assert sum(row["unregistered_ms"] for row in total) == retired > 0
    shares = [row["availability"] for row in total if row["availability"] is not None]
    assert shares == sorted(shares)
    assert shares[0] < 1 == shares[-1]
    of_one_day = daily.availability(warehouse.tables, (days[1], days[1])).rows
    assert sum(row["up_ms"] for row in of_one_day) == sum(
        row["up_ms"] for row in rows if row["day"] == days[1]
    )
    assert 0 < sum(row["up_ms"] for row in of_one_day) < sum(row["up_ms"] for row in total)


def test_a_limit_cuts_the_rows_and_not_the_total(warehouse: FileWarehouse):
    whole = daily.flaps(warehouse.tables)
    some = daily.flaps(warehouse.tables, limit=3)
    assert some.rows == whole.rows[:3]
    assert some.total == whole.total == len(whole.rows) > 3
    assert daily.flaps(warehouse.tables, limit=whole.total + 1) == whole


def test_topics_that_could_always_be_written_to_can_be_left_out(warehouse: FileWarehouse):
    every = daily.topic_availability(warehouse.tables).rows
    bad = daily.topic_availability(warehouse.tables, least_ms=1).rows
    assert bad == [row for row in every if row["unwritable_ms"] + row["no_route_ms"] > 0]
    assert 0 < len(bad) < len(every)


def test_differences_of_brokers_and_topics_are_in_one_answer(warehouse: FileWarehouse):
    rows = daily.drift(warehouse.tables).rows
    assert len(rows) == sum(len(warehouse.rows(name)) for name in ("view_drift_broker", "view_drift_topic"))
    about_a_broker = next(row for row in rows if row["topic"] is None)
    assert {view.rpartition(": ")[2] for view in about_a_broker["views"]} == {"there", "missing"}
    assert about_a_broker["views"] == sorted(about_a_broker["views"])


def test_changes_of_a_topic_tell_who_asked(warehouse: FileWarehouse):
    rows = daily.changes(warehouse.tables, topic=NASTY).rows
    assert {row["topic"] for row in rows} == {NASTY}
    assert {"delete_topic", "register_topic"} <= {row["cause"] for row in rows}
    assert [row["at_ts"] for row in rows] == sorted((row["at_ts"] for row in rows), reverse=True)


def test_unknown_topics_are_summed_up(warehouse: FileWarehouse):
    found = daily.unknown_topics(warehouse.tables).rows
    rows = warehouse.rows("unknown_topic_daily")
    assert sum(row["lookups"] for row in found) == sum(row["lookups"] for row in rows)
    assert [row["lookups"] for row in found] == sorted((row["lookups"] for row in found), reverse=True)
    first = found[0]
    of_it = [row for row in rows if (row["topic"], row["bucket"]) == (first["topic"], first["bucket"])]
    assert first["languages"] == sorted({row["language"] for row in of_it if row["language"] is not None})
    assert first["name_servers"] == len({row["namesrv"] for row in of_it})


def test_capacity_is_that_of_the_name_server_that_held_most(warehouse: FileWarehouse):
    rows = warehouse.rows("capacity_daily")
    found = daily.capacity(warehouse.tables).rows
    for each in found[:20]:
        of_it = [
            row for row in rows if all(row[key] == each[key] for key in ("day", "cluster", "broker_name"))
        ]
        assert each["topics"] == max(row["topics"] for row in of_it)
