"""Answers as text and as JSON."""

import json

import pytest

from namekeeper.answers.render import (
    RouteAt,
    explain_knowledge,
    explanation_lines,
    explanations_json,
    knows_up_to_text,
    printable,
    routes_json,
)
from namekeeper.answers.times import zone_of
from namekeeper.answers.verdict import Explanation, Fact, Verdict
from namekeeper.journal.reading.coverage import Knowledge
from namekeeper.model.broker import BrokerData
from namekeeper.model.route import TopicRouteData
from namekeeper.model.topic import QueueData

AT = 1_769_829_120_000
BERLIN = zone_of("Europe/Berlin")
FOUND = Explanation(
    "ns", "T", AT, AT + 250, Verdict.DELETED, "the topic was deleted", [Fact("deleted", AT - 1), Fact("by \x1b[2Jp")]
)  # fmt: skip


def test_every_time_is_reported_in_both_zones_and_no_name_reaches_the_terminal():
    assert list(explanation_lines(FOUND, BERLIN)) == [
        "ns at 2026-01-31 04:12:00.000 CET (03:12:00.000Z): the topic was deleted",
        "  - deleted  2026-01-31 04:11:59.999 CET (03:11:59.999Z)",
        "  - by \\x1b[2Jp",
        "  (knows up to 2026-01-31 04:12:00.250 CET (03:12:00.250Z))",
    ]


def test_times_in_json_are_numbers_and_text():
    (value,) = json.loads(explanations_json([FOUND]))
    assert (value["verdict"], value["at"], value["at_iso"]) == ("deleted", AT, "2026-01-31T03:12:00.000Z")
    assert value["knows_up_to_iso"] == "2026-01-31T03:12:00.250Z"
    assert value["facts"][0] == {"text": "deleted", "at": AT - 1, "at_iso": "2026-01-31T03:11:59.999Z"}
    assert value["facts"][1] == {"text": "by \x1b[2Jp", "at": None}


def test_a_route_in_json_is_what_request_105_answers():
    queues = QueueData(broker_name="b", perm=6, read_queue_nums=8, topic_sys_flag=0, write_queue_nums=8)
    route = TopicRouteData([BrokerData("c", "b", {0: "a:1"})], [queues])
    known = RouteAt("ns", AT, Knowledge.KNOWN, AT, route)
    unknown = RouteAt("ns2", AT, Knowledge.NOT_YET, None, None)
    first, second = json.loads(routes_json([known, unknown]))
    assert first["route"] == {
        "brokerDatas": [
            {"brokerAddrs": {"0": "a:1"}, "brokerName": "b", "cluster": "c", "enableActingMaster": False}
        ],
        "filterServerTable": {},
        "queueDatas": [
            {"brokerName": "b", "perm": 6, "readQueueNums": 8, "topicSysFlag": 0, "writeQueueNums": 8}
        ],
    }
    assert (first["knowledge"], first["at_iso"]) == ("known", "2026-01-31T03:12:00.000Z")
    assert (second["knowledge"], second["knows_up_to"], second["route"]) == ("not known yet", None, None)


def test_who_knows_nothing_says_so():
    assert knows_up_to_text(None, BERLIN) == "knows nothing yet"


@pytest.mark.parametrize("knowledge", Knowledge)
def test_every_kind_of_knowledge_has_words(knowledge):
    assert explain_knowledge(knowledge)


@pytest.mark.parametrize(
    ("text", "plain"), [("Löwe 🦁", "Löwe 🦁"), ("a\nb\x00", "a\\nb\\x00"), ("\x9b\u202e", "\\x9b\\u202e")]
)
def test_what_could_do_something_to_a_terminal_is_written_out(text, plain):
    assert printable(text) == plain
