"""Attacks on the protocol port by TLS: what a connection and a handshake keep in memory, times their number."""

import contextlib
import socket
import ssl
import struct
import threading

from tests.attacks.crowds import allow_connections
from tests.attacks.peers import CONNECT_SECONDS, Target, frame, wait_for_the_end
from tests.support.wire.peer import trusting

__all__ = ["burst_and_stay", "read_lists_and_stay", "send_most_of_large_hellos"]

HOSTS = 40
HELLOS_OF_HOST = 64
HELLO_BYTES = 131_000
"""OpenSSL accepts a first message of up to 131,396 bytes."""
RECORD_BYTES = 16_000
BURST_CONNECTIONS = 1_600
BURSTS_AT_ONCE = 100
BURST_LOOKUPS = 30
TRUSTING = trusting()


def read_lists_and_stay(target: Target) -> None:
    """Ask for a list of 10 MB over 60 connections, one after the other; read it, and keep the connection."""
    with contextlib.ExitStack() as stack:
        for _ in range(target.times(60)):
            connection = _connected(target, "127.0.0.1")
            tls = stack.enter_context(TRUSTING.wrap_socket(connection))
            tls.sendall(frame(219, {"namespace": "Large"}))
            _read_frame(tls)
        wait_for_the_end()


def burst_and_stay(target: Target) -> None:
    """Send 30 lookups of 8 KB at once over each of 1,600 connections, read the answers, and keep them."""
    allow_connections()
    burst = b"".join(
        frame(105, {"topic": f"Unknown{index}", "x": "x" * 8_000}) for index in range(BURST_LOOKUPS)
    )

    def send(tls: ssl.SSLSocket) -> None:
        with contextlib.suppress(OSError):
            tls.sendall(burst)

    with contextlib.ExitStack() as stack:
        for _ in range(target.times(BURST_CONNECTIONS // BURSTS_AT_ONCE)):
            some = []
            for _ in range(BURSTS_AT_ONCE):
                with contextlib.suppress(OSError):  # the server turns some away
                    some.append(stack.enter_context(TRUSTING.wrap_socket(_connected(target, "127.0.0.1"))))
            senders = [threading.Thread(target=send, args=(tls,), daemon=True) for tls in some]
            for sender in senders:
                sender.start()
            for sender in senders:
                sender.join()  # the kernel has the answers meanwhile
            for tls in some:
                with contextlib.suppress(OSError):
                    for _ in range(BURST_LOOKUPS):
                        _read_frame(tls)
        wait_for_the_end()


def send_most_of_large_hellos(target: Target) -> None:
    """Send nearly all of a large first message over 64 connections of each of 40 hosts, again and again."""
    allow_connections()
    head = b"\x01" + HELLO_BYTES.to_bytes(3, "big") + b"\x03\x03" + bytes(33) + struct.pack(">H", 60_000)
    hello = (head + b"\x13\x01" * HELLO_BYTES)[: HELLO_BYTES - 100]
    parts = (hello[start : start + RECORD_BYTES] for start in range(0, len(hello), RECORD_BYTES))
    records = b"".join(b"\x16\x03\x01" + struct.pack(">H", len(part)) + part for part in parts)
    while True:
        with contextlib.ExitStack() as stack:
            for index in range(target.times(HOSTS * HELLOS_OF_HOST)):
                with contextlib.suppress(OSError):
                    connection = stack.enter_context(_connected(target, f"127.0.7.{index % HOSTS + 1}"))
                    connection.settimeout(0.0)
                    connection.send(records)
            threading.Event().wait(5.0)


def _connected(target: Target, host: str) -> socket.socket:
    """A connection that comes from that address, with room for a large message."""
    connection = socket.create_connection(("127.0.0.1", target.port), CONNECT_SECONDS, (host, 0))
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
    return connection


def _read_frame(tls: ssl.SSLSocket) -> None:
    (left,) = struct.unpack(">I", _read(tls, 4))
    while left:
        left -= len(_read(tls, min(left, 1 << 16)))


def _read(tls: ssl.SSLSocket, size: int) -> bytes:
    found = b""
    while len(found) < size:
        part = tls.recv(size - len(found))
        if not part:
            raise ConnectionResetError("closed by the server")
        found += part
    return found
