import json

import pytest

from namekeeper.wire.codec import CommandDecoder, encode_command, encode_response
from namekeeper.wire.codes import SerializeType
from namekeeper.wire.command import RemotingCommand, Response
from tests.wire_samples import SAMPLES, load

ROUTE = RemotingCommand(105, "JAVA", 373, 7, 0, None, {"topic": "TopicTest"})
BROKER = {"brokerName": "broker-a", "brokerAddr": "10.0.0.1:10911", "clusterName": "DefaultCluster"}
REGISTER = {**BROKER, "brokerId": "0", "haServerAddr": "10.0.0.1:10912"}

HEADERS = {
    "v01_route_request_json": ROUTE,
    "v02_route_request_binary": ROUTE,
    "v03_route_unknown_response": RemotingCommand(
        17, "JAVA", 373, 7, 1,
        "No topic route info in name server for the topic: TopicTest\n"
        "See http://rocketmq.apache.org/docs/faq/ for further details.",
    ),
    "v04_route_response_legacy": RemotingCommand(0, "JAVA", 373, 7, 1),
    "v05_route_response_standard": RemotingCommand(0, "JAVA", 479, 7, 1),
    "v06_register_plain": RemotingCommand(
        103, "JAVA", 373, 1, ext_fields={**REGISTER, "bodyCrc32": "817631384", "compressed": "false"}
    ),
    "v07_register_compressed_4x": RemotingCommand(
        103, "JAVA", 373, 2, ext_fields={**REGISTER, "bodyCrc32": "1850584876", "compressed": "true"}
    ),
    "v08_register_compressed_5x": RemotingCommand(
        103, "JAVA", 479, 3,
        ext_fields={
            **REGISTER, "bodyCrc32": "21358486", "compressed": "true", "enableActingMaster": "false",
            "heartbeatTimeoutMillis": "10000",
        },
    ),
    "v09_register_response_slave": RemotingCommand(
        0, "JAVA", 373, 4, 1, ext_fields={"haServerAddr": "10.0.0.1:10912", "masterAddr": "10.0.0.1:10911"}
    ),
    "v10_heartbeat_oneway": RemotingCommand(904, "JAVA", 479, 2, 2, ext_fields=BROKER),
    "v11_query_data_version": RemotingCommand(322, "JAVA", 373, 5, ext_fields={**BROKER, "brokerId": "0"}),
    "v12_unregister_binary": RemotingCommand(104, "JAVA", 373, 6, ext_fields={**BROKER, "brokerId": "0"}),
    "v13_notify_min_broker_id": RemotingCommand(
        905, "JAVA", 479, 18, 2,
        ext_fields={"offlineBrokerAddr": "127.0.0.1:21900", "minBrokerAddr": "127.0.0.1:21901", "minBrokerId": "1"},
    ),
    "v14_route_request_signed": RemotingCommand(
        105, "JAVA", 373, 8,
        ext_fields={"topic": "TopicTest", "AccessKey": "RocketMQ", "Signature": "0jiwhsaYp5ObE5GObbZH1I8/FT4="},
    ),
}  # fmt: skip

BODY_BYTES = {
    "v04_route_response_legacy": 251, "v05_route_response_standard": 282, "v06_register_plain": 416,
    "v07_register_compressed_4x": 91, "v08_register_compressed_5x": 229, "v09_register_response_slave": 47,
    "v11_query_data_version": 39,
}  # fmt: skip


def decode(frame: bytes) -> RemotingCommand:
    (command,) = CommandDecoder().feed(frame)
    return command


def test_every_sample_is_known():
    assert set(HEADERS) == set(SAMPLES)


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_is_read(name):
    command = decode(load(name))
    assert len(command.body) == BODY_BYTES.get(name, 0)
    command.body = b""
    assert command == HEADERS[name]


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_is_written_again_byte_for_byte(name):
    frame = load(name)
    assert encode_command(decode(frame), SerializeType(frame[4])) == frame


def test_an_answer_differs_from_java_s_in_the_version_alone():
    answer = decode(load("v05_route_response_standard"))
    assert encode_response(Response(body=answer.body), opaque=7) == load(
        "v05_route_response_standard"
    ).replace(b'"version":479', b'"version":513')


def test_the_standard_body_is_json():
    assert json.loads(decode(load("v05_route_response_standard")).body)["brokerDatas"][0]["brokerAddrs"]["1"]
