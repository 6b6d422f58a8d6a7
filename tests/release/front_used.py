"""Uses the native front out of an unpacked wheel: FOLDER. Needs only Python, so that any interpreter can run it."""

import platform
import select
import socket
import sys
from importlib import import_module

TOPIC, BODY = "T", b"body"
HEADER = b'{"code":105,"extFields":{"topic":"T"},"flag":0,"language":"JAVA","opaque":7,"version":317}'
"""A look-up of a client before 4.9.4, whose answer is in the legacy form of JSON."""
SECONDS = 60
"""An emulated processor is slow."""


def framed(header: bytes, body: bytes = b"") -> bytes:
    """A frame of the protocol."""
    return (4 + len(header) + len(body)).to_bytes(4, "big") + len(header).to_bytes(4, "big") + header + body


def received(peer: socket.socket, size: int) -> bytes:
    """So many bytes."""
    said = b""
    while len(said) < size:
        said += peer.recv(size - len(said))
    return said


def main(folder: str) -> None:
    """Lend a socket, have look-ups answered, forget the answer, and get the socket back."""
    sys.path.insert(0, folder)
    front = import_module("namekeeper_front").Front(b"<", b">", 2)
    front.learn(TOPIC, False, 0, BODY)
    own, peer = socket.socketpair()
    own.setblocking(False)
    peer.settimeout(SECONDS)
    front.lend(5, own.fileno())
    peer.sendall(framed(HEADER) * 3)
    answers = framed(b"<7>", BODY) * 3
    if received(peer, len(answers)) != answers:
        raise SystemExit("other answers than were learned")
    if front.forget([TOPIC]) != b"\x01":
        raise SystemExit("the look-ups were not noticed")
    peer.sendall(framed(HEADER))
    if not select.select([front.fileno()], [], [], SECONDS)[0]:
        raise SystemExit("the socket does not come back")
    ((loan, unread, unsent, *_),) = front.take_returned()
    if (loan, unread, unsent) != (5, framed(HEADER), b"") or front.take_counts() != [(0, 3)]:
        raise SystemExit("the socket came back with something else")
    front.stop()
    print(
        f"used on {platform.machine()}, {' '.join(platform.libc_ver()) or 'no glibc'}, {sys.version.split()[0]}"
    )


if __name__ == "__main__":
    main(sys.argv[1])
