import pytest

from tests.unit.admin.fake_namesrv import A, B, queues
from tests.unit.cli.mqadmin_tool import Tool


@pytest.fixture
def tool() -> Tool:
    return Tool()


def test_topic_route_prints_java_json(tool: Tool) -> None:
    assert tool.lines("topicRoute", "-t", "UnitT")[:5] == [
        "{",
        '\t"brokerDatas":[',
        "\t\t{",
        '\t\t\t"brokerAddrs":{',
        '\t\t\t\t0:"127.0.0.1:10911",',
    ]
    assert tool.json("topicRoute", "-t", "UnitT")["queueDatas"][0]["readQueueNums"] == 2


def test_topic_list_prints_one_topic_per_line(tool: Tool) -> None:
    assert tool.lines("topicList") == ["%RETRY%g1", "OtherT", "TopicTest", "UnitT"]
    assert set(tool.json("topicList")["topicList"]) == {"%RETRY%g1", "OtherT", "TopicTest", "UnitT"}


def test_topic_list_with_clusters_leaves_out_group_topics(tool: Tool) -> None:
    assert [line.split() for line in tool.lines("topicList", "-c")[1:]] == [
        ["Other", "OtherT"],
        ["DefaultCluster", "TopicTest"],
        ["Other", "TopicTest"],
        ["DefaultCluster", "UnitT"],
    ]
    assert {"topic": "TopicTest", "clusters": ["DefaultCluster", "Other"]} in tool.json("topicList", "-c")


def test_topic_list_with_clusters_bears_a_topic_that_goes_meanwhile(tool: Tool) -> None:
    tool.servers[A].refusals[105] = (17, "No topic route info")

    assert {"topic": "UnitT", "clusters": []} in tool.json("topicList", "-c")


def test_topic_cluster_list_prints_every_cluster(tool: Tool) -> None:
    assert tool.lines("topicClusterList", "-t", "TopicTest") == ["DefaultCluster", "Other"]
    assert tool.json("topicClusterList", "-t", "OtherT") == ["Other"]


def test_topics_by_cluster_and_system_topics(tool: Tool) -> None:
    assert tool.lines("topicsByCluster", "-c", "Other") == ["OtherT", "TopicTest"]
    assert tool.lines("systemTopics") == ["DefaultCluster", "Other", "broker-a", "broker-b", "broker-c"]
    assert tool.json("systemTopics")["brokerAddr"] == "127.0.0.1:10921"
    assert "127.0.0.1:10921 knows more" in tool.run("systemTopics").stderr


@pytest.mark.parametrize(
    ("args", "topics"), [([], ["OtherT", "UnitT"]), (["-k", "has-unit-sub"], ["OtherT"])]
)
def test_unit_topic_list(tool: Tool, args: list[str], topics: list[str]) -> None:
    assert tool.lines("unitTopicList", *args) == topics


def test_delete_topic_deletes_at_every_name_server_and_says_what_it_left(tool: Tool) -> None:
    result = tool.run("deleteTopic", "-t", "UnitT", "-c", "DefaultCluster", namesrv=f"{A};{B}")

    assert result.stdout == "delete topic [UnitT] from NameServer success.\n"
    assert "brokers were not asked" in result.stderr
    assert "UnitT" not in tool.servers[A].topics
    assert "UnitT" not in tool.servers[B].topics


def test_names_that_look_like_nothing_special_are_sent_as_they_are(tool: Tool) -> None:
    tool.servers[A].topics["%DLQ%g"] = [queues("broker-a")]

    assert tool.lines("topicRoute", "-t", "%DLQ%g", "-l")[-1].startswith("Total:")


def test_system_topics_without_any_broker(tool: Tool) -> None:
    tool.servers[A].brokers.clear()

    assert tool.run("systemTopics").stderr == ""
