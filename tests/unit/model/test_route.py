"""What name servers answer, spelled as on the wire (protocol.md 2.1, 2.2, 2.5, 2.7)."""

import msgspec
import pytest

from namekeeper.model.route import BrokerMemberGroup, ClusterInfo, TopicList, TopicRouteData


@pytest.mark.parametrize(
    ("value", "members"),
    [
        (
            TopicRouteData(),
            "brokerDatas queueDatas filterServerTable orderTopicConf topicQueueMappingByBroker",
        ),
        (ClusterInfo(), "brokerAddrTable clusterAddrTable"),
        (BrokerMemberGroup("c", "a"), "cluster brokerName brokerAddrs"),
        (TopicList(), "topicList brokerAddr"),
    ],
)
def test_members_are_named_as_on_the_wire(value, members):
    assert list(msgspec.to_builtins(value)) == members.split()


def test_two_routes_share_no_list():
    assert TopicRouteData().broker_datas is not TopicRouteData().broker_datas
