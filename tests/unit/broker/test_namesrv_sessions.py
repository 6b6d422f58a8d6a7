"""The list of name servers, and results as they arrive."""

import pytest

from namekeeper.broker.namesrv_sessions import NamesrvSessions, split_addresses
from namekeeper.broker.registration import BrokerState, Registration
from namekeeper.broker.tasks import Tasks
from namekeeper.broker.topic_config_table import TopicConfigTable
from namekeeper.errors import ConfigError
from namekeeper.model.version import DataVersion
from namekeeper.wire.command import RemotingCommand
from tests.unit.broker.parts import T1, T2, FakeClient, settings

STATE = BrokerState(settings(), TopicConfigTable((T1, T2)), DataVersion(1))


def test_a_list_is_kept_as_it_is_written():
    assert split_addresses(" a:1;[::1]:2 ;;a:1; http://h:3") == ["a:1", "[::1]:2", "http://h:3"]
    assert split_addresses(" ; ") == []
    with pytest.raises(ConfigError, match="'b'"):
        split_addresses("a:1;b")


async def test_a_new_list_keeps_the_lanes_of_those_that_stay():
    sessions = NamesrvSessions(FakeClient(), Tasks(), None)
    sessions.replace(["a:1", "b:1"])
    added, gone = sessions.replace(["b:1", "c:1"])
    assert ([session.namesrv_addr for session in added], [session.namesrv_addr for session in gone]) == (
        ["c:1"],
        ["a:1"],
    )
    assert sessions.namesrv_addrs == ["b:1", "c:1"]


async def test_the_first_answer_is_used_and_only_that():
    client, used = FakeClient("a:1", "b:1", "c:1"), []
    client["a:1"].answer = RemotingCommand(code=1)
    client["b:1"].answer = client["c:1"].answer = RemotingCommand(ext_fields={"masterAddr": "m:1"})

    async def use(result):
        used.append(result.master_addr)

    sessions = NamesrvSessions(client, Tasks(), None)
    sessions.replace(client.namesrvs)
    results = await sessions.finish(sessions.start(Registration(STATE)), use)
    assert used == ["m:1"]
    assert [result.namesrv_addr for result in results] == ["a:1", "b:1", "c:1"]
    assert sessions.last_results()["a:1"].error is not None
    one_way = await sessions.finish(sessions.start(Registration(STATE, oneway=True)), use)
    assert {result.sent for result in one_way} == {"oneway"}
    assert used == ["m:1"]
