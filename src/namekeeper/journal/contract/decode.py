"""Decodes a line of a journal: its record, or the reason why it has none.

Nothing is guessed: a record that can't be read counts as lost (`journal/reading/history.py`).
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cache
from types import GenericAlias
from typing import Any, Union

import msgspec
from msgspec import Struct, ValidationError, structs

from namekeeper.foreign_json import UNREADABLE_JSON
from namekeeper.journal.contract.blocks import Block, BlockSummary
from namekeeper.journal.contract.kinds import KINDS
from namekeeper.journal.contract.lines import (
    SHORT_BYTES,
    Line,
    foreign_to,
    impossible_in,
    read_envelope,
    split_lines,
)
from namekeeper.journal.contract.names import SegmentName
from namekeeper.journal.contract.narrow import only_rows_of
from namekeeper.journal.contract.record import (
    CONTRACT_VERSION,
    NO_MAPPING,
    Envelope,
    Record,
    TopicMapping,
    TopicQueues,
    TopicQueuesRow,
)
from namekeeper.journal.contract.skipped import SkippedRecords, skipped_records
from namekeeper.messages.body_types import RawMapping
from namekeeper.model.mapping import TopicQueueMappingInfo
from namekeeper.wire import fastjson

__all__ = ["LineProblem", "RecordReader", "Unreadable", "mapping_of"]


class LineProblem(StrEnum):
    """Why a line has no record."""

    DAMAGED = "torn, altered or too long"
    NEWER = "written by a newer namekeeper"
    MALFORMED = "no record of this version"
    FOREIGN = "of another name server or boot than the segment's name says"


class Unreadable(Struct, frozen=True):
    """A line without a record."""

    problem: LineProblem
    number: int
    """Number of the line in its file, from 1."""
    detail: str


class RecordReader:
    """Decodes lines; on request only the topic rows of one name, which takes a tenth of the time.

    A record of an unknown kind, or of skipped rows, is returned as its `Envelope`, because its position
    counts.
    """

    def __init__(self, name: str | None = None, skip: frozenset[str] = frozenset()) -> None:
        """Prepare.

        Args:
            name: read topic rows of the topic or the broker name of this name only; None reads all.
            skip: kinds of which only the envelope is wanted.
        """
        self.unreadable: Counter[LineProblem] = Counter()
        self.unknown_kinds: Counter[str] = Counter()
        self.first_unreadable: Unreadable | None = None
        self._decode = _decoder().decode
        self._wanted = name
        self._name = None if name is None else msgspec.json.encode(name)
        self._skip_kinds = skip
        self._skip = tuple(b'{"kind":"%b"' % kind.encode() for kind in sorted(skip))

    def __call__(self, line: Line, segment: SegmentName | None = None) -> Record | Envelope | None:
        """The record of a line; None if it has none, which is counted in `unreadable`.

        Args:
            line: one line of a segment, with its problem if it has one.
            segment: Where it was read: a record of another name server or boot is none. None: anywhere.
        """
        record = self._read(line)
        if record is None or segment is None:
            return record
        problem = foreign_to(segment, record)
        if problem:
            self._refuse(LineProblem.FOREIGN, line, problem)
            return None
        return record

    def read(
        self, lines: Iterable[Line], segment: SegmentName
    ) -> Iterator[Record | Envelope | SkippedRecords]:
        """The records of the lines of a segment; most skipped records are returned as groups."""
        skip = self._skip
        skipped: list[Line] = []
        size = 0
        for line in lines:
            data = line.data
            is_skipped = data.startswith(skip) or self._is_skipped(data)  # the first test is true for most
            if is_skipped and not line.problem and len(skipped) < _MOST_SKIPPED and size < _MOST_BYTES:
                skipped.append(line)
                size += len(data)
                continue
            yield from self._read_skipped(skipped, segment)
            skipped, size = [], 0
            record = self(line, segment)
            if record is not None:
                yield record
        yield from self._read_skipped(skipped, segment)

    def can_skip(self, summary: BlockSummary) -> bool:
        """Whether only the positions of the records of a block are wanted, but for rows of a checkpoint."""
        return summary.first > 0 and self._skip_kinds.issuperset(summary.kinds) and summary.is_possible

    def read_block(
        self, block: Block, begin: int, segment: SegmentName
    ) -> Iterator[Record | Envelope | SkippedRecords]:
        """The records of a block, as `read` gives them.

        Args:
            block: one whose summary does not let it be skipped.
            begin: number of lines before it in the segment.
            segment: where it was read.
        """
        summary, text = block.summary, block.text()
        if (
            not summary.is_right
            or text.count(b"\n") != summary.lines
            or len(text) < SHORT_BYTES * summary.lines
        ):
            yield from self.read(split_lines([text], begin=begin), segment)
            return
        texts = text.split(b"\n")[:-1]
        if not summary.first or summary.rows:
            lines = (Line(number, data) for number, data in enumerate(texts, begin + 1))
            yield from self.read(lines, segment)
            return
        skip = self._skip
        skipped_from = 0
        for at, data in enumerate(texts):
            if data.startswith(skip) or self._is_skipped(data):
                continue
            yield from self._read_own_changes(texts[skipped_from:at], segment)
            skipped_from = at + 1
            record = self(Line(begin + at + 1, data), segment)
            if record is not None:
                yield record
        yield from self._read_own_changes(texts[skipped_from:], segment)

    def _read_own_changes(
        self, texts: Sequence[bytes], segment: SegmentName
    ) -> Iterator[Record | Envelope | SkippedRecords]:
        """Skipped records of a block whose summary says that each is a change of its own, in order."""
        ends = [texts[0], texts[-1]] if len(texts) > 1 else texts
        found = [self(Line(0, data), segment) for data in ends]
        if len(found) == 2 and isinstance(found[0], Envelope) and isinstance(found[1], Envelope):
            yield SkippedRecords(found[0], found[1])
        else:
            yield from (each for each in found if each is not None)

    def _read_skipped(
        self, lines: list[Line], segment: SegmentName
    ) -> Iterator[Record | Envelope | SkippedRecords]:
        together = skipped_records(lines, segment) if len(lines) > 1 else None
        if together is not None:
            yield together
            return
        for line in lines:
            record = self(line, segment)
            if record is not None:
                yield record

    def _read(self, line: Line) -> Record | Envelope | None:
        if line.problem:
            self._refuse(LineProblem.DAMAGED, line, line.problem)
            return None
        if self._is_skipped(line.data):
            return self._envelope(line, "")
        data = line.data
        if self._name is not None and data.startswith(_TOPIC_QUEUES):
            data = only_rows_of(data, self._name)
        try:
            record = self._decode(data)
        except UNREADABLE_JSON as error:
            return self._envelope(line, str(error))
        wanted = self._wanted
        if wanted is not None and type(record) is TopicQueues and record.broker_name != wanted:
            record.rows = [row for row in record.rows if row and row[0] == wanted]
        problem = _problem_of(record)
        return self._envelope(line, problem) if problem else record

    def _is_skipped(self, data: bytes) -> bool:
        if data.startswith(self._skip):
            return True
        name = self._name
        return (
            name is not None
            and data.startswith(_TOPIC_QUEUES)
            and name not in data
            and b"\\" not in data  # with an escape the name could be spelt in another way
        )

    def _envelope(self, line: Line, problem: str) -> Envelope | None:
        """The envelope of a record that was skipped (`problem` is empty) or could not be decoded."""
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
    """The mapping in a record; None if the record says that the mapping is gone.

    Raises:
        ValueError: the record holds something else.
    """
    data = bytes(record.mapping)
    return None if data == _NULL else fastjson.decode(data, RawMapping).to_model()


_MOST_SKIPPED = 500
"""Lines that are kept to be read together."""
_MOST_BYTES = 1 << 20
"""Bytes of these lines; usually they have a tenth of it."""
_NULL = bytes(NO_MAPPING)
_TOPIC_QUEUES = b'{"kind":"topic_queues"'
_NAMES = frozenset(str(kind.__struct_config__.tag) for kind in KINDS)


@cache
def _decoder() -> msgspec.json.Decoder[Record]:
    return msgspec.json.Decoder(Union[KINDS])  # noqa: UP007 - a union of a tuple can't be written otherwise


def _newer(version: int) -> str:
    return f"version {version} of the contract; this namekeeper reads {CONTRACT_VERSION}: use a newer one"


def _problem_of(record: Record) -> str:
    """A problem that the types of the members do not rule out; empty if there is none."""
    if record.v != CONTRACT_VERSION:
        return f"version {record.v} is impossible"
    problem = impossible_in(record)
    if problem:
        return problem
    check = _CHECKS.get(type(record))
    return "" if check is None else check(record)


def _check_rows(record: TopicQueues) -> str:
    if _has_rows(record, _WHOLE_ROWS):
        return ""  # the usual case, in which no row is gone
    gone = structs.replace(record, rows=[row for row in record.rows if len(row) == 1])
    others = structs.replace(record, rows=[row for row in record.rows if len(row) != 1])
    if _has_rows(gone, _GONE_ROWS) and _has_rows(others, _WHOLE_ROWS):
        return ""
    return "a row is neither [topic] nor [topic, read, write, perm, sysFlag]"


def _has_rows(record: TopicQueues, wanted: type[Struct]) -> bool:
    """Whether the rows of a record have the types of those of a struct."""
    try:
        msgspec.convert(record, wanted, from_attributes=True)
    except ValidationError:
        return False
    return True


def _check_mapping(record: TopicMapping) -> str:
    try:
        mapping = mapping_of(record)
    except ValueError as error:
        return f"mapping: {error}"
    return "" if (mapping is None) == record.gone else "it must have either a mapping or gone"


def _struct_of_rows(*types: Any) -> type[Struct]:  # noqa: ANN401 - types of fields
    """A struct with rows of some types, whose decoder checks them faster than a loop does."""
    return msgspec.defstruct("Rows", [("rows", GenericAlias(list, (GenericAlias(tuple, types),)))])


_KEY_TYPE, *_VALUE_TYPES = (field.type for field in structs.fields(TopicQueuesRow))
_WHOLE_ROWS, _GONE_ROWS = _struct_of_rows(_KEY_TYPE, *_VALUE_TYPES), _struct_of_rows(_KEY_TYPE)
_CHECKS: Mapping[type[Record], Callable[[Any], str]] = {
    TopicQueues: _check_rows,
    TopicMapping: _check_mapping,
}
