"""Brokers that registered and stay: one connection each, held open by the bench."""

import contextlib
import socket
import struct
import time
from collections.abc import Iterator, Sequence

from benchmarks.load.errors import RefusedError
from benchmarks.load.payload import Broker, heartbeat

__all__ = ["Fleet", "ask", "registered"]

ANSWER_SECONDS = 120


class Fleet:
    """Connections of brokers, in the order of their registrations."""

    def __init__(self, port: int, brokers: Sequence[Broker], opened: contextlib.ExitStack) -> None:
        self.brokers = brokers
        self.connections = [opened.enter_context(_connected(port)) for _ in brokers]

    def send(self, frames: Sequence[bytes]) -> list[float]:
        """Send each broker's frame, one after the other's answer; return the seconds each took."""
        seconds = []
        for connection, frame in zip(self.connections, frames, strict=True):
            began = time.perf_counter()
            connection.sendall(frame)
            read_answer(connection)
            seconds.append(time.perf_counter() - began)
        return seconds

    def send_as(self, broker: Broker, frame: bytes) -> None:
        """Send a frame over the connection of one broker and wait for the answer."""
        connection = self.connections[self.brokers.index(broker)]
        connection.sendall(frame)
        read_answer(connection)

    def refresh(self) -> None:
        """Say on every connection that its broker lives: Java closes a connection that is idle for 120 s."""
        self.send([heartbeat(broker) for broker in self.brokers])


@contextlib.contextmanager
def registered(port: int, brokers: Sequence[Broker], frames: Sequence[bytes]) -> Iterator[Fleet]:
    """Register brokers and hold them."""
    with contextlib.ExitStack() as opened:
        fleet = Fleet(port, brokers, opened)
        fleet.send(frames)
        yield fleet


def ask(port: int, frame: bytes, timeout: float = ANSWER_SECONDS) -> bytes:
    """Send one frame over a connection of its own and return the body of the answer."""
    with socket.create_connection(("127.0.0.1", port), timeout) as connection:
        connection.sendall(frame)
        return read_answer(connection)


def read_answer(connection: socket.socket) -> bytes:
    """Return the body of the next answer, which must be a success."""
    length, word = struct.unpack(">II", _exactly(connection, 8))
    rest = _exactly(connection, length - 4)
    header, body = rest[: word & 0xFFFFFF], rest[word & 0xFFFFFF :]
    if b'"code":0,' not in header:
        raise RefusedError(header.decode(errors="replace"))
    return body


def _connected(port: int) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port), ANSWER_SECONDS)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def _exactly(connection: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        if not (more := connection.recv(min(size - len(data), 1 << 20))):
            raise RefusedError("closed")
        data += more
    return bytes(data)
