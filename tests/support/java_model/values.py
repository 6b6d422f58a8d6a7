"""What the model of the Java name server takes and gives, and registration bodies as Java 5.x reads them.

Written from protocol.md 1.10 and 3 alone; shares no code with the server under test.
"""

import json
import re
import zlib
from dataclasses import dataclass, field
from typing import Any, NamedTuple

__all__ = [
    "ANY", "Answer", "BadBodyError", "Body", "OneOf", "Request", "SomeOf", "TableOf", "Text", "Topic", "Version", "flag_of", "from_json",
    "number", "read_body", "read_version",
]  # fmt: skip

FIRST_WITH_REGISTER_BODY = 37  # 3.0.11
FIRST_WITH_MAPPING_SECTION = 413  # 5.0.0
_BARE_KEY = re.compile(r'"(?:[^"\\]|\\.)*"|([{,])(-?\d+):')
_MAY_BE_BARE = re.compile(r"[{,]-?\d+:")
_DECIMAL = re.compile(r"[+-]?\d+\Z")  # of any script, as in Java


class _Any:
    """Equal to everything: a value that Java takes from its clock or from the text of an exception."""

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return "ANY"


ANY = _Any()


@dataclass(frozen=True, slots=True, eq=False)
class OneOf:
    """Equal to each of some values: Java takes the first in hash order."""

    values: frozenset[Any]

    def __eq__(self, other: object) -> bool:
        return other.values == self.values if isinstance(other, OneOf) else other in self.values

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, slots=True, eq=False)
class SomeOf:
    """Equal to every sorted list that has all of `must` and nothing beyond `may`: hash order decides."""

    must: frozenset[str]
    may: frozenset[str]

    def __eq__(self, other: object) -> bool:
        if isinstance(other, SomeOf):
            return (other.must, other.may) == (self.must, self.may)
        return isinstance(other, list) and self.must <= set(other) <= self.must | self.may

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, slots=True, eq=False)
class TableOf:
    """Equal to every table of lists that has one of the choices for each key, where an empty one is absent."""

    choices: dict[str, set[tuple[str, ...]]]

    def __eq__(self, other: object) -> bool:
        if isinstance(other, TableOf):
            return other.choices == self.choices
        if not isinstance(other, dict) or not other.keys() <= self.choices.keys():
            return False
        return all(tuple(other.get(key, ())) in choices for key, choices in self.choices.items())

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, slots=True, eq=False)
class Text:
    """Equal to every text that contains `part`."""

    part: str

    def __eq__(self, other: object) -> bool:
        return (
            other.part == self.part
            if isinstance(other, Text)
            else isinstance(other, str) and self.part in other
        )

    __hash__ = None  # type: ignore[assignment]


class BadBodyError(Exception):
    """Java throws: the request is answered with code 1."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request, as it goes on the wire."""

    code: int
    fields: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    version: int = 513
    one_way: bool = False
    binary: bool = False
    fraction: float = 0.0
    """Added to the code in a JSON header: every server cuts it off."""

    def crc32(self) -> int:
        """Return the CRC that the header should carry (protocol.md 3.7)."""
        return zlib.crc32(self.body) & 0x7FFFFFFF


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer as a value; `fields` is None when there is no extFields member."""

    code: int = 0
    remark: Any = None
    fields: Any = None
    body: Any = None


class Version(NamedTuple):
    """A DataVersion; one without a timestamp gets that of decoding, so it equals no other."""

    timestamp: Any
    counter: int
    state: int

    def shown(self) -> dict[str, Any]:
        """Return it as JSON shows it."""
        stamp = self.timestamp if isinstance(self.timestamp, int) else ANY
        return {"timestamp": stamp, "counter": self.counter, "stateVersion": self.state}


class Topic(NamedTuple):
    """One topic configuration; the name is its own, not the key it came under."""

    name: str
    read: int = 16
    write: int = 16
    perm: int = 6
    flag: int = 0


@dataclass(slots=True)
class Body:
    """A decoded registration body."""

    version: Version
    topics: dict[str, Topic] = field(default_factory=dict)
    filters: list[str] | None = field(default_factory=list)
    is_table_null: bool = False
    """Whether the body has a table of topics that is `null`."""
    mappings: dict[str, dict[str, Any]] = field(default_factory=dict)


def number(text: str | None, default: int | None = None, bits: int = 64) -> int | None:
    """Read a header number as Java does: malformed or out of range means the default."""
    if text is None or not _DECIMAL.match(text):
        return default
    value = int(text)
    return value if -(1 << (bits - 1)) <= value < 1 << (bits - 1) else default


def flag_of(text: str | None) -> bool:
    """Read a header boolean: anything but `true` in any case is false."""
    return text is not None and text.lower() == "true"


def from_json(text: bytes | str) -> Any:
    """Read JSON whose maps may have bare integer keys: those come back as integers, quoted ones as strings."""
    if isinstance(text, bytes):
        text = text.decode()
    if not _MAY_BE_BARE.search(text):
        return json.loads(text)
    marked = _BARE_KEY.sub(
        lambda match: match[0] if match[1] is None else f'{match[1]}"\\u0000{match[2]}":', text
    )
    return json.loads(marked, object_pairs_hook=_with_integer_keys)


def _with_integer_keys(pairs: list[tuple[str, Any]]) -> dict[Any, Any]:
    return {int(key[1:]) if key.startswith("\0") else key: value for key, value in pairs}


def read_version(value: Any) -> Version:
    """Read a DataVersion object; what it lacks has Java's default."""
    value = value if isinstance(value, dict) else {}
    stamp = value.get("timestamp", object())
    return Version(stamp, int(value.get("counter") or 0), int(value.get("stateVersion") or 0))


def read_body(request: Request, *, lenient: bool = False) -> Body:
    """Read the body of a registration whose CRC was right (protocol.md 3.1).

    `lenient` reads what Java does not (a listed difference): a compressed body without its flag, each of the
    two JSON forms before 3.0.11, a mapping section under a version that need not have one.
    """
    is_old = request.version < FIRST_WITH_REGISTER_BODY
    if not request.body:
        return Body(Version(0, 0, 0), filters=None if is_old and request.version else [])
    is_flagged = flag_of(request.fields.get("compressed"))
    if (is_flagged and not is_old) or (lenient and (is_flagged or request.body.startswith(b"\x78"))):
        return _read_compressed(request, lenient=lenient)
    whole = _object(request.body)
    if is_old and not (lenient and {"filterServerList", "topicConfigSerializeWrapper"} & whole.keys()):
        mappings = (whole.get("topicQueueMappingInfoMap") or {}) if lenient else {}
        return Body(
            read_version(whole.get("dataVersion")), _topics(whole), filters=None, mappings=_mappings(mappings)
        )
    wrapper = whole.get("topicConfigSerializeWrapper") or {}
    body = Body(read_version(wrapper.get("dataVersion")), _topics(wrapper))
    body.is_table_null = wrapper.get("topicConfigTable", {}) is None
    body.filters = whole.get("filterServerList", [])
    body.mappings = _mappings(wrapper.get("topicQueueMappingInfoMap") or {})
    return body


def _mappings(table: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {topic: shown_mapping(info) for topic, info in table.items()}


def shown_mapping(info: dict[str, Any]) -> dict[str, Any]:
    """Return a TopicQueueMappingInfo as Java would write it again, with integer keys."""
    defaults = {"currIdMap": {}, "dirty": False, "epoch": 0, "scope": "__global__", "totalQueues": 0}
    known = {
        key: value
        for key, value in info.items()
        if key in {*defaults, "bname", "topic"} and value is not None
    }
    ids = {int(key): int(value) for key, value in known.get("currIdMap", {}).items()}
    return {**defaults, **known, "currIdMap": ids}


def _object(text: bytes) -> dict[str, Any]:
    try:
        value = from_json(text)
    except ValueError as error:
        raise BadBodyError(str(error)) from error
    if not isinstance(value, dict):
        raise BadBodyError("not an object")
    return value


def _topics(wrapper: dict[str, Any]) -> dict[str, Topic]:
    members = (
        ("topicName", None),
        ("readQueueNums", 16),
        ("writeQueueNums", 16),
        ("perm", 6),
        ("topicSysFlag", 0),
    )
    table = wrapper.get("topicConfigTable") or {}
    return {
        key: Topic(*(config.get(member, default) for member, default in members))
        for key, config in table.items()
    }


def _read_compressed(request: Request, *, lenient: bool) -> Body:
    try:
        cursor = _Cursor(zlib.decompress(request.body))
    except zlib.error as error:
        raise BadBodyError(str(error)) from error
    body = Body(read_version(_object(cursor.block())))
    for _ in range(cursor.int32()):
        topic = _topic_of(cursor.block().decode())
        body.topics[topic.name] = topic
    try:
        body.filters = json.loads(cursor.block())
    except ValueError:
        body.filters = []
    must = request.version >= FIRST_WITH_MAPPING_SECTION
    if must or lenient:
        try:
            infos = [_object(cursor.block()) for _ in range(cursor.int32())]
        except BadBodyError:
            if must:
                raise
            infos = []
        body.mappings = _mappings({info["topic"]: info for info in infos})
    return body


def _topic_of(text: str) -> Topic:
    parts = text.rstrip(" ").split(" ")
    if len(parts) < 5 or parts[4] not in {"SINGLE_TAG", "MULTI_TAG"}:
        raise BadBodyError(text)
    numbers = [number(part, bits=32) for part in parts[1:4]]
    if None in numbers:
        raise BadBodyError(text)
    return Topic(parts[0], *numbers)  # type: ignore[arg-type]


class _Cursor:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def int32(self) -> int:
        return int.from_bytes(self.take(4), "big", signed=True)

    def block(self) -> bytes:
        return self.take(self.int32())

    def take(self, size: int) -> bytes:
        if size < 0 or self.at + size > len(self.data):
            raise BadBodyError("premature end")
        self.at += size
        return self.data[self.at - size : self.at]
