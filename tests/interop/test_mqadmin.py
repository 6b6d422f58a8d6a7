"""Java's mqadmin, of every release, gets from the name server under test what it gets from Java's."""

import pytest

from tests.interop.clients import JavaClient
from tests.interop.routes import route
from tests.interop.servers import NameServer
from tests.support.java.servers import JavaBroker, mqadmin
from tests.support.system.processes import eventually
from tests.support.wire.ask import ask

pytestmark = [pytest.mark.interop, pytest.mark.slow]

_GET_KV_CONFIG = 101
_QUERY_NOT_FOUND = 22
READ, WRITE = 4, 2


@pytest.fixture
def admin(broker: JavaBroker, name_server: NameServer) -> JavaClient:
    """Run mqadmin of the broker's release."""
    return JavaClient(broker.version, name_server.address)


def permission(name_server: NameServer, broker: JavaBroker, topic: str) -> int:
    """Return the permission of a topic at a broker as routed."""
    found = route(name_server.address, topic)
    assert found
    return found.queues[broker.name][2]


def kv(name_server: NameServer, namespace: str, key: str) -> str | None:
    """Return a value of the key/value configuration."""
    answer = ask(name_server.address, _GET_KV_CONFIG, namespace=namespace, key=key)
    return answer.fields.get("value") if answer.code != _QUERY_NOT_FOUND else None


def test_lists_and_routes_name_the_cluster_the_broker_and_the_topic(
    admin: JavaClient, broker: JavaBroker, name_server: NameServer
):
    created, topics, with_cluster, cluster, its_cluster, routed = admin.admin(
        f"updateTopic -c {broker.cluster} -t listed -r 3 -w 3",
        "topicList", "topicList -c", "clusterList", "topicClusterList -t listed", "topicRoute -t listed",
    )  # fmt: skip
    assert "success" in created
    assert {"listed", "TBW102", broker.cluster} <= set(topics.split())
    assert any({broker.cluster, "listed"} <= set(line.split()) for line in with_cluster.splitlines())
    assert any(
        line.split()[:4] == [broker.cluster, broker.name, "0", broker.address]
        for line in cluster.splitlines()
    ), cluster
    assert broker.cluster in its_cluster.split()
    assert broker.name in routed
    assert broker.address in routed
    assert '"writeQueueNums": 3' in routed or '"writeQueueNums":3' in routed


def test_the_configuration_is_shown_and_changed(admin: JavaClient, name_server: NameServer):
    before, changed, after, _ = admin.admin(
        "getNamesrvConfig", "updateNamesrvConfig -k serverAsyncSemaphoreValue -v 65", "getNamesrvConfig",
        "updateNamesrvConfig -k serverAsyncSemaphoreValue -v 64",
    )  # fmt: skip
    assert f"============{name_server.address}============" in before
    assert "serverAsyncSemaphoreValue" in before
    assert "success" in changed
    assert ["serverAsyncSemaphoreValue", "=", "65"] in [line.split() for line in after.splitlines()]


def test_a_value_of_the_key_value_configuration_is_put_and_deleted(
    admin: JavaClient, name_server: NameServer
):
    (put,) = admin.admin("updateKvConfig -s interop -k key -v value")
    assert "success" in put
    assert kv(name_server, "interop", "key") == "value"
    (deleted,) = admin.admin("deleteKvConfig -s interop -k key")
    assert "success" in deleted
    assert kv(name_server, "interop", "key") is None


@pytest.mark.parametrize("version", ["4.9.7", "5.5.0"])  # 4.8.0 has no addWritePerm
def test_write_permission_is_wiped_and_given_back(version: str, own_server: NameServer):
    # A broker of its own: giving back sets 6 for every topic, whatever it was before.
    at = f"of broker[wiped] in name server[{own_server.address}] OK"
    with JavaBroker(version, [own_server.address], "wiped") as broker:
        admin = JavaClient(version, own_server.address)
        _, wiped = admin.admin(
            f"updateTopic -b {broker.address} -t topic -r 2 -w 2", "wipeWritePerm -b wiped"
        )
        assert f"wipe write perm {at}" in wiped
        assert permission(own_server, broker, "topic") == READ
        (given,) = admin.admin("addWritePerm -b wiped")
        assert f"add write perm {at}" in given
        assert permission(own_server, broker, "topic") == READ | WRITE


def test_a_deleted_topic_has_no_route_and_does_not_come_back(
    admin: JavaClient, broker: JavaBroker, name_server: NameServer
):
    (created, deleted) = admin.admin(
        f"updateTopic -c {broker.cluster} -t dropped-{broker.name} -r 2 -w 2",
        f"deleteTopic -c {broker.cluster} -t dropped-{broker.name}",
    )
    assert "success" in created
    assert "success" in deleted
    eventually(
        lambda: route(name_server.address, f"dropped-{broker.name}") is None, within=30, what="no route"
    )
    (recreated,) = admin.admin(f"updateTopic -c {broker.cluster} -t other-{broker.name} -r 1 -w 1")
    assert "success" in recreated
    assert route(name_server.address, f"other-{broker.name}")
    assert route(name_server.address, f"dropped-{broker.name}") is None


def test_the_command_line_as_operators_type_it_lists_the_cluster(broker: JavaBroker, name_server: NameServer):
    done = mqadmin(broker.version, "clusterList", "-n", name_server.address)
    assert broker.address in done.stdout
