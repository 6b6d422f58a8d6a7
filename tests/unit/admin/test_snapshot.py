import pytest

from namekeeper.admin.operations import Namesrv
from namekeeper.admin.snapshot import NamesrvSnapshot, SnapshotPart, SnapshotScope, take_snapshot
from namekeeper.errors import RemotingConnectError, RemotingTimeoutError, ResponseError
from namekeeper.model.version import DataVersion
from tests.unit.admin.fake_namesrv import DEAD, A, FakeNamesrv, FakeSender, typical

USUAL = SnapshotScope()


@pytest.fixture
def server() -> FakeNamesrv:
    return typical()


async def snapshot_of(
    server: FakeNamesrv, scope: SnapshotScope = USUAL, progress=lambda *_: None
) -> NamesrvSnapshot:
    return await take_snapshot(Namesrv(A, FakeSender({A: server})), scope, progress)


async def test_a_snapshot_holds_what_the_server_holds(server: FakeNamesrv) -> None:
    snapshot = await snapshot_of(server)

    assert snapshot.clusters == {"DefaultCluster": {"broker-a", "broker-b"}, "Other": {"broker-c"}}
    assert snapshot.brokers == server.brokers
    assert set(snapshot.routes) == set(server.topics)
    assert snapshot.cluster_topics["Other"] == {"TopicTest", "OtherT"}
    assert snapshot.member_groups[("DefaultCluster", "broker-a")] == server.brokers["broker-a"].broker_addrs
    assert snapshot.kv == {"ORDER_TOPIC_CONFIG": {"TopicTest": "broker-a:4;broker-b:4"}}
    assert (snapshot.data_versions, snapshot.config, snapshot.missing) == ({}, {}, {})


async def test_more_is_asked_for_on_request(server: FakeNamesrv) -> None:
    snapshot = await snapshot_of(
        server, SnapshotScope(namespaces=("nope",), with_config=True, with_data_versions=True)
    )

    assert snapshot.kv == {"nope": None}
    assert snapshot.config == server.config
    assert snapshot.data_versions == {
        ("DefaultCluster", "127.0.0.1:10911"): DataVersion(counter=3, timestamp=1_700_000_000_000),
        ("DefaultCluster", "127.0.0.1:10912"): None,
        ("DefaultCluster", "127.0.0.1:10921"): None,
        ("Other", "127.0.0.1:10931"): None,
    }


async def test_brokers_are_not_kept_alive_unless_asked_for(server: FakeNamesrv) -> None:
    sender = FakeSender({A: server})
    await take_snapshot(Namesrv(A, sender), SnapshotScope(), lambda *_: None)

    assert 322 not in {code for _, code, _ in sender.asked}


@pytest.mark.parametrize(
    ("code", "part"),
    [
        (206, SnapshotPart.TOPIC),
        (224, SnapshotPart.CLUSTER_TOPICS),
        (901, SnapshotPart.MEMBER_GROUP),
        (219, SnapshotPart.KV),
    ],
)
async def test_a_refused_part_is_missing_and_nothing_else(
    server: FakeNamesrv, code: int, part: SnapshotPart
) -> None:
    server.refusals[code] = (1, "disable\nmore")

    assert (await snapshot_of(server)).missing == {part: "disable"}


async def test_a_refusal_without_a_remark_shows_its_code(server: FakeNamesrv) -> None:
    server.refusals[206] = (2, "")

    assert (await snapshot_of(server)).missing == {SnapshotPart.TOPIC: "code 2"}


async def test_a_topic_that_goes_meanwhile_has_no_route(server: FakeNamesrv) -> None:
    server.refusals[105] = (17, "No topic route info")

    assert set((await snapshot_of(server)).routes.values()) == {None}


async def test_a_route_that_is_refused_otherwise_makes_topics_incomparable(server: FakeNamesrv) -> None:
    server.refusals[105] = (1, "name server not ready")

    assert (await snapshot_of(server)).missing == {SnapshotPart.TOPIC: "name server not ready"}


async def test_a_server_that_never_answers_member_groups_is_asked_once(server: FakeNamesrv) -> None:
    asked = []
    handle = server.handle

    def silent(code, fields, body):
        if code == 901:
            asked.append(fields)
            raise RemotingTimeoutError(A, "no answer")
        return handle(code, fields, body)

    server.handle = silent
    snapshot = await snapshot_of(server)

    assert snapshot.missing == {SnapshotPart.MEMBER_GROUP: "no answer; a 4.x name server never answers this"}
    assert len(asked) == 1


async def test_cluster_information_must_not_be_refused(server: FakeNamesrv) -> None:
    server.refusals[106] = (1, "no")

    with pytest.raises(ResponseError):
        await snapshot_of(server)


async def test_a_connection_that_breaks_midway_ends_it(server: FakeNamesrv) -> None:
    def broken(code, fields, body):
        raise RemotingConnectError(DEAD, "gone")

    handle = server.handle
    server.handle = lambda code, fields, body: (
        broken(code, fields, body) if code == 105 else handle(code, fields, body)
    )

    with pytest.raises(RemotingConnectError):
        await snapshot_of(server)


async def test_progress_tells_how_far_it_is(server: FakeNamesrv) -> None:
    steps = []
    await snapshot_of(server, SnapshotScope(at_once=1), progress=lambda *args: steps.append(args))

    assert [step for step in steps if step[0] is SnapshotPart.TOPIC] == [
        (SnapshotPart.TOPIC, done, 4) for done in (1, 2, 3, 4)
    ]
