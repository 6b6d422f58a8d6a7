"""What is fuzzed: a name and a function that feeds one parser and knows the errors it may raise.

A new target is a function here, a line in TARGETS and a folder of seeds (`seeds/<name>/`: raw bytes, or
hexadecimal with notes where the name ends in `.hex`). Where a random change would never come past a
checksum or a length, REPAIRS makes a changed input deep again.
"""

import contextlib
import zlib
from collections.abc import Callable
from struct import pack, unpack_from

from namekeeper.errors import ProtocolError, RequestError
from namekeeper.model.mapping import TopicQueueMappingInfo
from namekeeper.wire import fastjson, proxy_protocol
from namekeeper.wire.codec import CommandDecoder, encode_command
from namekeeper.wire.codes import SerializeType
from namekeeper.wire.json_header import decode_json_header, encode_json_header
from namekeeper.wire.rocketmq_header import decode_rocketmq_header, encode_rocketmq_header
from tests.support.wire.legacy_json import dumps_legacy
from tests.unit.access import fuzz_targets as access
from tests.unit.config import fuzz_targets as configuration
from tests.unit.messages import fuzz_targets as bodies

__all__ = ["REPAIRS", "TARGETS"]


def frame(data: bytes) -> None:
    """Any cut gives the same commands and the same end; what was decoded can be sent on."""
    whole, pieces = CommandDecoder(65_536), CommandDecoder(65_536)
    commands = whole.feed(data)
    step = 1 + len(data) // 7
    cut = [
        command for start in range(0, len(data), step) for command in pieces.feed(data[start : start + step])
    ]
    assert commands == cut
    assert whole.frames.failure == pieces.frames.failure
    assert whole.frames.failure or (whole.frames.announced, whole.frames.buffered) == (
        pieces.frames.announced,
        pieces.frames.buffered,
    )
    for command in commands:
        assert CommandDecoder(1 << 24).feed(encode_command(command)) == [command]


def json_header(data: bytes) -> None:
    """A header that was read is the same when it is written and read again."""
    with contextlib.suppress(ProtocolError):
        command = decode_json_header(data)
        assert decode_json_header(encode_json_header(command)) == command


def binary_header(data: bytes) -> None:
    """A header that was read is the same when it is written and read again."""
    with contextlib.suppress(ProtocolError):
        command, used = decode_rocketmq_header(data)
        assert used <= len(data)
        command.ext_fields = command.ext_fields or None
        encoded = encode_rocketmq_header(command)
        assert decode_rocketmq_header(encoded) == (command, len(encoded))


def proxy_header(data: bytes) -> None:
    """A header lies within the bytes; more is needed only beyond them."""
    with contextlib.suppress(ProtocolError):
        parsed = proxy_protocol.parse(data)
        if isinstance(parsed, proxy_protocol.NeedMore):
            assert len(data) < parsed.at_least <= proxy_protocol.MAX_V2_BYTES
        elif parsed is not None:
            assert 0 < parsed.header_length <= len(data)


def fastjson_body(data: bytes) -> None:
    """What was read is the same when it is written and read again; quoting twice is quoting once."""
    with contextlib.suppress(fastjson.DialectError):
        fastjson.decode(data, TopicQueueMappingInfo)
    with contextlib.suppress(fastjson.DialectError):
        quoted = fastjson.quote_bare_keys(data)
        assert fastjson.quote_bare_keys(quoted) == quoted
        document = fastjson.loads(data)
        assert fastjson.loads(dumps_legacy(document)) == _without_nulls(document)
        fastjson.resolve_refs(document)


def _without_nulls(value: object) -> object:
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value


def _with_true_lengths(data: bytes) -> bytes:
    """Make the input one frame: its length true, its header within it, its type known."""
    if len(data) < 8:
        return data
    (word,) = unpack_from(">I", data, 4)
    header_length = min(word & 0xFF_FFFF, len(data) - 8)
    kind = SerializeType((word >> 24) & 1)
    return pack(">II", len(data) - 4, kind << 24 | header_length) + data[8:]


TARGETS: dict[str, Callable[[bytes], None]] = {
    "frame": frame,
    "json_header": json_header,
    "binary_header": binary_header,
    "proxy_header": proxy_header,
    "fastjson": fastjson_body,
}


def _refusing(target: Callable[[bytes], object]) -> Callable[[bytes], None]:
    """A decoder of bodies: it gives a value or refuses the request."""

    def run(data: bytes) -> None:
        with contextlib.suppress(RequestError):
            target(data)

    return run


TARGETS |= {name: _refusing(target) for name, target in bodies.FUZZ_TARGETS.items()}
TARGETS |= dict(configuration.FUZZ_TARGETS)
TARGETS |= dict(access.FUZZ_TARGETS)

REPAIRS: dict[str, Callable[[bytes], bytes]] = {
    "frame": _with_true_lengths,
    "registration_compressed_4x": zlib.compress,
    "registration_compressed_5x": zlib.compress,
}
