"""Requests that only read, and answers that are refused if they are not a name server's."""

import json

import pytest

from namekeeper.errors import RequestError
from namekeeper.journal.contract.encode import Stamp, encode_change
from namekeeper.journal.contract.lines import LINE_LIMIT
from namekeeper.messages.bodies import encode_topic_list
from namekeeper.model.now import Now
from namekeeper.model.route import TopicList
from namekeeper.observe import questions
from namekeeper.observe.questions import (
    NAME_LIMIT,
    PROPERTIES_BYTES,
    AskConfig,
    AskKv,
    AskMembers,
    AskRoute,
    AskTopics,
    TooLargeError,
    read_answer,
    request_of,
)
from namekeeper.route.events import Cause, Change, ConfigChanged
from namekeeper.wire.command import RemotingCommand

SENT, RECEIVED = Now(5, 5), Now(9, 9)
ALL = [AskMembers(), AskTopics(), AskRoute("t"), AskKv("n"), AskConfig()]


def read(question, body=b"", code=0, remark=None):
    return read_answer(question, RemotingCommand(code=code, body=body, remark=remark, flag=1), SENT, RECEIVED)


def test_only_read_requests_are_sent():
    assert [int(request_of(question)[0]) for question in ALL] == [106, 206, 105, 219, 319]


def test_a_request_names_what_it_is_about():
    assert request_of(AskRoute("t"))[1] == {"topic": "t", "acceptStandardJsonOnly": "true"}
    assert request_of(AskKv("n"))[1] == {"namespace": "n"}


def test_an_answer_has_its_instants_and_its_size():
    answer = read(AskTopics(), encode_topic_list(TopicList(["a", "b"])))
    assert (answer.value, answer.size, answer.sent, answer.received) == (["a", "b"], 2, SENT, RECEIVED)


def test_a_topic_without_route_and_a_namespace_without_entries_are_answers():
    assert read(AskRoute("t"), code=17).value is None
    assert read(AskKv("n"), code=22).value == {}


@pytest.mark.parametrize(
    "body", [b"", b"{}", b"null", b"[]", b"<html>", b"\0" * 40, b'{"brokerAddrTable":{}}']
)
@pytest.mark.parametrize("question", ALL[:4])
def test_an_answer_that_no_name_server_gives_is_refused(question, body):
    """An empty object of another program looked like a name server without brokers."""
    with pytest.raises(RequestError):
        read(question, body)


def test_no_properties_at_all_are_refused():
    with pytest.raises(RequestError):
        read(AskConfig(), b"")


@pytest.mark.parametrize("question", ALL)
def test_a_refusal_is_no_answer(question):
    with pytest.raises(RequestError, match="code 16: forbidden"):
        read(question, code=16, remark="forbidden")


def test_names_that_no_record_can_hold_are_refused():
    long = "x" * (NAME_LIMIT + 1)
    bodies = {
        AskTopics(): {"topicList": [long]},
        AskKv("n"): {"table": {long: "v"}},
        AskMembers(): {
            "brokerAddrTable": {"b": {"cluster": "c", "brokerName": "b", "brokerAddrs": {"0": long}}},
            "clusterAddrTable": {},
        },
        AskRoute("t"): {"brokerDatas": [], "queueDatas": [{"brokerName": long, "perm": 6}]},
    }
    for question, body in bodies.items():
        with pytest.raises(RequestError, match="1,025 characters"):
            read(question, json.dumps(body).encode())


MEMBERS = json.dumps({
    "brokerAddrTable": {"b": {"cluster": "c", "brokerName": "b", "brokerAddrs": {"0": "a:1", "1": "a:2"}}},
    "clusterAddrTable": {"c": ["b"]},
}).encode()  # fmt: skip


def test_the_size_of_the_brokers_is_that_of_their_members():
    assert read(AskMembers(), MEMBERS).size == 2


@pytest.mark.parametrize("value", [b"\x01" * (LINE_LIMIT // 6), b"\xff" * (LINE_LIMIT // 3)])
def test_properties_whose_line_no_reader_takes_are_refused(value):
    """They come as they are, and a line of the journal has six bytes for a control character."""
    with pytest.raises(RequestError, match="properties"):
        read(AskConfig(), b"k=" + value)


def test_the_largest_properties_fit_into_a_line():
    value = "x" * (PROPERTIES_BYTES - len('{"k":""}'))
    properties = read(AskConfig(), b"k=" + value.encode()).value
    change = Change(Cause.OBSERVED, None, (ConfigChanged(properties),))
    (line,) = encode_change(change, Stamp("n", 1, 1, 1, 1))
    assert len(line) < LINE_LIMIT


def test_brokers_beyond_the_limit_are_refused(monkeypatch):
    monkeypatch.setattr(questions, "BROKERS_LIMIT", 1)
    with pytest.raises(TooLargeError, match="2 brokers, more than 1"):
        read(AskMembers(), MEMBERS)


def test_clusters_and_their_names_have_a_limit_together(monkeypatch):
    """A cluster of 20,000 names is allowed, and each of a thousand clusters could have as many."""
    monkeypatch.setattr(questions, "BROKERS_LIMIT", 5)
    for clusters, is_refused in (
        ({"c": ["a", "b"], "d": ["a"]}, False),
        ({"c": ["a", "b"], "d": ["a", "b"]}, True),
    ):
        body = json.dumps({"brokerAddrTable": {}, "clusterAddrTable": clusters}).encode()
        if is_refused:
            with pytest.raises(TooLargeError, match="6 clusters and names in them, more than 5"):
                read(AskMembers(), body)
        else:
            assert read(AskMembers(), body).size == 3
