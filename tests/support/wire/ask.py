"""The smallest RocketMQ requester there is, apart from our own code, to ask any name server or broker."""

import json
import re
import socket
import ssl
import struct
from dataclasses import dataclass
from typing import Any

from tests.support.system.waiting import PATIENCE

__all__ = ["Answer", "ask"]

VERSION = 513
"""What 5.5.0 says it is; from 401 on a name server may answer in standard JSON."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back."""

    code: int
    remark: str | None
    fields: dict[str, str]
    body: bytes

    def json(self) -> Any:
        """Return the body as JSON; the bare integer keys that Java's writer may emit are put in quotes."""
        return json.loads(re.sub(r"([{,])(-?\d+):", r'\1"\2":', self.body.decode()))


def ask(
    address: str, code: int, body: bytes = b"", *, tls: bool = False, timeout: float = 5 * PATIENCE, version: int = VERSION,
    source: str = "", **fields: str,
) -> Answer:  # fmt: skip
    """Send one request in JSON over a connection of its own, from an address of this host if one is given."""
    head = {
        "code": code,
        "language": "PYTHON",
        "version": version,
        "opaque": 1,
        "flag": 0,
        "extFields": fields,
    }
    header = json.dumps(head).encode()
    host, port = address.rsplit(":", 1)
    local = (source, 0) if source else None
    with socket.create_connection((host, int(port)), timeout, local) as plain:
        stream = _trusting().wrap_socket(plain) if tls else plain
        with stream:
            stream.sendall(struct.pack(">II", 4 + len(header) + len(body), len(header)) + header + body)
            (length,) = struct.unpack(">I", _read(stream, 4))
            frame = _read(stream, length)
    (size,) = struct.unpack(">I", frame[:4])
    answer = json.loads(frame[4 : 4 + size])
    return Answer(answer["code"], answer.get("remark"), answer.get("extFields") or {}, frame[4 + size :])


def _trusting() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def _read(stream: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = stream.recv(min(size - len(data), 65_536))
        if not more:
            raise ConnectionError("closed by the peer")
        data += more
    return data
