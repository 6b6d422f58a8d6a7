"""Requests that no well-behaved peer sends; each leaves a Java name server able to go on."""

import json
import random
import zlib
from collections.abc import Callable
from typing import Any, cast

from tests.differential.bodies import Broker, registration
from tests.differential.steps import World
from tests.support.java_model.values import Request

__all__ = ["malformed"]

Maker = Callable[[random.Random, Broker, World], Request]


def malformed(chance: random.Random, broker: Broker, world: World) -> tuple[str, Request]:
    """Return a malformed request with its kind."""
    make = chance.choice(_MAKERS)
    return make.__name__.strip("_").replace("_", " "), make(chance, broker, world)


def _unknown_code(chance: random.Random, broker: Broker, world: World) -> Request:
    return Request(chance.choice((0, 1, 99, 107, 999, 30_000)), {"topic": "t"})


def _missing_field(chance: random.Random, broker: Broker, world: World) -> Request:
    requests = [
        Request(100, {"namespace": "ns-a"}), Request(100, {"key": "k", "value": "v"}), Request(101, {"key": "k"}),
        Request(101, {"namespace": "ns-a"}), Request(102, {"namespace": "ns-a"}), Request(102, {}), Request(105, {}),
        Request(205, {}), Request(216, {}), Request(217, {}, b'{"queueDatas":[]}'), Request(219, {}), Request(224, {}),
        Request(327, {}), Request(901, {"brokerName": world.names[0]}), Request(901, {"clusterName": "c"}),
        Request(904, {}), Request(322, {"brokerName": "b", "brokerAddr": "a", "brokerId": "0"}, b"{}"),
        Request(100, {"namespace": "ns-b", "key": world.topics[0]}),
    ]  # fmt: skip
    return chance.choice(requests)


def _missing_broker_id(chance: random.Random, broker: Broker, world: World) -> Request:
    return _without(registration(broker), "brokerId")


def _missing_cluster(chance: random.Random, broker: Broker, world: World) -> Request:
    return _without(registration(broker), "clusterName")


def _missing_ha_address(chance: random.Random, broker: Broker, world: World) -> Request:
    return _without(registration(broker), "haServerAddr")


def _bad_number(chance: random.Random, broker: Broker, world: World) -> Request:
    value = chance.choice(
        ("", "abc", " 1", "1 ", "0x1", "9223372036854775808", "1.0", "--1", "+060000", "٦٠٠٠٠")
    )
    return _with(registration(broker), chance.choice(("brokerId", "heartbeatTimeoutMillis")), value)


def _bad_flag(chance: random.Random, broker: Broker, world: World) -> Request:
    return _with(
        registration(broker), "enableActingMaster", chance.choice(("TRUE", "True", "yes", "1", "tru"))
    )


def _wrong_crc(chance: random.Random, broker: Broker, world: World) -> Request:
    request = registration(broker)
    right = request.crc32()
    values = (right ^ 1, -right, right | 1 << 31, 0, "none", f"+{right}", f"0{right}")
    return _with(request, "bodyCrc32", str(chance.choice(values)))


def _crc_without_body(chance: random.Random, broker: Broker, world: World) -> Request:
    return _with(_with_body(registration(broker, crc=False), b""), "bodyCrc32", chance.choice(("0", "5")))


def _broken_text(chance: random.Random, broker: Broker, world: World) -> Request:
    broker.form = "json5"
    body = registration(broker).body
    bodies = (
        body[:-1],
        body[: len(body) // 2],
        b"\xff\xfe",
        b"[]",
        b'"text"',
        b"{" + body,
        b"null",
        b"17",
        b"{}}",
    )
    return _with_body(registration(broker, crc=False), chance.choice(bodies))


def _broken_stream(chance: random.Random, broker: Broker, world: World) -> Request:
    broker.form = chance.choice(("zip4", "zip5"))
    request = registration(broker, crc=False)
    inside = zlib.decompress(request.body)
    bodies = (
        request.body[:-8], b"plain", zlib.compress(inside[:-3]), zlib.compress(b"\xff" * 8), zlib.compress(b""),
        zlib.compress(inside.replace(b"SINGLE_TAG", b"DOUBLE_TAG")), zlib.compress(inside[4:]),
        b"\x1f\x8b" + request.body, request.body[2:],
    )  # fmt: skip
    return _with_body(request, chance.choice(bodies))


def _long_stream(chance: random.Random, broker: Broker, world: World) -> Request:
    broker.form = "zip5"
    request = registration(broker, crc=False)
    return _with_body(request, zlib.compress(zlib.decompress(request.body) + b"more", 1))


def _odd_text(chance: random.Random, broker: Broker, world: World) -> Request:
    bodies = (b"{}", b'{"topicConfigSerializeWrapper":{}}', b'{"filterServerList":["f:1"]}')
    broker.form = "json5"
    return _with_body(registration(broker, crc=False), chance.choice(bodies))


def _nameless_topic(chance: random.Random, broker: Broker, world: World) -> Request:
    broker.form = "json5"
    return _with_table(broker, {"": _config(""), world.topics[0]: _config(world.topics[0])})


def _null_table(chance: random.Random, broker: Broker, world: World) -> Request:
    broker.form = "json5"
    broker.broker_id = chance.choice((broker.broker_id, chance.randrange(3, 6)))
    return _with_table(broker, None)


def _empty_mapping(chance: random.Random, broker: Broker, world: World) -> Request:
    """Of a topic that nobody has: Java's server would never answer a look-up of any other again."""
    broker.form = "json5"
    broker.mappings = {**broker.mappings, f"{world.topics[0]}-unknown": {}}
    return registration(broker)


def _with_table(broker: Broker, table: dict[str, Any] | None) -> Request:
    wrapper = {"dataVersion": broker.version(), "topicConfigTable": table}
    body = {"filterServerList": broker.filters, "topicConfigSerializeWrapper": wrapper}
    return _with_body(registration(broker, crc=False), json.dumps(body).encode())


def _config(name: str) -> dict[str, Any]:
    return {"topicName": name, "readQueueNums": 4, "writeQueueNums": 4, "perm": 6}


def _other_form(chance: random.Random, broker: Broker, world: World) -> Request:
    """A body in a form that the version or the flag does not announce."""
    broker.mappings = {}  # fastjson 2 refuses bare keys in a member that it skips
    request = registration(broker, crc=False)
    is_text = request.body.startswith(b"{")  # what fastjson 1 makes of a stream does not matter
    version = chance.choice((36, 373, 513) if is_text else (373, 513))
    return Request(103, request.fields, request.body, version=version)


def _unflagged_compression(chance: random.Random, broker: Broker, world: World) -> Request:
    broker.form = "zip5"
    return _with(registration(broker, crc=False), "compressed", "false")


def _broken_topic_route(chance: random.Random, broker: Broker, world: World) -> Request:
    return Request(
        217,
        {"topic": world.topics[0]},
        chance.choice((b"{", b"nonsense", b"", b"{}", b"null", b'{"queueDatas":[]}')),
    )


def _broken_version(chance: random.Random, broker: Broker, world: World) -> Request:
    return Request(322, broker.fields(), chance.choice((b"{", b"nonsense", b"{}", b"null")))


def _refused_setting(chance: random.Random, broker: Broker, world: World) -> Request:
    keys = ("kvConfigPath", "configStorePath", "rocketmqHome", "configBlackList")
    return Request(318, {}, f"{chance.choice(keys)}=/nowhere\norderMessageEnable=true\n".encode())


def _useless_setting(chance: random.Random, broker: Broker, world: World) -> Request:
    bodies = (b"", b"unknownKey=1\n", b"listenPort=abc\n", b"# nothing\n", "productEnvName=größe\n".encode())
    return Request(318, {}, chance.choice(bodies))


def _odd_values(chance: random.Random, broker: Broker, world: World) -> Request:
    """A header with values of types that no peer writes, where nothing depends on them."""
    unused = chance.choice(({"a": [1, {}]}, [1, "b"], {}, [], 1.5, True, None))
    version = chance.choice((373.5, 513.9, "513", 513))
    fields = {**broker.fields(), "unused": unused}
    if chance.random() < 0.5:
        asked = cast("dict[str, str]", {"topic": "nobody-has-it", "unused": unused})
        return Request(105, asked, fraction=chance.choice((0.0, 0.5)))
    return Request(904, cast("dict[str, str]", fields), version=cast("int", version))


def _with(request: Request, name: str, value: str) -> Request:
    return Request(request.code, {**request.fields, name: value}, request.body, request.version)


def _without(request: Request, name: str) -> Request:
    fields = {key: value for key, value in request.fields.items() if key != name}
    return Request(request.code, fields, request.body, request.version)


def _with_body(request: Request, body: bytes) -> Request:
    return Request(request.code, request.fields, body, request.version)


_MAKERS: tuple[Maker, ...] = (
    _unknown_code, _missing_field, _missing_field, _missing_broker_id, _missing_cluster, _missing_ha_address, _bad_number,
    _bad_flag, _wrong_crc, _crc_without_body, _broken_text, _broken_stream, _long_stream, _odd_text, _other_form,
    _nameless_topic, _null_table, _null_table, _empty_mapping,
    _unflagged_compression, _broken_topic_route, _broken_version, _refused_setting, _useless_setting,
    _odd_values,
)  # fmt: skip
