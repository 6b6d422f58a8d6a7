"""`BrokerSettings` from the files that people have: those of RocketMQ's conf folder, and their own."""

import contextlib

import pytest

from namekeeper.broker import broker_conf
from namekeeper.broker.settings import BrokerSettings
from namekeeper.errors import ConfigError

STOCK = """\
# as RocketMQ ships it
brokerClusterName = DefaultCluster
brokerName = broker-a
brokerId = 0
deleteWhen = 04
fileReservedTime = 48
brokerRole = ASYNC_MASTER
flushDiskType = ASYNC_FLUSH
"""


@pytest.fixture(autouse=True)
def host(monkeypatch):
    monkeypatch.setattr(broker_conf, "_own_ip", lambda: "10.0.0.9")
    monkeypatch.setattr(broker_conf.socket, "gethostname", lambda: "host-9")


def read(tmp_path, text: str | bytes, **more) -> BrokerSettings:
    file = tmp_path / "broker-a.properties"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return BrokerSettings.from_broker_conf(file, **more)


def test_the_file_that_rocketmq_ships_is_read(tmp_path):
    found = read(tmp_path, STOCK, namesrv_addr="ns:1")
    assert found == BrokerSettings(
        broker_name="broker-a", broker_addr="10.0.0.9:10911", ha_server_addr="10.0.0.9:10912",
        namesrv_addr="ns:1", register_system_topics=True,
        unknown={"deleteWhen": "04", "fileReservedTime": "48", "flushDiskType": "ASYNC_FLUSH"},
    )  # fmt: skip


def test_every_property_has_its_field():
    found = BrokerSettings.from_properties(
        {
            "brokerName": "b", "brokerClusterName": "c", "namesrvAddr": "n:1;n:2", "brokerId": "3", "brokerRole": "SLAVE",
            "brokerIP1": "192.0.2.7", "listenPort": "30911", "brokerIP2": "192.0.2.8", "haListenPort": "30912",
            "registerNameServerPeriod": "10000", "registerBrokerTimeoutMills": "7", "forceRegister": "FALSE",
            "compressedRegister": "True", "enableSplitRegistration": "true", "splitRegistrationSize": "9",
            "brokerPermission": "4", "enableSlaveActingMaster": "true", "brokerHeartbeatInterval": "11",
            "sendHeartbeatTimeoutMillis": "12", "brokerNotActiveTimeoutMillis": "13",
            "compatibleWithOldNameSrv": "false", "autoCreateTopicEnable": "false", "defaultTopicQueueNums": "14",
            "clusterTopicEnable": "false", "brokerTopicEnable": "false", "traceTopicEnable": "true",
            "msgTraceTopicName": "t", "reviveQueueNum": "15",
        }
    )  # fmt: skip
    assert found == BrokerSettings(
        broker_name="b", cluster_name="c", namesrv_addr="n:1;n:2", broker_id=3, broker_addr="192.0.2.7:30911",
        ha_server_addr="192.0.2.8:30912", register_name_server_period_ms=10_000, register_broker_timeout_ms=7,
        force_register=False, compressed_register=True, enable_split_registration=True, split_registration_size=9,
        broker_permission=4, enable_slave_acting_master=True, broker_heartbeat_interval_ms=11,
        send_heartbeat_timeout_ms=12, broker_not_active_timeout_ms=13, compatible_with_old_name_srv=False,
        register_system_topics=True, auto_create_topic_enable=False, default_topic_queue_nums=14,
        cluster_topic_enable=False, broker_topic_enable=False, trace_topic_enable=True, msg_trace_topic_name="t",
        revive_queue_num=15,
    )  # fmt: skip


def test_without_a_name_and_an_id_it_is_the_master_of_this_host():
    found = BrokerSettings.from_properties({"brokerId": "5", "brokerIP1": " ", "namesrvAddr": " n:1 "})
    assert (found.broker_name, found.broker_id, found.broker_addr) == ("host-9", 0, "10.0.0.9:10911")
    assert found.namesrv_addr == "n:1"


def test_the_address_server_of_the_file_is_asked():
    found = BrokerSettings.from_properties(
        {"fetchNamesrvAddrByAddressServer": "true", "rmqAddressServerDomain": "as:8080"}
    )
    assert found.address_server == "http://as:8080/rocketmq/nsaddr"


@pytest.mark.parametrize(
    ("properties", "said"),
    [
        ({"brokerId": "one"}, "brokerId=one: write a whole number"),
        ({"brokerRole": "MASTER"}, "brokerRole=MASTER: write ASYNC_MASTER, SYNC_MASTER, SLAVE"),
        ({"brokerRole": "SLAVE"}, "a slave needs a brokerId above 0"),
        ({"listenPort": "x"}, "10.0.0.9:x"),
    ],
)
def test_what_can_not_be_used_is_named(properties, said):
    with pytest.raises(ConfigError) as refused:
        BrokerSettings.from_properties(properties)
    assert said in str(refused.value)


def test_a_file_that_can_not_be_read_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"can't read .*none\.conf: No such file"):
        BrokerSettings.from_broker_conf(tmp_path / "none.conf")
    with pytest.raises(ConfigError, match=r"broker-a\.properties, line 1"):
        read(tmp_path, "brokerName=\\u12")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("brokerName=broker-a  # the first", "a comment is a part of the value of brokerName"),
        ('namesrvAddr = "10.0.0.1:9876"', "write namesrvAddr=10.0.0.1:9876"),
        ("brokerName=\u201cbroker-a\u201d", "quotes are a part of the value of brokerName"),
        ("brokerClusterName=\u4e3b", "brokerClusterName is not ASCII"),
        ("flushDiskType\uff1aASYNC_FLUSH", "is no property"),
        ("namesrvAddr=a:1\nnamesrvAddr=b:1", "namesrvAddr stands in line 2, too"),
        ("storePathRootDir=C:\\store", "write two"),
        ("brokerName", "brokerName has no value"),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_line_that_java_takes_otherwise_than_it_looks_is_logged_with_its_number(
    tmp_path, caplog, line, said, end
):
    name = "" if "brokerName" in line else "brokerName=b"
    with contextlib.suppress(ConfigError):
        read(tmp_path, f"{name}\n{line}\n".replace("\n", end))
    (warning,) = [record.getMessage() for record in caplog.records]
    assert said in warning
    assert f"broker-a.properties, line {3 if 'stands' in said else 2}: " in warning


def test_what_rocketmq_ships_gives_no_warning(tmp_path, caplog):
    read(tmp_path, STOCK)
    assert not caplog.records


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("brokerId=zero", "line 2: brokerId=zero"),
        ("brokerRole=MASTER", "line 2: brokerRole=MASTER"),
        ("listenPort=10911 # port", "line 2: brokerIP1 and listenPort: address"),
        ("haListenPort=ha", "line 2: brokerIP2 and haListenPort: address"),
    ],
)
def test_a_value_that_can_not_be_used_is_named_with_its_line(tmp_path, line, said):
    with pytest.raises(ConfigError, match=r"broker-a\.properties, ") as refused:
        read(tmp_path, f"brokerName=b\n{line}\n")
    assert said in str(refused.value)


def test_a_byte_order_mark_is_no_part_of_the_first_name(tmp_path):
    assert read(tmp_path, b"\xef\xbb\xbfbrokerName=b\n").broker_name == "b"


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (
            "brokerIP1 = 外网ip",
            "brokerIP1 and listenPort: 外网ip is not an address: write that of the broker",
        ),
        ("brokerIP1=10.0.0.1\nbrokerIP2=内网ip", "brokerIP2 and haListenPort: 内网ip is not an address"),
        ("brokerIP1=<your ip>", "brokerIP1 and listenPort: address '<your ip>:10911' can't be used"),
        ("brokerIP1=10.0.0.1\nlistenPort=10911;", "brokerIP1 and listenPort: address '10.0.0.1:10911;'"),
        ("haListenPort=0", "brokerIP2 and haListenPort: address '10.0.0.9:0' can't be used"),
    ],
)
def test_an_address_that_is_none_is_refused_in_the_words_of_the_file(tmp_path, lines, message):
    with pytest.raises(ConfigError) as refused:
        read(tmp_path, f"{STOCK}{lines}\n")
    line = len(f"{STOCK}{lines}".splitlines())
    assert str(refused.value).startswith(f"{tmp_path}/broker-a.properties, line {line}: {message}")


def test_name_servers_are_shown_as_the_author_of_the_file_sees_them(tmp_path):
    assert read(tmp_path, f"{STOCK}namesrvAddr=外网ip:9876\n").namesrv_addr == "外网ip:9876"
