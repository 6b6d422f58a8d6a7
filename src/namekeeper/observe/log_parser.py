"""Causes of changes in the log of Java's name server, of the 4.x and 5.x lines: bytes in, entries out.

The time of a line is not read: its zone and its form are settings of the log. The time at which the observer
reads the line counts.
"""

import re
from collections import deque
from collections.abc import Iterable
from enum import StrEnum

from msgspec import Struct

__all__ = ["LINE_BYTES", "LogEntry", "LogKind", "LogParser", "Subject"]

LINE_BYTES = 16 * 1024
"""Bytes of a line that are looked at; a line may print a KV value of any size."""
NAME_LENGTH = 1_024
"""Longest name in an entry, as in an answer."""
SUBMITTED_MS = 5_000
"""How long the end of a broker may wait for the thread that removes it; then it counts no more."""
SUBMITTED_LIMIT = 10_000
"""Most ends of brokers that wait for it."""
BURST_MS = 1_000
"""Removals that are so close may have been submitted in another order than their lines."""
BURST_LIMIT = 100
"""Most removals of a burst; a line may give each of them another cause."""

Subject = tuple[str, ...]
"""The subject of an entry: the address of a broker, a broker name, a topic, or namespace and key."""


class LogKind(StrEnum):
    """The kinds of entries."""

    REGISTERED = "registered"
    """A broker is new. The subject of this kind and of the next four is the address of a broker."""
    EXPIRED = "expired"
    CLOSED = "closed"
    UNREGISTERED = "unregistered"
    REMOVED = "removed"
    """A broker is gone, and other lines leave open why."""
    WIPED = "wiped"
    """The write permission of a broker name was wiped."""
    ADDED = "added"
    """The write permission of a broker name was added."""
    TOPIC_DELETED = "topic deleted"
    TOPIC_LEFT_OUT = "topic left out"
    """The last broker with a topic registered without it."""
    KV_PUT = "kv put"
    KV_DELETED = "kv deleted"
    CONFIGURED = "configured"
    """Properties were changed; it has no subject."""


class LogEntry(Struct, frozen=True):
    """The cause of a change."""

    kind: LogKind
    subject: Subject
    peer: str | None = None
    """Address of the client that asked, if the line has it."""


_BROKER = r"(?:\w+ \[clusterName=.*?, brokerAddr=(?P<five>[^\]\s]+)\]|(?P<four>[^\s\[\],]+))"
_KEY = r"Namespace: (?P<space>\S+) Key: (?P<key>\S+) Value: "
_FORMS: tuple[tuple[LogKind, str], ...] = (
    (LogKind.EXPIRED, rf"The broker channel expired, {_BROKER} \d+ms"),
    (LogKind.REGISTERED, rf"new broker registered, {_BROKER} HA(?:Server|Service): "),
    (LogKind.CLOSED, rf"the broker's channel destroyed, {_BROKER}, clean it's data structure at once"),
    (LogKind.WIPED, r"wipe write perm of broker\[(?P<name>[^\]]+)\], client: (?P<peer>\S+), \d+"),
    (LogKind.ADDED, r"add write perm of broker\[(?P<name>[^\]]+)\], client: (?P<peer>\S+), \d+"),
    (LogKind.TOPIC_DELETED, r"deleteTopic, remove the topic all queue \S+ (?P<name>\S+)$"),
    (LogKind.TOPIC_LEFT_OUT, r"deleteTopic, remove the topic all queue (?P<name>\S+)$"),
    (LogKind.KV_PUT, rf"putKVConfig \w+ (?:new )?config item, {_KEY}"),
    (LogKind.KV_DELETED, rf"deleteKVConfig delete a config item, {_KEY}"),
    (LogKind.CONFIGURED, r"updateConfig called by (?P<peer>\S+)"),
)  # fmt: skip
_PATTERNS = [(kind, re.compile(form)) for kind, form in _FORMS]
_SUBMITTED = re.compile(
    r"the broker's channel destroyed, submit the unregister request .*, submit result: true"
)
_REMOVED = re.compile(rf"unregisterBroker, remove from brokerLiveTable (?P<result>OK|Failed), {_BROKER}$")
_INTERESTING = re.compile(rb"broker|deleteTopic, |KVConfig |updateConfig called by ", re.IGNORECASE)
"""Most lines have nothing of this; they are passed over at the speed of C."""
_SEPARATOR = " - "
"""Between the head of a line and its message, in the configuration of every release."""


class LogParser:
    """Reads a log piece by piece. Its memory is bounded by a line.

    In 5.x a connection that closes has two lines. The first one submits the removal without naming the
    broker. The second one removes a broker, also a broker that unregistered. So the lines of a burst are
    counted. The thread that removes brokers may write its line first.
    """

    def __init__(self) -> None:
        self._partial = b""
        self._submitted: deque[int] = deque()
        """When each removal that was submitted was read, and that has no line of its own yet."""
        self._burst = _Burst()

    def reset(self) -> None:
        """Forget a line that was not ended: the file goes on elsewhere."""
        self._partial = b""

    def feed(self, data: bytes, now_ms: int) -> list[LogEntry]:
        """The entries of the lines that end in a piece.

        Args:
            data: the bytes that follow those of the last call. Zero bytes are left out: they are holes of a
                truncated file, or parts of UTF-16.
            now_ms: when they were read, monotonic.
        """
        lines = data.replace(b"\0", b"").split(b"\n")
        found: list[LogEntry] = []
        for line in lines[:-1]:
            whole = self._partial + line if self._partial else line
            self.reset()
            if _INTERESTING.search(whole, 0, LINE_BYTES):
                text = whole[:LINE_BYTES].decode("utf-8", "replace").rstrip("\r")
                found += self._entries(text.partition(_SEPARATOR)[2] or text, now_ms)
        self._partial = (self._partial + lines[-1])[:LINE_BYTES]
        return [one for one in found if all(len(name) <= NAME_LENGTH for name in one.subject)]

    def _entries(self, message: str, now_ms: int) -> Iterable[LogEntry]:
        if _SUBMITTED.match(message):
            return self._submit(now_ms)
        removed = _REMOVED.match(message)
        if removed:
            return self._remove(removed, now_ms)
        for kind, pattern in _PATTERNS:
            match = pattern.match(message)
            if match:
                return (_entry(kind, match),)
        return ()

    def _submit(self, now_ms: int) -> Iterable[LogEntry]:
        """The line of a connection that closed; its removal comes later, or has just come."""
        if now_ms - self._burst.last_ms <= BURST_MS and self._burst.submitted < len(self._burst.brokers):
            self._burst.submitted += 1
            return self._burst.entries(0)
        self._submitted.append(now_ms)
        if len(self._submitted) > SUBMITTED_LIMIT:
            self._submitted.popleft()
        return ()

    def _remove(self, match: re.Match[str], now_ms: int) -> Iterable[LogEntry]:
        """The line of the thread that removes brokers: each removal that was submitted has one."""
        while self._submitted and self._submitted[0] < now_ms - SUBMITTED_MS:
            self._submitted.popleft()
        if now_ms - self._burst.last_ms > BURST_MS or len(self._burst.brokers) >= BURST_LIMIT:
            self._burst = _Burst()
        burst, before = self._burst, self._burst.kind
        burst.last_ms = now_ms
        if self._submitted:
            self._submitted.popleft()
            burst.submitted += 1
        burst.brokers.append(_entry(LogKind.REMOVED, match).subject if match["result"] == "OK" else None)
        return burst.entries(len(burst.brokers) - 1 if burst.kind is before else 0)


class _Burst(Struct):
    """Removals that are close together. The log does not say which of them closed connections submitted."""

    brokers: list[Subject | None] = []
    """The brokers in the order of their lines; None: it was removed before."""
    submitted: int = 0
    """Removals that were submitted by closed connections."""
    last_ms: int = 0
    """When the last removal was read."""

    @property
    def kind(self) -> LogKind:
        """The kind of all removals."""
        if not self.submitted:
            return LogKind.UNREGISTERED
        return LogKind.CLOSED if self.submitted == len(self.brokers) else LogKind.REMOVED

    def entries(self, first: int) -> list[LogEntry]:
        """The entries of the removals from one on."""
        kind = self.kind
        return [LogEntry(kind, broker) for broker in self.brokers[first:] if broker is not None]


def _entry(kind: LogKind, match: re.Match[str]) -> LogEntry:
    found = match.groupdict()
    names = ("five", "four", "name", "space", "key")
    subject = tuple(found[name] for name in names if found.get(name) is not None)
    return LogEntry(kind, subject, found.get("peer"))
