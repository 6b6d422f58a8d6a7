"""A broker and its name servers from start to close, without a network and without waiting."""

import asyncio
import logging
from functools import partial

import pytest

from namekeeper.broker import registrar as registrar_module
from namekeeper.broker.registrar import BrokerRegistrar
from namekeeper.broker.topic_config_manager import TopicConfigManager
from namekeeper.errors import (
    ConfigError,
    RemotingClosedError,
    RemotingConnectError,
    RemotingTimeoutError,
    ResponseError,
    TopicNameError,
)
from namekeeper.messages.registration import decode_register_broker_header
from namekeeper.model.topic import TopicConfig
from namekeeper.model.version import DataVersion
from namekeeper.nsaddr import AddressServer
from namekeeper.wire.command import RemotingCommand
from tests.support.system.loops import virtual_time
from tests.support.system.waiting import turns
from tests.unit.broker.parts import T1, T2, FakeClient, FakeTime, settings

T3 = TopicConfig("T3")
DEAD = RemotingConnectError("a:1", "refused")


def registrar(client, *topics, time=None, **more):
    time = time or FakeTime()
    return BrokerRegistrar(
        settings(";".join(client.namesrvs), **more),
        topics or (T1, T2),
        client=client,
        clock=time,
        sleep=time.sleep,
    )


async def test_it_registers_when_entered_and_unregisters_when_left():
    client = FakeClient()
    async with registrar(client) as broker:
        assert {addr: result.error for addr, result in broker.last_results.items()} == {
            "a:1": None,
            "b:1": None,
        }
        assert set(client["a:1"].topics) == {"T1", "T2"}
    assert client["a:1"].codes() == client["b:1"].codes() == [103, 104]
    assert client.is_closed


async def test_every_name_server_gets_the_same_bytes():
    client = FakeClient()
    async with registrar(client):
        (first,), (second,) = client["a:1"].requests, client["b:1"].requests
        assert (first.ext_fields, first.body) == (second.ext_fields, second.body)
        assert first.body is second.body


async def test_it_registers_after_10_seconds_and_then_each_period():
    client, time = FakeClient(), FakeTime()
    async with registrar(client, time=time):
        for seconds, registrations in ((9, 1), (2, 2), (28, 2), (2, 3), (60, 5)):
            await time.advance(seconds)
            assert len(client["a:1"].requests) == registrations


@pytest.mark.parametrize(("configured", "period"), [(1, 10), (30_000, 30), (3_600_000, 60)])
async def test_the_period_has_bounds(configured, period):
    client, time = FakeClient(), FakeTime()
    async with registrar(client, time=time, register_name_server_period_ms=configured):
        await time.advance(10)
        await time.advance(period - 1)
        assert len(client["a:1"].requests) == 2
        await time.advance(1)
        assert len(client["a:1"].requests) == 3


async def test_a_dead_name_server_takes_nothing_from_the_others():
    client = FakeClient()
    client["a:1"].error = DEAD
    async with registrar(client) as broker:
        assert broker.last_results["a:1"].error is DEAD
        assert set(client["b:1"].topics) == {"T1", "T2"}


async def test_one_that_never_answers_delays_no_later_registration_of_the_others():
    client, time = FakeClient(), FakeTime()
    async with registrar(client, time=time, register_name_server_period_ms=10_000) as broker:
        client["a:1"].silent = asyncio.Event()
        for count in (2, 3, 4, 5):
            await time.advance(10)
            assert len(client["b:1"].requests) == count
        assert len(client["a:1"].requests) == 2  # the others wait behind the one that isn't answered
        client["a:1"].silent.set()
        await turns(50)
        assert len(client["a:1"].requests) == 5
        assert broker.last_results["a:1"].error is None


async def test_a_registrar_that_was_closed_can_t_be_entered_again():
    client = FakeClient()
    async with registrar(client) as broker:
        pass
    asked = len(client["a:1"].requests)
    with pytest.raises(ConfigError, match="make a new one"):
        await broker.__aenter__()
    assert len(client["a:1"].requests) == asked


@virtual_time
async def test_a_name_server_that_stays_silent_is_a_time_out():
    client = FakeClient()
    client["a:1"].silent = asyncio.Event()
    broker = registrar(client, register_broker_timeout_ms=20, unregister_broker_timeout_ms=20)
    client.invoke = patient(client.invoke)
    async with broker:
        assert isinstance(broker.last_results["a:1"].error, RemotingTimeoutError)
        assert broker.last_results["b:1"].error is None


def patient(invoke):
    """Time-outs as our own client says them."""

    async def asked(addr, code, *args, timeout_ms=3000, **more):
        try:
            return await invoke(addr, code, *args, timeout_ms=timeout_ms, **more)
        except TimeoutError:
            raise RemotingTimeoutError(addr, "no answer") from None

    return asked


@pytest.mark.parametrize(
    "answer",
    [
        RemotingCommand(body=b"garbage"),
        RemotingCommand(body=b'{"table":{"T1":5.5}}{'),
        RemotingCommand(code=1, remark="register broker failed"),
    ],
)
async def test_a_name_server_that_talks_nonsense_is_an_error_with_its_name(answer):
    client = FakeClient()
    client["a:1"].answer = answer
    async with registrar(client) as broker:
        assert str(broker.last_results["a:1"].error).startswith("a:1: ")
        assert broker.last_results["b:1"].error is None


async def test_a_change_travels_alone_to_those_who_have_the_rest():
    client = FakeClient()
    async with registrar(client) as broker:
        results = await broker.update_topic_config(T3)
        assert [result.sent for result in results] == ["changed", "changed"]
        assert set(client["a:1"].topics) == {"T1", "T2", "T3"}
        assert b"T1" not in client["a:1"].requests[-1].body
        assert client["a:1"].data_version == broker.topics.data_version


async def test_a_change_brings_everything_to_one_that_came_back_empty():
    client = FakeClient()
    async with registrar(client) as broker:
        client["a:1"].forget()
        results = await broker.update_topic_config(T3)
        assert [result.sent for result in results] == ["all", "changed"]
        assert set(client["a:1"].topics) == {"T1", "T2", "T3"}


async def test_a_change_that_was_lost_travels_with_the_next():
    client = FakeClient()
    async with registrar(client) as broker:
        client["a:1"].error = DEAD
        await broker.update_topic_config(T3)
        client["a:1"].error = None
        results = await broker.update_topic_config(TopicConfig("T4"))
        assert results[0].sent == "all"
        assert set(client["a:1"].topics) == {"T1", "T2", "T3", "T4"}


async def test_changes_at_the_same_time_all_arrive_in_order():
    client = FakeClient()
    async with registrar(client) as broker:
        await asyncio.gather(*(broker.update_topic_config(TopicConfig(f"N{number}")) for number in range(10)))
        for namesrv in client.namesrvs.values():
            assert set(namesrv.topics) == {"T1", "T2", *(f"N{number}" for number in range(10))}
            assert namesrv.data_version == broker.topics.data_version
        assert {result.sent for result in broker.last_results.values()} == {"changed"}


async def test_a_forbidden_name_changes_nothing():
    client = FakeClient()
    async with registrar(client) as broker:
        before = broker.topics.data_version
        with pytest.raises(TopicNameError):
            await broker.update_topic_config(TopicConfig("no blanks"))
        assert (broker.topics.data_version, len(client["a:1"].requests)) == (before, 1)


async def test_a_deleted_topic_is_told_to_nobody_at_once():
    client = FakeClient()
    async with registrar(client) as broker:
        assert await broker.delete_topic_config("T2")
        assert not await broker.delete_topic_config("T2")
        assert len(client["a:1"].requests) == 1
        await broker.register_broker_all()
        assert b"T2" not in client["a:1"].requests[-1].body


async def test_without_force_it_asks_first_and_registers_where_something_is_missing():
    client, time = FakeClient(), FakeTime()
    async with registrar(client, time=time, force_register=False) as broker:
        client["a:1"].forget()
        assert await broker.need_register() == {"a:1": True, "b:1": False}
        await time.advance(10)
        assert client["a:1"].codes()[1:] == [322, 322, 103]
        assert client["b:1"].codes()[1:] == [322, 322]
        assert {addr: result.sent for addr, result in broker.last_results.items()} == {
            "a:1": "all",
            "b:1": "nothing",
        }


async def test_who_can_not_be_asked_is_in_the_answer():
    client = FakeClient()
    async with registrar(client) as broker:
        client["a:1"].error = DEAD
        assert await broker.need_register() == {"a:1": DEAD, "b:1": False}


async def test_a_slave_learns_who_its_master_is_and_when_there_is_none():
    client = FakeClient("a:1")
    client["a:1"].answer = RemotingCommand(ext_fields={"masterAddr": "m:1", "haServerAddr": "m:2"})
    async with registrar(client, broker_id=1) as broker:
        assert (broker.master_addr, broker.ha_server_addr) == ("m:1", "m:2")
        client["a:1"].answer = RemotingCommand()
        await broker.register_broker_all()
        assert (broker.master_addr, broker.ha_server_addr) == (None, "m:2")


async def test_a_master_has_no_master():
    client = FakeClient("a:1")
    client["a:1"].answer = RemotingCommand(ext_fields={"masterAddr": "m:1"})
    async with registrar(client) as broker:
        assert broker.master_addr is None


async def test_the_order_topic_table_marks_topics_and_the_next_registration_says_so():
    client, time = FakeClient("a:1"), FakeTime()
    client["a:1"].answer = RemotingCommand(body=b'{"table":{"T1":"broker-a:4","Elsewhere":"b:1"}}')
    async with registrar(client, time=time) as broker:
        assert [config.order for config in broker.topics.table] == [False, True]  # the changed one is last
        assert client["a:1"].data_version != broker.topics.data_version
        await time.advance(10)
        assert client["a:1"].data_version == broker.topics.data_version
        counter = broker.topics.data_version.counter
        await time.advance(30)
        assert broker.topics.data_version.counter == counter


async def test_the_order_topic_table_is_only_looked_at_where_java_does():
    client = FakeClient("a:1")
    async with registrar(client) as broker:
        client["a:1"].answer = RemotingCommand(body=b'{"table":{"T1":"broker-a:4"}}')
        await broker.register_broker_all(check_order_config=False)
        await broker.change_broker_permission(4)
        assert not any(config.order for config in broker.topics.table)


async def test_marks_that_can_not_be_stored_are_a_line_in_the_log(tmp_path, caplog):
    manager = await TopicConfigManager.open(tmp_path / "topics.json", (T1, T2))
    client = FakeClient("a:1")
    client["a:1"].answer = RemotingCommand(body=b'{"table":{"T1":"broker-a:4"}}')
    (tmp_path / "topics.json").unlink()
    (tmp_path / "topics.json").mkdir()
    with caplog.at_level(logging.WARNING, "namekeeper.broker"):
        async with BrokerRegistrar(settings("a:1"), manager, client=client):
            pass
    assert "could not be stored" in caplog.text


async def test_a_broker_that_may_not_be_written_says_so_of_each_topic_and_bumps_its_version():
    client = FakeClient("a:1")
    async with registrar(client) as broker:
        before = broker.topics.data_version
        await broker.change_broker_permission(4)
        assert {spec.perm for spec in client["a:1"].topics.values()} == {4}
        assert broker.topics.data_version.counter == before.counter + 1
        assert {config.perm for config in broker.topics.table} == {6}
        await broker.change_broker_permission(6)
        assert {spec.perm for spec in client["a:1"].topics.values()} == {6}


async def test_a_new_role_is_told_at_once():
    client = FakeClient("a:1")
    async with registrar(client, broker_id=1) as broker:
        await broker.change_role(0, state_version=7)
        header = decode_register_broker_header(client["a:1"].requests[-1].ext_fields)
        assert (header.broker_id, broker.settings.broker_id) == (0, 0)
        assert client["a:1"].data_version.state_version == 7
        with pytest.raises(ConfigError, match="broker_id"):
            await broker.change_role(-1)


async def test_one_way_wants_no_answer():
    client = FakeClient("a:1")
    async with registrar(client) as broker:
        (result,) = await broker.register_broker_all(oneway=True)
        assert result.sent == "oneway"
        assert client["a:1"].requests[-1].is_oneway


async def test_name_servers_come_and_go_while_it_runs():
    client = FakeClient("a:1", "b:1", "c:1")
    time = FakeTime()
    async with BrokerRegistrar(
        settings("a:1;b:1"), (T1, T2), client=client, clock=time, sleep=time.sleep
    ) as broker:
        await broker.update_name_server_address_list("b:1; c:1;c:1")
        assert broker.namesrv_addrs == ["b:1", "c:1"]
        assert [client[addr].codes() for addr in ("a:1", "b:1", "c:1")] == [[103, 104], [103], [103]]
        assert client.released == ["a:1"]
        for nothing in ("", " ; "):
            with pytest.raises(ConfigError, match="empty"):
                await broker.update_name_server_address_list(nothing)
        with pytest.raises(ConfigError, match="host:port"):
            await broker.update_name_server_address_list("b:1;nonsense")
        assert broker.namesrv_addrs == ["b:1", "c:1"]


@pytest.mark.parametrize("addr", ["", ";;", "nonsense", "a:99999"])
def test_without_a_usable_address_there_is_no_registrar(addr):
    with pytest.raises(ConfigError, match=r"host:port|port"):
        BrokerRegistrar(settings(addr), (T1, T2), client=FakeClient())


async def test_the_address_server_gives_the_list_and_later_another(monkeypatch):
    lists = [["a:1"], ["a:1"], ["a:1", "b:1"]]

    async def fetch(url):
        assert url == "http://list/"
        return lists.pop(0)

    monkeypatch.setattr(registrar_module, "AddressServer", partial(AddressServer, fetch=fetch))
    client, time = FakeClient(), FakeTime()
    broker = BrokerRegistrar(
        settings("", address_server="http://list/"), (T1, T2), client=client, clock=time, sleep=time.sleep
    )
    async with broker:
        assert broker.namesrv_addrs == ["a:1"]
        await time.advance(120)
        assert broker.namesrv_addrs == ["a:1"]
        await time.advance(120)
        assert (broker.namesrv_addrs, set(client["b:1"].topics)) == (["a:1", "b:1"], {"T1", "T2"})


async def test_without_an_address_server_s_list_a_given_one_will_do(monkeypatch):
    async def fetch(url):
        raise ConfigError("no list")

    monkeypatch.setattr(registrar_module, "AddressServer", partial(AddressServer, fetch=fetch))
    client, time = FakeClient("a:1"), FakeTime()
    async with BrokerRegistrar(
        settings("a:1", address_server="http://list/"), (T1, T2), client=client, clock=time, sleep=time.sleep
    ):
        assert client["a:1"].codes() == [103]
    alone = FakeClient()
    with pytest.raises(ConfigError, match="no list"):
        async with BrokerRegistrar(settings("", address_server="http://list/"), (T1, T2), client=alone):
            pass
    assert alone.is_closed


async def test_unregistering_goes_on_after_a_failure():
    client = FakeClient()
    broker = await registrar(client).__aenter__()
    client["a:1"].error = DEAD
    client["b:1"].planned.append(RemotingCommand(code=1, remark="no"))
    results = await broker.close()
    assert results["a:1"] is DEAD
    assert isinstance(results["b:1"], ResponseError)
    assert await broker.close() == {}
    assert client.is_closed


async def test_a_crash_tells_nobody():
    client = FakeClient("a:1")
    broker = await registrar(client).__aenter__()
    await broker.abort()
    assert client["a:1"].codes() == [103]
    assert client.is_closed
    await broker.close()


async def test_one_that_hangs_says_nothing_and_stays_connected():
    client, time = FakeClient("a:1"), FakeTime()
    async with registrar(client, time=time, enable_slave_acting_master=True) as broker:
        await broker.hang()
        await time.advance(100)
        assert (client["a:1"].codes(), client.is_closed) == ([103], False)


async def test_what_is_under_way_arrives_before_the_farewell():
    client = FakeClient("a:1")
    broker = await registrar(client).__aenter__()
    client["a:1"].silent = asyncio.Event()
    change = asyncio.create_task(broker.update_topic_config(T3))
    await turns()
    closing = asyncio.create_task(broker.close())
    await turns()
    client["a:1"].silent.set()
    await closing
    assert client["a:1"].codes()[-2:] == [103, 104]
    assert (await change)[0].error is None


@virtual_time
async def test_what_can_not_end_is_given_up_when_it_closes():
    client = FakeClient("a:1")
    broker = await registrar(client, unregister_broker_timeout_ms=20).__aenter__()
    client.invoke = patient(client.invoke)
    client["a:1"].silent = asyncio.Event()
    change = asyncio.create_task(broker.update_topic_config(T3))
    await turns()
    results = await broker.close()
    assert isinstance(results["a:1"], RemotingTimeoutError)
    assert isinstance((await change)[0].error, RemotingClosedError)


async def test_each_result_is_told_as_it_comes():
    client, seen = FakeClient(), []
    client["a:1"].error = DEAD
    time = FakeTime()
    async with BrokerRegistrar(
        settings(), (T1, T2), client=client, clock=time, sleep=time.sleep, on_result=seen.append
    ):
        assert {(result.namesrv_addr, result.error) for result in seen} == {("a:1", DEAD), ("b:1", None)}


async def test_acting_masters_send_heartbeats_each_second_and_say_how_long_to_wait():
    client, time = FakeClient("a:1"), FakeTime()
    async with registrar(client, time=time, enable_slave_acting_master=True):
        header = decode_register_broker_header(client["a:1"].requests[0].ext_fields)
        assert (header.enable_acting_master, header.heartbeat_timeout_ms) == (True, 10_000)
        await time.advance(3)
        assert client["a:1"].codes() == [103, 322, 322, 322]


async def test_others_send_none():
    client, time = FakeClient("a:1"), FakeTime()
    async with registrar(client, time=time):
        await time.advance(9)
        assert client["a:1"].codes() == [103]


async def test_versions_are_those_of_the_clock():
    client = FakeClient("a:1")
    time = FakeTime()
    async with registrar(client, time=time) as broker:
        assert broker.topics.data_version == DataVersion(1, 0, time.now().wall_ms)
