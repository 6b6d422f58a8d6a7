"""One name server's registrations, one at a time; what a broker as a whole does is in test_registrar."""

import asyncio
import logging

import pytest

from namekeeper.broker.namesrv_session import NamesrvSession
from namekeeper.broker.registrar import BrokerRegistrar
from namekeeper.broker.registration import BrokerState, Registration
from namekeeper.broker.topic_config_table import TopicConfigTable
from namekeeper.errors import RemotingConnectError, RemotingError, RemotingTimeoutError
from namekeeper.model.version import DataVersion
from namekeeper.wire.command import RemotingCommand
from tests.support.system.waiting import turns
from tests.unit.broker.parts import T1, T2, FakeClient, FakeTime, settings

V1, V2 = DataVersion(1), DataVersion(2)


def state(*topics, version=V1, **more):
    return BrokerState(settings(**more), TopicConfigTable(topics or (T1, T2)), version)


@pytest.fixture
def client():
    return FakeClient("a:1")


@pytest.fixture
def namesrv(client):
    return client["a:1"]


@pytest.fixture
def session(client):
    return NamesrvSession("a:1", client)


@pytest.mark.parametrize("forgets", [False, True])
async def test_a_single_topic_is_announced_by_a_registration_without_topics(session, namesrv, forgets):
    assert (await session.register(Registration(state(T1)), 1000)).error is None
    assert namesrv.codes() == [103, 103]
    if forgets:  # then the registration is refused, and both are sent
        namesrv.forget()
    assert (await session.register(Registration(state(T1)), 1000)).error is None
    assert namesrv.codes()[2:] == [103] * (3 if forgets else 1)
    assert set(namesrv.topics) == {"T1"}


async def test_one_that_refuses_a_change_although_it_has_the_rest_gets_everything(session, namesrv):
    await session.register(Registration(state()), 1000)
    namesrv.planned.extend([RemotingCommand(ext_fields={"changed": "false"}), RemotingCommand(code=1)])
    result = await session.register(Registration(state(version=V2), changed=[T2], before=V1), 1000)
    assert (result.sent, result.error) == ("all", None)


@pytest.mark.parametrize(
    ("answer", "needs"),
    [
        (RemotingCommand(ext_fields={"changed": "true"}), True),
        (RemotingCommand(ext_fields={"changed": "false"}), False),
        (RemotingCommand(), True),
        (RemotingCommand(code=1, remark="no"), False),
        (RemotingCommand(ext_fields={"changed": "false"}, body=b'{"counter":1}'), False),
        (RemotingCommand(ext_fields={"changed": "false"}, body=b'{"counter":2}'), True),
    ],
)
async def test_whether_it_lacks_a_version_is_judged_as_java_does(session, namesrv, answer, needs):
    namesrv.planned.append(answer)
    assert await session.needs(state(), V1, 1000) is needs


async def test_an_answer_that_is_no_version_is_an_error(session, namesrv):
    namesrv.planned.append(RemotingCommand(ext_fields={"changed": "false"}, body=b"garbage"))
    with pytest.raises(RemotingError, match="a:1: its answer can't be read"):
        await session.needs(state(), V1, 1000)


async def test_waiting_for_the_one_before_has_an_end(session, namesrv):
    namesrv.silent = asyncio.Event()
    first = asyncio.create_task(session.register(Registration(state()), 1_000_000))
    await turns()
    second = await session.register(Registration(state()), 10)
    assert isinstance(second.error, RemotingTimeoutError)
    assert "earlier registration" in str(second.error)
    namesrv.silent.set()
    assert (await first).error is None
    assert len(namesrv.requests) == 1


async def test_too_many_bytes_are_an_error_of_this_registration_only(session, monkeypatch):
    monkeypatch.setattr("namekeeper.broker.registration.DEFAULT_MAX_FRAME_BYTES", 100)
    result = await session.register(Registration(state()), 1000)
    assert "compressed_register" in str(result.error)


async def test_the_log_has_a_line_when_something_changes(session, namesrv, caplog):
    with caplog.at_level(logging.INFO, "namekeeper.broker"):
        for error in (
            None,
            None,
            RemotingConnectError("a:1", "refused"),
            RemotingConnectError("a:1", "refused"),
            None,
        ):
            namesrv.error = error
            await session.register(Registration(state()), 1000)
    assert [record.levelname for record in caplog.records if "Registering" not in record.getMessage()] == [
        "INFO",
        "WARNING",
        "INFO",
    ]
    assert session.last_result is not None
    assert session.last_result.error is None


@pytest.mark.parametrize(
    ("version", "line"),
    [
        (373, "register broker[0]to name server a:1 OK"),
        (513, "Registering current broker to name server completed. TargetHost=a:1"),
    ],
)
async def test_each_registration_is_logged_as_java_s_broker_does(caplog, version, line):
    caplog.set_level("INFO")
    time = FakeTime()
    registrar = BrokerRegistrar(
        settings("a:1", version=version), [T1, T2], client=FakeClient(), clock=time, sleep=time.sleep
    )
    async with registrar:
        await registrar.register_broker_all()
    assert [record.getMessage() for record in caplog.records].count(line) == 2
