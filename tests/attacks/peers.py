"""What peers of a name server send, made for attacks: frames of any content, and connections that misbehave."""

import contextlib
import signal
import socket
import struct
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from namekeeper.messages.register_broker_body import RegisterBrokerBody, encode_registration_body
from namekeeper.model.topic import TopicConfig
from namekeeper.model.version import DataVersion
from namekeeper.wire.codec import encode_command
from namekeeper.wire.command import request

__all__ = [
    "Target",
    "Wire",
    "announcement",
    "frame",
    "opened",
    "pipelined",
    "registration",
    "topics",
    "wait_for_the_end",
    "write_down",
]

CONNECT_SECONDS = 30
ANSWER_SECONDS = 120


@dataclass(frozen=True, slots=True)
class Target:
    """The name server that is attacked."""

    port: int
    http_port: int
    folder: Path
    """Where it keeps its files."""
    scale: float = 1.0
    """How much of each attack is done; 1 is what the row says."""
    salt: str = ""
    """Goes into names, so that an attack that is done again uses others."""
    scheme: str = "http"
    """How its pages are asked for: http or https."""

    def times(self, count: int) -> int:
        """Scale a number of requests or connections."""
        return max(1, int(count * self.scale))


def frame(
    code: int,
    fields: dict[str, str] | None = None,
    body: bytes = b"",
    *,
    opaque: int = 1,
    oneway: bool = False,
) -> bytes:
    """One request as bytes."""
    return encode_command(request(code, fields, body, opaque=opaque, oneway=oneway))


def announcement(size: int) -> bytes:
    """Begin a frame of that many bytes: its length and its header."""
    header = b'{"code":103,"language":"JAVA","version":513,"opaque":1,"flag":0,"extFields":{}}'
    return struct.pack(">II", size - 4, len(header)) + header


def topics(prefix: str, count: int) -> tuple[TopicConfig, ...]:
    """That many topics."""
    return tuple(TopicConfig(topic_name=f"{prefix}{index:06}") for index in range(count))


def registration(
    name: str, rows: Sequence[TopicConfig], *, cluster: str = "AttackCluster", addr: str = "", counter: int = 1,
    raw: bytes | None = None, compressed: bool = False,
) -> bytes:  # fmt: skip
    """Frame a registration (103); `raw` stands in for the body."""
    body = RegisterBrokerBody(
        data_version=DataVersion(counter=counter, timestamp=1_700_000_000_000), topics=tuple(rows)
    )
    fields = {
        "brokerName": name,
        "brokerAddr": addr or f"{name}:10911",
        "clusterName": cluster,
        "haServerAddr": "",
        "brokerId": "0",
        "heartbeatTimeoutMillis": "600000",
        "compressed": str(compressed).lower(),
    }
    return frame(103, fields, encode_registration_body(body, compressed=compressed) if raw is None else raw)


class Wire:
    """A connection with blocking calls, told apart from others by the address that it comes from."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), CONNECT_SECONDS)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.settimeout(ANSWER_SECONDS)

    def send(self, data: bytes) -> None:
        """Send bytes as they are."""
        self.socket.sendall(data)

    def answer(self) -> tuple[bytes, bytes]:
        """Header and body of the next answer; ConnectionError if there is none."""
        (length,) = struct.unpack(">I", self._read(4))
        rest = self._read(length)
        (size,) = struct.unpack(">I", rest[:4])
        size &= 0xFF_FFFF
        return rest[4 : 4 + size], rest[4 + size :]

    def ask(self, data: bytes) -> tuple[bytes, bytes]:
        """Send a frame and wait for its answer."""
        self.send(data)
        return self.answer()

    def _read(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            more = self.socket.recv(min(size - len(data), 1 << 20))
            if not more:
                raise ConnectionResetError("closed by the server")
            data += more
        return bytes(data)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()


@contextlib.contextmanager
def opened(port: int, count: int) -> Iterator[list[Wire]]:
    """That many connections at once."""
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(Wire(port)) for _ in range(count)]


def write_down(file: Path, text: str) -> None:
    """Give a file its content at once: the end of an attack may come while it writes."""
    unfinished = file.with_suffix(".unfinished")
    unfinished.write_text(text)
    unfinished.replace(file)


def wait_for_the_end() -> None:
    """Hold all connections until the process is ended."""
    signal.pause()


def pipelined(port: int, frames: Iterable[bytes]) -> int:
    """Send everything over one connection while another thread reads; return how many answers came.

    Ends when there are as many answers as frames, or when the server closed the connection.
    """
    with Wire(port) as wire:
        reader = _Reader(wire)
        reader.start()
        sent = 0
        with contextlib.suppress(OSError):
            for data in frames:
                wire.send(data)
                sent += 1
        reader.wait_for(sent)
    reader.join()
    return reader.answers


class _Reader(threading.Thread):
    def __init__(self, wire: Wire) -> None:
        super().__init__(daemon=True)
        self._wire = wire
        self._changed = threading.Condition()
        self._is_over = False
        self.answers = 0

    def run(self) -> None:
        try:
            while True:
                self._wire.answer()
                with self._changed:
                    self.answers += 1
                    self._changed.notify_all()
        except (OSError, struct.error):
            with self._changed:
                self._is_over = True
                self._changed.notify_all()

    def wait_for(self, count: int) -> None:
        """Wait for so many answers, or the end of the connection."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_over or self.answers >= count, ANSWER_SECONDS)
        with contextlib.suppress(OSError):
            self._wire.socket.shutdown(socket.SHUT_RDWR)
