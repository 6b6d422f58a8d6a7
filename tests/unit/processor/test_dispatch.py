"""The table of handlers, and the answers that need none (protocol.md 1.8, 2.0)."""

import inspect

import pytest

from namekeeper.processor.dispatch import CHANGERS, GO_AWAY_SINCE, LISTERS, READERS, go_away, not_supported
from namekeeper.processor.handlers import handles
from namekeeper.wire.codes import RequestCode, ResponseCode
from namekeeper.wire.command import RemotingCommand
from tests.support.server.in_memory import InMemoryNameServer


def test_every_code_of_the_protocol_has_exactly_one_handler():
    handled = [*READERS, *LISTERS, *CHANGERS]
    assert sorted(handled) == sorted(set(RequestCode) - {RequestCode.NOTIFY_MIN_BROKER_ID_CHANGE})


def test_only_readers_are_answered_from_what_is_there():
    """322 and 904 refresh a registration, 101 and 319 don't change anything."""
    assert {104, 322, 904} <= set(CHANGERS)
    assert {101, 105, 219, 304, 319, 901} <= set(READERS)
    assert {106, 206, 224, 311, 312, 313} <= set(LISTERS)


def test_a_handler_is_of_the_kind_that_the_catalogue_states():
    """The table of handlers holds all kinds, so the type checker does not compare them."""
    for handlers, parameters, is_list in ((READERS, 2, False), (LISTERS, 2, True), (CHANGERS, 4, False)):
        for code, handler in handlers.items():
            assert len(inspect.signature(handler).parameters) == parameters, code
            returned = str(inspect.signature(handler).return_annotation)
            assert (inspect.isgeneratorfunction(handler) or "Generator" in returned) == is_list, code


def test_a_code_has_one_handler():
    with pytest.raises(ValueError, match="GET_KV_CONFIG has two handlers"):
        handles(RequestCode.GET_KV_CONFIG)(READERS[101])


def test_an_unknown_code_is_answered_as_java_does(server):
    assert server.ask(9999).remark == " request type 9999 not supported"
    assert server.ask(-1).code == 3
    assert not_supported(RemotingCommand(code=905)).code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED


@pytest.mark.parametrize(
    ("graceful", "version", "goes"),
    [("true", 476, True), ("true", 475, False), ("true", 373, False), ("false", 513, False)],
)
def test_only_those_who_understand_it_are_told_to_go_away(graceful, version, goes):
    state = InMemoryNameServer(enable_shutdown_gracefully=graceful).state
    answer = go_away(state, RemotingCommand(version=version))
    assert (answer is not None) is goes
    if answer is not None:
        assert (answer.code, answer.remark) == (1500, "please go away")
    assert GO_AWAY_SINCE == 475
