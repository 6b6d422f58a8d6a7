"""Registrations as brokers of each line write them (protocol.md 3)."""

import json
import re
import struct
import zlib
from dataclasses import dataclass, field
from typing import Any

from tests.support.java_model.values import Request

__all__ = ["FORMS", "Broker", "TopicConfig", "registration", "route_body"]

FORMS = ("json4", "json5", "zip4", "zip5", "old")
"""4.x and 5.x text, 4.x and 5.x compressed, and the form of before 3.0.11."""

_VERSIONS = {"json4": 373, "json5": 513, "zip4": 373, "zip5": 513, "old": 36}


@dataclass(frozen=True, slots=True)
class TopicConfig:
    """One topic of a broker."""

    read: int = 4
    write: int = 4
    perm: int = 6
    flag: int = 0


@dataclass(slots=True)
class Broker:
    """A broker process as the generator remembers it: what it last said of itself."""

    cluster: str
    name: str
    broker_id: int
    addr: str
    conn: int
    form: str = "json5"
    acting: bool | None = None
    zone: str | None = None
    timeout: str | None = None
    counter: int = 1
    state: int = 0
    topics: dict[str, TopicConfig] = field(default_factory=dict)
    filters: list[str] = field(default_factory=list)
    mappings: dict[str, dict[str, Any]] = field(default_factory=dict)

    def fields(self) -> dict[str, str]:
        """Return what 103, 104 and 322 have in common."""
        return {
            "brokerName": self.name,
            "brokerAddr": self.addr,
            "clusterName": self.cluster,
            "brokerId": str(self.broker_id),
        }

    def version(self) -> dict[str, int]:
        """Return its data version."""
        stamp = {"counter": self.counter, "timestamp": 1_700_000_000_000 + self.counter}
        return stamp if self.form in {"json4", "zip4", "old"} else {**stamp, "stateVersion": self.state}


def registration(broker: Broker, *, crc: bool = True, binary: bool = False) -> Request:
    """Return the 103 of a broker."""
    is_zip = broker.form.startswith("zip")
    body = _compressed(broker) if is_zip else _text(broker)
    optional = {
        "enableActingMaster": None if broker.acting is None else str(broker.acting).lower(),
        "heartbeatTimeoutMillis": broker.timeout,
        "__ZONE_NAME": broker.zone,
        "bodyCrc32": str(zlib.crc32(body) & 0x7FFFFFFF) if crc else None,
    }
    fields = {
        **broker.fields(),
        "haServerAddr": f"ha-{broker.addr}",
        "compressed": str(is_zip).lower(),
        **{name: value for name, value in optional.items() if value is not None},
    }
    return Request(103, fields, body, version=_VERSIONS[broker.form], binary=binary)


def route_body(queues: dict[str, TopicConfig]) -> bytes:
    """Return the body of a 217: broker name -> queues."""
    rows = [
        {
            "brokerName": n,
            "readQueueNums": q.read,
            "writeQueueNums": q.write,
            "perm": q.perm,
            "topicSysFlag": q.flag,
        }
        for n, q in queues.items()
    ]
    return json.dumps({"queueDatas": rows, "brokerDatas": []}).encode()


def _text(broker: Broker) -> bytes:
    table = {
        topic: {
            "topicName": topic, "readQueueNums": q.read, "writeQueueNums": q.write, "perm": q.perm,
            "topicSysFlag": q.flag, "topicFilterType": "SINGLE_TAG", "order": False,
        }
        for topic, q in broker.topics.items()
    }  # fmt: skip
    wrapper: dict[str, Any] = {"dataVersion": broker.version(), "topicConfigTable": table}
    if broker.form == "old":
        return _dump(wrapper)
    if broker.form == "json5":
        wrapper["mappingDataVersion"] = broker.version()
        wrapper["topicQueueMappingDetailMap"] = {}
        wrapper["topicQueueMappingInfoMap"] = broker.mappings
    return _dump({"filterServerList": broker.filters, "topicConfigSerializeWrapper": wrapper})


def _dump(value: Any) -> bytes:
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return re.sub(r'([{,])"(\d+)":', r"\1\2:", text).encode()  # bare integer keys, as brokers write them


def _compressed(broker: Broker) -> bytes:
    tail = " {}" if broker.form == "zip5" else ""
    rows = [f"{t} {q.read} {q.write} {q.perm} SINGLE_TAG{tail}".encode() for t, q in broker.topics.items()]
    parts = [
        _block(_dump(broker.version())),
        struct.pack(">i", len(rows)),
        *map(_block, rows),
        _block(_dump(broker.filters)),
    ]
    if broker.form == "zip5":
        parts += [
            struct.pack(">i", len(broker.mappings)),
            *(_block(_dump(info)) for info in broker.mappings.values()),
        ]
    return zlib.compress(b"".join(parts), 9)


def _block(data: bytes) -> bytes:
    return struct.pack(">i", len(data)) + data
