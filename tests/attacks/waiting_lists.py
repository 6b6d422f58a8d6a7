"""Attacks by requests for lists, which wait while other peers leave no room for large answers."""

import contextlib
import socket
import threading
import time

from tests.attacks.crowds import allow_connections
from tests.attacks.peers import Target, Wire, frame, opened, wait_for_the_end

__all__ = ["ask_with_bodies_and_leave", "fill_budget_for_lists"]

SLOW_READERS = 14
"""Answers of 10.8 MB take more than the room for large answers."""
READ_AT_ONCE = 1_700_000
"""The kernel takes more of an answer when a third of its buffer is free."""
READ_PAUSE_SECONDS = 3.0
"""A peer that reads nothing for 5 s is disconnected."""
TAKEN_SECONDS = 2.0


def ask_with_bodies_and_leave(target: Target) -> None:
    """Ask for lists in requests of 8 MB, and leave before there is room for the answers."""
    allow_connections()
    _read_slowly(target)
    with Wire(target.port) as first:
        first.send(frame(206))  # the others wait behind it
        asked = frame(206, {}, b"y" * 8_000_000)
        for _ in range(target.times(24)):
            threading.Thread(target=_ask_and_leave, args=(target.port, asked), daemon=True).start()
        wait_for_the_end()


def _ask_and_leave(port: int, data: bytes) -> None:
    while True:
        with contextlib.suppress(OSError), Wire(port) as wire:
            wire.send(data)
            time.sleep(0.05)


def fill_budget_for_lists(target: Target) -> None:
    """Ask for lists in large requests over 100 connections, and stay."""
    _read_slowly(target)
    moderate, large = frame(206, {}, b"y" * 1_000_000), frame(206, {}, b"y" * 15_000_000)
    with opened(target.port, target.times(100)) as wires:
        for index, wire in enumerate(wires):
            wire.socket.settimeout(1.0)
            with contextlib.suppress(OSError):  # the budget admits no more
                wire.send(large if index % 6 == 5 else moderate)
        wait_for_the_end()


def _read_slowly(target: Target) -> None:
    """Ask for large answers, and read enough of them that the server keeps the connections."""
    asked = frame(219, {"namespace": "Large"})
    for _ in range(SLOW_READERS):
        reader = socket.socket()
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
        reader.connect(("127.0.0.1", target.port))
        reader.sendall(asked)
        threading.Thread(target=_read_on, args=(reader, asked), daemon=True).start()
    time.sleep(TAKEN_SECONDS)


def _read_on(reader: socket.socket, asked: bytes) -> None:
    with contextlib.suppress(OSError):
        while True:
            time.sleep(READ_PAUSE_SECONDS)
            left = READ_AT_ONCE
            while left > 0:
                left -= len(reader.recv(65_536)) or left
            reader.sendall(asked)
