"""What the section on incidents says."""

import pytest

from namekeeper.pipeline.report.plots import Kind
from namekeeper.pipeline.report.table import columns_with_text
from namekeeper.pipeline.report.values import Row, Severity
from tests.support.pipeline.report_rows import HOUR, START, drawn_plot, made_section, report_rows

ROWS = report_rows()
AWAY = ROWS["incidents"][0]


def test_an_incident_is_said_in_words_of_people():
    found = made_section("incidents", ROWS)
    assert found.summary == ["2 incidents; what cost most comes first."]
    assert found.rows[0]["what"] == "b0 away"
    assert found.rows[0]["why"] == "silent for too long"
    assert found.rows[0]["clients"] == "GO, JAVA"
    cells = {column.name: column.show(found.rows[1].get(column.name), "UTC") for column in found.columns}
    assert (cells["until_ts"], cells["why"]) == (
        "2026-03-01 01:00:00Z",
        "wipeWritePerm, asked by 10.0.0.9:5000",
    )
    assert cells["lasted"] == "1 h so far"


@pytest.mark.parametrize(
    ("row", "what"),
    [
        ({"brokers": 2, "broker_names": ["b0"]}, "b0 away (2 brokers)"),
        ({"brokers": 2, "broker_names": ["b0", "b1"]}, "b0, b1 away"),
        ({"kind": "mass_disconnect", "brokers": 5, "broker_names": ["b0", "b1", "b2", "b3"]},
         "5 brokers of 4 names went together: b0, b1 and 2 more"),
        ({"kind": "mass_disconnect", "brokers": 2, "broker_names": ["b0", "b1"]},
         "2 brokers went together: b0, b1"),
        ({"kind": "broker_unregistered"}, "b0 unregistered"),
        ({"kind": "permission_wiped"}, "permission to write to b0 wiped"),
        ({"kind": "drift", "broker_names": ["b0", "b1"]}, "name servers disagreed about b0, b1"),
        ({"kind": "drift", "name_servers": ["ns-2"]}, "name servers disagreed about b0: ns-2 differed"),
        ({"kind": "topic_deleted", "topics": 1, "first_topic": "t"},
         "t deleted, and clients went on asking for it"),
        ({"kind": "topic_deleted", "topics": 3, "first_topic": "t"},
         "t and 2 more deleted, and clients went on asking for them"),
        ({"kind": "name_server_down", "subject": "ns-1"}, "name server ns-1 down"),
        ({"kind": "topic_unwritable", "topics": 1, "first_topic": "t"}, "t could not be written to"),
        ({"kind": "topic_unwritable", "topics": 3, "first_topic": "t"}, "t and 2 more could not be written to"),
    ],
)  # fmt: skip
def test_each_kind_has_its_words(row: dict[str, object], what: str):
    assert made_section("incidents", {**ROWS, "incidents": [{**AWAY, **row}]}).rows[0]["what"] == what


@pytest.mark.parametrize(
    ("is_forgotten", "lasted"),
    [(True, "1 h, then not expected any more"), (False, "1 h"), (None, "1 h")],
)
def test_a_broker_that_was_forgotten_did_not_come_back(is_forgotten: bool | None, lasted: str):
    """A row of an earlier version does not say."""
    row = {**AWAY, "is_forgotten": is_forgotten}
    assert made_section("incidents", {**ROWS, "incidents": [row]}).rows[0]["lasted"] == lasted


def test_a_connection_that_closed_was_asked_for_by_nobody():
    closed = {**AWAY, "cause": "channel_closed", "peer": "10.0.0.1:5000"}
    assert made_section("incidents", {**ROWS, "incidents": [closed]}).rows[0]["why"] == "connection closed"


@pytest.mark.parametrize(
    ("closed_by", "why"),
    [
        ("peer", "connection closed by the broker"),
        ("idle", "connection closed by the name server, because it was idle"),
        ("a_newer_one", "connection a_newer_one"),
    ],
)
def test_a_connection_that_closed_says_who_closed_it(closed_by: str, why: str):
    closed = {**AWAY, "cause": "channel_closed", "closed_by": closed_by}
    assert made_section("incidents", {**ROWS, "incidents": [closed]}).rows[0]["why"] == why


def test_the_total_is_that_of_all():
    found = made_section("incidents", ROWS, incidents=5_142)
    assert (len(found.rows), found.total) == (2, 5_142)


def test_without_incidents_it_says_so():
    assert made_section("incidents", {**ROWS, "incidents": []}).summary == [
        "Nothing went wrong, as far as is known."
    ]
    assert AWAY["to_ts"] - AWAY["from_ts"] == HOUR
    assert AWAY["from_ts"] >= START


def test_incidents_that_are_alike_are_one_row_with_what_they_cost_in_all():
    row = {**AWAY, "topics": 1, "lookups": 0, "lasted_ms": 1_000}
    alike = [{**row, "from_ts": START + hour * HOUR} for hour in (5, 2, 9)]
    other = {**row, "broker_names": ["b1"], "topics": 2, "topic_ms": 10 * HOUR}
    found = made_section("incidents", {**ROWS, "incidents": [other, *alike]}, incidents=104)
    assert [each["what"] for each in found.rows] == ["b1 away", "b0 away, 3 times"]
    assert (found.rows[1]["from_ts"], found.rows[1]["until_ts"]) == (
        START + 2 * HOUR,
        START + 9 * HOUR + 1_000,
    )
    assert (found.rows[1]["lasted_ms"], found.rows[1]["number"]) == (3_000, 2)
    assert found.summary == [
        "104 incidents; what cost most comes first.",
        "Incidents that are alike are one row.",
    ]
    assert found.total == 102, "two rows, and a hundred that were not asked for"


def test_what_cost_most_in_all_comes_first():
    often = [{**AWAY, "lookups": 5, "from_ts": START + hour * HOUR} for hour in range(3)]
    once = {**AWAY, "broker_names": ["b1"], "lookups": 9}
    found = made_section("incidents", {**ROWS, "incidents": [once, *often]})
    assert [row["lookups"] for row in found.rows] == [15, 9]


@pytest.mark.parametrize(
    ("less", "more"),
    [
        ({"topics": 600, "topic_ms": 3_600}, {"topics": 1, "topic_ms": HOUR}),
        ({"lookups": 3, "kind": "topic_deleted"}, {"topics": 40, "topic_ms": HOUR}),
        ({"topics": 5, "topic_ms": 30 * 60_000}, {"lookups": 31}),
        ({"topics": 1, "topic_ms": None}, {"topics": 2, "topic_ms": None}),
        (
            {"kind": "broker_unregistered", "topics": 9, "topic_ms": 9 * HOUR},
            {"topics": 1, "topic_ms": 5_000},
        ),
        ({"lasted_ms": 6}, {"kind": "name_server_down", "brokers": 0, "lasted_ms": 600_000}),
        ({"brokers": 1}, {"brokers": 3, "broker_names": ["b0", "b1"], "kind": "mass_disconnect"}),
    ],
)
def test_cost_is_the_time_of_lost_topics_and_the_look_ups_in_vain(less: Row, more: Row):
    """Neither the number of topics that were lost for an instant nor that of brokers that nobody missed."""
    nothing = {**AWAY, "topics": 0, "lookups": 0, "topic_ms": 0}
    cheap, dear = {**nothing, **less}, {**nothing, "broker_names": ["b9"], **more}
    found = made_section("incidents", {**ROWS, "incidents": [cheap, dear]})
    assert [row["kind"] for row in found.rows] == [dear["kind"], cheap["kind"]]
    assert [row["broker_names"] for row in found.rows] == [dear["broker_names"], cheap["broker_names"]]


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ({"kind": "topic_unwritable", "cause": "register_broker", "peer": "10.0.0.1:5"}, "changed by its broker b0"),
        ({"kind": "topic_unwritable", "cause": None}, ""),
        ({"kind": "topic_deleted", "cause": "delete_topic", "peer": "10.0.0.9:5"},
         "topic deleted, asked by 10.0.0.9:5"),
        ({"kind": "topic_deleted", "cause": "register_broker", "peer": "10.0.0.1:5"}, "changed by its broker"),
    ],
)  # fmt: skip
def test_why_a_topic_was_lost_names_the_request_and_who_asked(row: Row, why: str):
    assert made_section("incidents", {**ROWS, "incidents": [{**AWAY, **row}]}).rows[0]["why"] == why


def test_the_plot_has_a_lane_for_each_row_and_a_bar_for_each_time():
    away, wiped = drawn_plot("incidents", ROWS).lanes
    assert (away.label, len(away.bars), away.bars[0].kind) == ("1. b0 away", 1, Kind.DOWN)
    assert wiped.label.startswith("2. permission to write to")
    drift = {**AWAY, "kind": "drift"}
    twice = [drift, {**drift, "from_ts": START + 9 * HOUR}]
    (lane,) = drawn_plot("incidents", {**ROWS, "incidents": twice}).lanes
    assert [(bar.kind, bar.at) for bar in lane.bars] == [(Kind.NOTICE, 0), (Kind.NOTICE, 30)]


def test_names_as_long_as_they_may_be_are_shown_whole_beside_the_plot():
    names = [f"{name}-{'x' * 40}" for name in ("b0", "b1", "b2", "b3")]
    together = {**AWAY, "kind": "mass_disconnect", "brokers": 8, "broker_names": names}
    topic = {**AWAY, "kind": "topic_unwritable", "first_topic": "t" * 127, "topics": 1}
    for row, words in (
        (together, f"1. 8 brokers of 4 names went together: {names[0]}, {names[1]} and 2 more"),
        (topic, f"1. {'t' * 127} could not be written to"),
    ):
        (lane,) = drawn_plot("incidents", {**ROWS, "incidents": [row]}).lanes
        assert lane.label == words


def test_the_headline_says_how_many_are_not_over():
    assert made_section("incidents", ROWS).headline == (Severity.BAD, "2 incidents, 1 not over")
    mild = {**AWAY, "kind": "broker_unregistered"}
    assert made_section("incidents", {**ROWS, "incidents": [mild]}).headline == (
        Severity.NOTICE,
        "1 incident",
    )
    assert made_section("incidents", {**ROWS, "incidents": []}).headline == (Severity.GOOD, "No incidents")


def test_an_incident_shows_by_how_much_it_may_have_begun_earlier():
    first, second = ROWS["incidents"]
    exact = made_section("incidents", ROWS)
    titles = [column.title for column in columns_with_text(exact.columns, exact.rows, "UTC")]
    assert "or earlier by" not in titles
    earlier = {
        **first,
        "from_ts": first["from_ts"] - HOUR,
        "to_ts": first["to_ts"] - HOUR,
        "from_window_ms": 4_000,
    }
    rows = [{**first, "from_window_ms": 2_000, "to_window_ms": 1_000}, earlier, second]
    found = made_section("incidents", {**ROWS, "incidents": rows})
    assert [(row["from_ts"], row["from_window_ms"], row["to_window_ms"]) for row in found.rows] == [
        (earlier["from_ts"], 4_000, 1_000),
        (second["from_ts"], None, None),
    ]
