"""JSON as Java's peers write and read it: fastjson's dialects (protocol.md 1.11).

Standard JSON is read by msgspec alone. Bare numeric keys, which 4.x and 5.x peers write for maps with numbers
as keys (trap T3), are quoted first. Only other texts need the slow reader in `lenient_json`.
"""

import re
from collections.abc import Generator
from typing import Any, TypeVar

import msgspec

from namekeeper.common.slices import run_slices
from namekeeper.wire.coercion import coerce
from namekeeper.wire.lenient_json import MAX_DEPTH, DialectError, parse

__all__ = [
    "MAX_BARE_KEYS",
    "MAX_COERCED_BYTES",
    "MAX_LENIENT_BYTES",
    "DialectError",
    "decode",
    "decode_in_slices",
    "loads",
    "quote_bare_keys",
    "resolve_refs",
]

MAX_LENIENT_BYTES = 16_384
"""Largest text for the slow reader, which holds up the event loop for nearly a microsecond a byte.

Large bodies come from brokers, whose dialect (bare numeric keys) doesn't need it.
"""

MAX_COERCED_BYTES = 524_288
"""Largest text that is not UTF-8, or whose values have other types than were asked for: it takes a tenth of a
microsecond a byte, and several times its size in memory. No broker sends either.
"""

MAX_BARE_KEYS = 262_144
"""Most bare numeric keys in one body; each takes the event loop a microsecond or two.

They are the queues of static topics, of which a broker has hundreds, not hundreds of thousands.
"""

T = TypeVar("T")

_STRICT_ERRORS = (ValueError, RecursionError)
"""Errors of msgspec: its own and UnicodeDecodeError are ValueErrors."""

_BARE_KEY = re.compile(rb"[{,]\s*+(-?[0-9]++)\s*+:")
_CUT = re.compile(rb'[^\s0-9:"\\-]')
_SLICE_BYTES = 131_072
"""Bytes searched for bare keys in one slice: some milliseconds."""
_KEY_BYTES = 131_072
"""Largest bare key with the blanks around it, and the most quotes and backslashes in a row."""
_PATH_STEP = re.compile(r"\.((?:[^.\\\[]|\\.)+)|\[([0-9]{1,9})\]", re.DOTALL)

_decode_any = msgspec.json.Decoder().decode
_decoders: dict[object, msgspec.json.Decoder[Any]] = {}


def decode(data: bytes, as_type: type[T], /) -> T:
    """Read a body of any accepted dialect as `as_type`; raise DialectError when it isn't one.

    As in Java, numbers may come as strings and the other way round, unknown members are ignored, missing ones
    and those that are `null` without allowing it get their default.
    """
    return run_slices(decode_in_slices(data, as_type))


def decode_in_slices(data: bytes, as_type: type[T], /) -> Generator[None, None, T]:
    """Decode as `decode` does; yields wherever an event-loop iteration may end, for standard JSON never."""
    decoder = _decoder(as_type)
    value: T
    try:
        value = decoder.decode(data)
    except msgspec.ValidationError:
        value = _decode_coerced(data, as_type)  # it is standard JSON, with values of other types
    except _STRICT_ERRORS:
        yield
        repaired = yield from _repair(data)
        try:
            value = decoder.decode(repaired)
        except _STRICT_ERRORS:
            value = _decode_coerced(data, as_type)
    return value


def loads(data: bytes, *, lenient: bool = True) -> object:
    """Read a body of any accepted dialect as plain values; raise DialectError for anything else.

    Without `lenient`, standard JSON and bare numeric keys alone. Keys are always strings, `$ref` objects stay
    as they are (see `resolve_refs`), bytes that aren't UTF-8 become U+FFFD as in Java.
    """
    try:
        return _decode_any(data)
    except _STRICT_ERRORS:
        repaired = run_slices(_repair(data))
    try:
        return _decode_any(repaired)
    except _STRICT_ERRORS as error:
        if not lenient:
            raise DialectError(f"not JSON: {error}") from None
        if len(data) > MAX_LENIENT_BYTES:
            raise DialectError(f"not JSON: {error}; too large to read leniently") from None
    return parse(data.decode("utf-8", "replace"))


def quote_bare_keys(data: bytes) -> bytes:
    """Put quotes around bare numeric keys, `{0:1}` to `{"0":1}`; strings are not changed.

    Raises DialectError for more than MAX_BARE_KEYS of them.
    """
    return run_slices(_quote_bare_keys(data))


def resolve_refs(document: object) -> object:
    """Replace `{"$ref":"$.path"}` by the flat object it points to, else by `{}` (trap T16).

    A flat object has no objects or arrays inside, like a topic's `attributes`; brokers up to 5.3.x share
    nothing else. A nested one could be made to grow without bounds or to contain itself.
    """
    return _resolve(document, document, 0)


def _decoder(as_type: type) -> msgspec.json.Decoder[Any]:
    decoder = _decoders.get(as_type)
    if decoder is None:
        decoder = _decoders[as_type] = msgspec.json.Decoder(as_type, strict=False)
    return decoder


def _decode_coerced(data: bytes, as_type: type[T]) -> T:
    if len(data) > MAX_COERCED_BYTES:
        raise DialectError(
            f"not JSON, or values of other types: {len(data)} bytes; beyond {MAX_COERCED_BYTES} it must be "
            "standard JSON, in which only numeric keys may be bare"
        )
    try:
        return msgspec.convert(coerce(loads(data), as_type), as_type, strict=False)
    except DialectError:
        raise
    except _STRICT_ERRORS as error:
        raise DialectError(str(error)) from None


def _repair(data: bytes) -> Generator[None, None, bytes]:
    """Make standard JSON of a large body: repair bare numeric keys and bytes that are not UTF-8."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        if len(data) > MAX_COERCED_BYTES:
            raise DialectError(f"not UTF-8: {error.reason} at byte {error.start}") from None
        data = data.decode("utf-8", "replace").encode()
    return (yield from _quote_bare_keys(data))


def _quote_bare_keys(data: bytes) -> Generator[None, None, bytes]:
    pieces: list[bytes] = []
    copied = seen = count = start = 0
    in_string = False
    longest = _SLICE_BYTES + _KEY_BYTES
    while start < len(data):
        # Cut before a character that is neither inside a key nor belongs to a backslash before it.
        begin_of_next = _CUT.search(data, start + _SLICE_BYTES, start + longest)
        end = begin_of_next.start() if begin_of_next else len(data)
        if end - start > longest:
            raise DialectError(f"not JSON: more than {_KEY_BYTES} bytes without a letter or bracket")
        for match in _BARE_KEY.finditer(data, start, end):
            in_string ^= _count_quotes(data, seen, match.start()) & 1 == 1
            seen = match.start()
            if not in_string:
                key_start, key_end = match.span(1)
                pieces += (data[copied:key_start], b'"', data[key_start:key_end], b'"')
                copied = key_end
            count += 1
            if count > MAX_BARE_KEYS:
                raise DialectError(f"not JSON: more than {MAX_BARE_KEYS} bare numeric keys")
        in_string ^= _count_quotes(data, seen, end) & 1 == 1
        seen = start = end
        if end < len(data):
            yield
    return b"".join((*pieces, data[copied:])) if pieces else data


def _count_quotes(data: bytes, start: int, end: int) -> int:
    """Count the quotes that open or close a string between two positions."""
    if data.find(b"\\", start, end) < 0:
        return data.count(b'"', start, end)
    part = data[start:end].replace(b"\\\\", b"")
    return part.count(b'"') - part.count(b'\\"')


def _resolve(value: object, root: object, depth: int) -> object:
    if depth > MAX_DEPTH:
        raise DialectError(f"nested more than {MAX_DEPTH} deep")
    if isinstance(value, list):
        return [_resolve(item, root, depth + 1) for item in value]
    if not isinstance(value, dict):
        return value
    path = value.get("$ref")
    if len(value) == 1 and isinstance(path, str):
        return _flat_target(path, root)
    return {key: _resolve(item, root, depth + 1) for key, item in value.items()}


def _flat_target(path: str, root: object) -> object:
    target = _follow(path, root)
    if not isinstance(target, dict) or any(isinstance(item, (dict, list)) for item in target.values()):
        return {}
    return {} if "$ref" in target else target


def _follow(path: str, root: object) -> object:
    """Walk an absolute path such as `$.a.b[0]`; fastjson puts a backslash before special characters."""
    if not path.startswith("$"):
        return None
    at, target = 1, root
    while at < len(path):
        step = _PATH_STEP.match(path, at)
        if step is None:
            return None
        at = step.end()
        target = _child(target, step)
    return target


def _child(parent: object, step: re.Match[str]) -> object:
    name, index = step.groups()
    if isinstance(parent, dict) and name is not None:
        return parent.get(re.sub(r"\\(.)", r"\1", name, flags=re.DOTALL))
    if isinstance(parent, list) and index is not None and int(index) < len(parent):
        return parent[int(index)]
    return None
