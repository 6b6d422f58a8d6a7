import json

from namekeeper.cli import render
from namekeeper.model.broker import BrokerData
from namekeeper.model.mapping import TopicQueueMappingInfo
from namekeeper.model.route import ClusterInfo, TopicRouteData
from tests.unit.admin.fake_namesrv import broker, queues

A = broker("DefaultCluster", "broker-a", _0="127.0.0.1:10911", _1="127.0.0.1:10912")
B = broker("DefaultCluster", "broker-b", _0="127.0.0.1:10921")
C = broker("Other", "broker-c", _0="127.0.0.1:10931")
ROUTE = TopicRouteData([B, C, A], [queues("broker-b", 8), queues("broker-c", 8, perm=4), queues("broker-a")])
INFO = ClusterInfo(
    {"broker-a": A, "broker-b": B, "broker-c": C},
    {"Other": ["broker-c"], "DefaultCluster": ["broker-b", "broker-a"]},
)


def test_json_has_the_names_of_the_wire_and_quoted_keys() -> None:
    assert json.loads(render.render_json(TopicRouteData([A])))["brokerDatas"][0]["brokerAddrs"] == {
        "0": "127.0.0.1:10911",
        "1": "127.0.0.1:10912",
    }


def test_a_route_reads_as_java_prints_it() -> None:
    route = TopicRouteData([A], [queues("broker-a")], order_topic_conf='a "b"\\')

    assert render.render_java_json(route) == (
        "{\n"
        '\t"brokerDatas":[\n'
        "\t\t{\n"
        '\t\t\t"brokerAddrs":{\n'
        '\t\t\t\t0:"127.0.0.1:10911",\n'
        '\t\t\t\t1:"127.0.0.1:10912"\n'
        "\t\t\t},\n"
        '\t\t\t"brokerName":"broker-a",\n'
        '\t\t\t"cluster":"DefaultCluster",\n'
        '\t\t\t"enableActingMaster":false\n'
        "\t\t}\n"
        "\t],\n"
        '\t"filterServerTable":{},\n'
        '\t"orderTopicConf":"a \\"b\\"\\\\",\n'
        '\t"queueDatas":[\n'
        "\t\t{\n"
        '\t\t\t"brokerName":"broker-a",\n'
        '\t\t\t"perm":6,\n'
        '\t\t\t"readQueueNums":4,\n'
        '\t\t\t"topicSysFlag":0,\n'
        '\t\t\t"writeQueueNums":4\n'
        "\t\t}\n"
        "\t]\n"
        "}"
    )


def test_numeric_keys_are_in_numeric_order_and_empty_lists_stay_on_the_line() -> None:
    mapping = TopicQueueMappingInfo("broker-a", {10: 0, 2: 1}, topic="T")
    text = render.render_java_json(TopicRouteData(topic_queue_mapping_by_broker={"broker-a": mapping}))

    assert '"currIdMap":{\n\t\t\t\t2:1,\n\t\t\t\t10:0\n\t\t\t},' in text
    assert '"brokerDatas":[],' in text


def test_the_route_list_has_javas_columns() -> None:
    assert render.render_route_list(ROUTE).splitlines() == [
        "#ClusterName                                  #BrokerName                      #BrokerAddrs                                       #ReadQueue #WriteQueue #Perm",
        "DefaultCluster                                broker-a                         {0=127.0.0.1:10911, 1=127.0.0.1:10912}             4          4           6    ",
        "DefaultCluster                                broker-b                         {0=127.0.0.1:10921}                                8          8           6    ",
        "Other                                         broker-c                         {0=127.0.0.1:10931}                                8          8           4    ",
        "-" * 158,
        "Total:                                        3                                                                                   20         20               ",
    ]


def test_a_broker_without_queues_has_dashes_in_the_route_list() -> None:
    row = render.render_route_list(TopicRouteData([A], [])).splitlines()[1]

    assert row.split() == [
        "DefaultCluster",
        "broker-a",
        "{0=127.0.0.1:10911,",
        "1=127.0.0.1:10912}",
        "-",
        "-",
        "-",
    ]


def test_clusters_of_a_route_are_those_of_all_its_brokers() -> None:
    assert render.route_clusters(ROUTE, INFO) == ["DefaultCluster", "Other"]
    assert render.route_clusters(None, INFO) == []


def test_the_topic_table_has_javas_columns() -> None:
    text = render.render_topic_clusters([("DefaultCluster", "TBW102"), ("Other", "x" * 70)])

    assert text.splitlines() == [
        "#Cluster Name         #Topic                                            #Consumer Group                                 ",
        "DefaultCluster        TBW102" + " " * 124,
        "Other                 " + "x" * 64 + " " * 66,
    ]


def test_the_cluster_table_has_javas_head_and_dashes_for_what_brokers_know() -> None:
    head, first, *rest = render.render_cluster_table(INFO).splitlines()

    assert head == (
        "#Cluster Name           #Broker Name            #BID  #Addr                  #Version              #InTPS(LOAD)"
        "                   #OutTPS(LOAD)  #Timer(Progress)        #PCWait(ms)  #Hour         #SPACE    #ACTIVATED"
    )
    assert first == (
        "DefaultCluster          broker-a                0     127.0.0.1:10911        -                                -"
        "                               -  -                                 -  -             -                  -"
    )
    assert [row.split()[:4] for row in rest] == [
        ["DefaultCluster", "broker-a", "1", "127.0.0.1:10912"],
        ["DefaultCluster", "broker-b", "0", "127.0.0.1:10921"],
        ["Other", "broker-c", "0", "127.0.0.1:10931"],
    ]


def test_the_cluster_table_can_be_of_one_cluster() -> None:
    assert [row.split()[1] for row in render.render_cluster_table(INFO, "Other").splitlines()[1:]] == [
        "broker-c"
    ]
    assert render.render_cluster_table(INFO, "nope").count("\n") == 0


def test_a_cluster_may_name_a_broker_that_is_gone() -> None:
    assert render.render_cluster_table(ClusterInfo({}, {"c": ["broker-x"]})).count("\n") == 0


def test_more_stats_has_javas_columns() -> None:
    assert render.render_cluster_more_stats(
        ClusterInfo({"broker-c": C}, {"Other": ["broker-c"]})
    ).splitlines() == [
        "#Cluster Name     #Broker Name                       #InTotalYest  #OutTotalYest  #InTotalToday #OutTotalToday",
        "Other             broker-c                                      -              -              -              -",
    ]


def test_configuration_is_sorted_under_its_address() -> None:
    assert render.render_namesrv_config("h:1", {"b": "2", "a": "1"}).splitlines() == [
        "============h:1============",
        "a" + " " * 49 + "=  1",
        "b" + " " * 49 + "=  2",
    ]


def test_key_values_are_sorted() -> None:
    assert render.render_key_values({"b": "2", "a": "x=y"}) == "a=x=y\nb=2"


def test_names_that_are_not_ascii_stay_readable() -> None:
    assert '"brokerName":"bröker"' in render.render_java_json(TopicRouteData([BrokerData("c", "bröker")]))
