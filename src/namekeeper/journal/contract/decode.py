"""A line of a journal -> its record, or a typed reason why it is none.

Nothing is guessed: what can't be read is missing, and what is missing is a loss (`replay.py`).
"""

from collections import Counter
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import cache
from operator import itemgetter
from typing import Any, Union

import msgspec
from msgspec import Struct

from namekeeper.journal.contract.lines import Line, read_envelope
from namekeeper.journal.contract.record import (
    CONTRACT_VERSION,
    KINDS,
    NO_MAPPING,
    Envelope,
    Record,
    TopicMapping,
    TopicQueues,
)
from namekeeper.messages.body_types import RawMapping
from namekeeper.model.mapping import TopicQueueMappingInfo
from namekeeper.wire import fastjson

__all__ = ["LineProblem", "RecordReader", "Unreadable", "mapping_of"]


class LineProblem(StrEnum):
    """Why a line is no record."""

    CUT = "torn or too long"
    NEWER = "written by a newer namekeeper"
    MALFORMED = "no record of this version"


class Unreadable(Struct, frozen=True):
    """A line that gives no record."""

    problem: LineProblem
    number: int
    """Of the line in its file, from 1."""
    detail: str


class RecordReader:
    """Reads lines; on request without the rows of other topics, which costs a tenth.

    Of a kind that is not known, and of topic rows that were left out, only the envelope comes: their place in
    the order counts.
    """

    def __init__(self, topic: str | None = None, skip: frozenset[str] = frozenset()) -> None:
        """Prepare.

        Args:
            topic: read topic rows of this topic only.
            skip: kinds of which the envelope is enough.
        """
        self.unreadable: Counter[LineProblem] = Counter()
        self.unknown_kinds: Counter[str] = Counter()
        self.first_unreadable: Unreadable | None = None
        self._decode = _decoder().decode
        self._wanted = topic
        self._topic = None if topic is None else msgspec.json.encode(topic)
        self._skip = tuple(b'{"kind":"%b"' % kind.encode() for kind in sorted(skip))

    def __call__(self, line: Line) -> Record | Envelope | None:
        """The record of a line; None for one that has none, which is counted."""
        if line.problem:
            self._refuse(LineProblem.CUT, line, line.problem)
            return None
        if self._is_beside_the_point(line.data):
            return self._envelope(line, "")
        try:
            record = self._decode(line.data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            return self._envelope(line, str(error))
        if self._wanted is not None and type(record) is TopicQueues:
            record.rows = [row for row in record.rows if row and row[0] == self._wanted]
        problem = _what_is_wrong(record)
        return self._envelope(line, problem) if problem else record

    def _is_beside_the_point(self, data: bytes) -> bool:
        if data.startswith(self._skip):
            return True
        topic = self._topic
        return (
            topic is not None
            and data.startswith(_TOPIC_QUEUES)
            and topic not in data
            and b"\\" not in data  # an escape could spell the topic in another way
        )

    def _envelope(self, line: Line, problem: str) -> Envelope | None:
        """The envelope of a record that is not wanted whole or, because of `problem`, can't be had whole."""
        envelope = read_envelope(line)
        if isinstance(envelope, str):
            self._refuse(LineProblem.MALFORMED, line, envelope)
            return None
        if envelope.v > CONTRACT_VERSION:
            self._refuse(LineProblem.NEWER, line, _newer(envelope.v))
            return None
        if envelope.v < CONTRACT_VERSION or (problem and envelope.kind in _NAMES):
            self._refuse(LineProblem.MALFORMED, line, f"{envelope.kind}, version {envelope.v}: {problem}")
            return None
        if problem:
            self.unknown_kinds[envelope.kind] += 1
        return envelope

    def _refuse(self, problem: LineProblem, line: Line, detail: str) -> None:
        self.unreadable[problem] += 1
        if self.first_unreadable is None:
            self.first_unreadable = Unreadable(problem, line.number, detail)


def mapping_of(record: TopicMapping) -> TopicQueueMappingInfo | None:
    """The mapping that a record holds; None when it ended.

    Raises:
        ValueError: it isn't one.
    """
    data = bytes(record.mapping)
    return None if data == _NULL else fastjson.decode(data, RawMapping).to_model()


_NULL = bytes(NO_MAPPING)
_TOPIC_QUEUES = b'{"kind":"topic_queues"'
_NAMES = frozenset(str(kind.__struct_config__.tag) for kind in KINDS)


@cache
def _decoder() -> msgspec.json.Decoder[Record]:
    return msgspec.json.Decoder(Union[KINDS])  # noqa: UP007 - a union of a tuple can't be written otherwise


def _newer(version: int) -> str:
    return f"version {version} of the contract, this namekeeper knows {CONTRACT_VERSION}: use a newer one"


def _what_is_wrong(record: Record) -> str:
    """What types don't say; empty if nothing is."""
    if record.v != CONTRACT_VERSION or not 1 <= record.change <= record.seq or record.boot < 1:
        return "its version or its place can't be"
    check = _CHECKS.get(type(record))
    return "" if check is None else check(record)


def _check_rows(record: TopicQueues) -> str:
    rows = record.rows
    if set(map(len, rows)) <= _ROW_LENGTHS and set(map(type, map(_first, rows))) <= {str}:
        numbers = {number for queues in set(map(_rest, rows)) for number in map(type, queues)}
        if numbers <= {int}:
            return ""
    return "a row is neither [topic] nor [topic, read, write, perm, sysFlag]"


def _check_mapping(record: TopicMapping) -> str:
    try:
        mapping = mapping_of(record)
    except ValueError as error:
        return f"mapping: {error}"
    return "" if (mapping is None) == record.gone else "either its mapping is there, or it is gone"


_ROW_LENGTHS = {1, 5}
_first, _rest = itemgetter(0), itemgetter(slice(1, None))
_CHECKS: Mapping[type[Record], Callable[[Any], str]] = {
    TopicQueues: _check_rows,
    TopicMapping: _check_mapping,
}
