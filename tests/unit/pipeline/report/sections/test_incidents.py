"""What the section on incidents says."""

import pytest

from tests.support.pipeline.report_rows import HOUR, START, made_section, report_rows

ROWS = report_rows()
AWAY = ROWS["incidents"][0]


def test_an_incident_is_said_in_words_of_people():
    found = made_section("incidents", ROWS)
    assert found.summary == ["2 incidents; what cost most comes first."]
    assert found.rows[0]["what"] == "b0 away"
    assert found.rows[0]["why"] == "silent for too long"
    assert found.rows[0]["clients"] == "GO, JAVA"
    cells = {column.name: column.show(found.rows[1].get(column.name), "UTC") for column in found.columns}
    assert (cells["to_ts"], cells["why"]) == ("still open", "wipeWritePerm, asked by 10.0.0.9:5000")


@pytest.mark.parametrize(
    ("row", "what"),
    [
        ({"brokers": 2, "broker_names": ["b0"]}, "b0 away (2 brokers)"),
        ({"kind": "mass_disconnect", "brokers": 5, "broker_names": ["b0", "b1", "b2", "b3"]},
         "5 brokers went together: b0, b1 and 2 more"),
        ({"kind": "broker_unregistered"}, "b0 unregistered"),
        ({"kind": "permission_wiped"}, "permission to write to b0 wiped"),
        ({"kind": "drift", "broker_names": ["b0", "b1"]}, "name servers disagreed about b0, b1"),
        ({"kind": "name_server_down", "subject": "ns-1"}, "name server ns-1 down"),
        ({"kind": "topic_unwritable", "topics": 1, "first_topic": "t"}, "t could not be written to"),
        ({"kind": "topic_unwritable", "topics": 3, "first_topic": "t"}, "t and 2 more could not be written to"),
    ],
)  # fmt: skip
def test_each_kind_has_its_words(row: dict[str, object], what: str):
    assert made_section("incidents", {**ROWS, "incidents": [{**AWAY, **row}]}).rows[0]["what"] == what


def test_the_total_is_that_of_all():
    found = made_section("incidents", ROWS, incidents=5_142)
    assert (len(found.rows), found.total) == (2, 5_142)


def test_without_incidents_it_says_so():
    assert made_section("incidents", {**ROWS, "incidents": []}).summary == [
        "Nothing went wrong, as far as is known."
    ]
    assert AWAY["to_ts"] - AWAY["from_ts"] == HOUR
    assert AWAY["from_ts"] >= START
