"""A blocking client with a frame codec of its own, so that a bug in namekeeper's codec can't hide behind itself."""

import json
import re
import socket
import struct
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from tests.support.java_model.values import Answer, Request, from_json

__all__ = ["Connection", "as_value"]

_LISTS = {206, 224, 304, 311, 312, 313}
_TIMEOUT_SECONDS = 120
_FAQ = "https://rocketmq.apache.org/docs/bestPractice/06FAQ"


def encode(request: Request, opaque: int) -> bytes:
    """Return the frame of a request."""
    flag = 2 if request.one_way else 0
    if request.binary:
        pairs = b"".join(
            struct.pack(">H", len(key)) + key + struct.pack(">i", len(value)) + value
            for key, value in ((k.encode(), v.encode()) for k, v in request.fields.items())
        )
        fixed = struct.pack(">hBhiii", request.code, 0, request.version, opaque, flag, 0)
        header, kind = fixed + struct.pack(">i", len(pairs)) + pairs, 1
    else:
        members = {
            "code": request.code + request.fraction if request.fraction else request.code,
            "language": "JAVA",
            "version": request.version,
            "opaque": opaque,
            "flag": flag,
        }
        header, kind = json.dumps(members | {"extFields": request.fields}).encode(), 0
    head = struct.pack(">II", 4 + len(header) + len(request.body), kind << 24 | len(header))
    return head + header + request.body


class Connection:
    """One connection; answers are matched by opaque."""

    def __init__(self, address: str, *, is_four: bool = False) -> None:
        self._is_four = is_four
        self.normalised: Counter[str] = Counter()
        host, port = address.rsplit(":", 1)
        self._socket = socket.create_connection((host, int(port)), _TIMEOUT_SECONDS)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._buffer = b""
        self._opaque = 0

    def close(self) -> None:
        """Close it, as a process that ends."""
        self._socket.close()

    def send(self, requests: Sequence[Request]) -> None:
        """Send requests at once."""
        first = self._opaque + 1
        self._opaque += len(requests)
        self._socket.sendall(
            b"".join(encode(request, first + index) for index, request in enumerate(requests))
        )

    def receive(self, requests: Sequence[Request]) -> list[Answer]:
        """Return the answers to the requests sent last, in their order; one-way ones must not be among them."""
        first = self._opaque - len(requests) + 1
        answers: dict[int, Answer] = {}
        while len(answers) < len(requests):
            header, body = self._frame()
            index = header["opaque"] - first
            if not 0 <= index < len(requests) or index in answers or header.get("flag") != 1:
                raise AssertionError(f"an answer that nobody waits for: {header}")
            answers[index] = as_value(
                requests[index].code, header, body, is_four=self._is_four, counts=self.normalised
            )
        return [answers[index] for index in range(len(requests))]

    def ask(self, request: Request) -> Answer:
        """Send one request and wait for its answer."""
        self.send([request])
        return self.receive([request])[0]

    def _frame(self) -> tuple[dict[str, Any], bytes]:
        (length,) = struct.unpack(">i", self._take(4))
        frame = self._take(length)
        (word,) = struct.unpack(">I", frame[:4])
        if word >> 24:
            raise AssertionError("a binary header in an answer")
        return json.loads(frame[4 : 4 + word]), frame[4 + word :]

    def _take(self, size: int) -> bytes:
        while len(self._buffer) < size:
            more = self._socket.recv(1 << 18)
            if not more:
                raise ConnectionError("closed by the server")
            self._buffer += more
        taken, self._buffer = self._buffer[:size], self._buffer[size:]
        return taken


def as_value(
    code: int,
    header: dict[str, Any],
    body: bytes,
    *,
    is_four: bool = False,
    counts: Counter[str] | None = None,
) -> Answer:
    """Return an answer as a value: what has no order is sorted; maps with bare keys have integer keys.

    `is_four` adds to an answer of a 4.x name server what only 5.x writes. `counts` tells which normalisers
    did something.
    """
    counts = Counter() if counts is None else counts
    value = from_json(body) if body and header["code"] == 0 and body[:1] == b"{" else body or None
    remark = header.get("remark")
    if is_four:
        value, remark = _as_five(code, value, remark, counts)
    if isinstance(value, dict):
        _normalise(code, value, counts)
    return Answer(header["code"], remark, header.get("extFields"), value)


def _normalise(code: int, value: dict[str, Any], counts: Counter[str]) -> None:
    if code == 105:
        _sort(value["brokerDatas"], counts, lambda group: group["brokerName"])
        _sort(value["queueDatas"], counts, lambda row: row["brokerName"])
        for row in value["queueDatas"]:
            if (flag := row.pop("topicSynFlag", None)) is not None:
                counts["legacy flag"] += 1
                assert flag == row["topicSysFlag"], f"two flags that differ: {row}"
    elif code == 106:
        for names in value["clusterAddrTable"].values():
            _sort(names, counts)
    elif code in _LISTS:
        _sort(value["topicList"], counts)
        if code == 304:
            value.setdefault("brokerAddr", None)


def _sort(values: list[Any], counts: Counter[str], key: Callable[[Any], str] = str) -> None:
    was = list(values)
    values.sort(key=key)
    counts["order of lists"] += values != was


def _as_five(code: int, value: Any, remark: str | None, counts: Counter[str]) -> tuple[Any, str | None]:
    added: list[Any] = []
    if code == 105 and isinstance(value, dict):
        added += [row.setdefault("topicSysFlag", row.get("topicSynFlag")) for row in value["queueDatas"]]
        added += [group.setdefault("enableActingMaster", False) for group in value["brokerDatas"]]
    elif code == 106 and isinstance(value, dict):  # 4.x fails while a change is made
        added += [
            group.setdefault("enableActingMaster", False) for group in value["brokerAddrTable"].values()
        ]
    elif code == 322 and isinstance(value, dict):
        added.append(value.setdefault("stateVersion", 0))
    named = remark and re.sub(r"http\S+", _FAQ, remark)
    counts["4.x members"] += bool(added) or named != remark
    return value, named
