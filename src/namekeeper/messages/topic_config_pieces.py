"""The `topicConfigTable` of a large JSON body, read piece by piece: at once, 13 MB hold up all for 80 ms.

A piece ends where the text looks as if one topic configuration ended and the next began. What looks so inside
of a configuration makes a piece that is not JSON: then the rest of the table is read at once. So a piece that
can be read begins and ends between two members of the table.
"""

import re
from collections.abc import Iterator

from msgspec import Raw, json

from namekeeper.messages.body_types import RawTopicConfig
from namekeeper.wire import fastjson

__all__ = ["TopicConfigTable", "topic_config_pieces"]

TopicConfigTable = dict[str, RawTopicConfig]

PIECE_BYTES = 131_072
"""Read at once: about a millisecond."""

_BETWEEN_TWO = re.compile(rb'\}\s*+,\s*+(?="[^"\\]*+"\s*+:\s*+\{)')
_decode = json.Decoder(TopicConfigTable, strict=False).decode


def topic_config_pieces(table: Raw) -> Iterator[TopicConfigTable]:
    """Read a table, `null` as an empty one; a turn of the event loop may end after each piece.

    Raises:
        DialectError: it is no table of topic configurations.
    """
    data = bytes(table)
    start = 1
    while (cut := _BETWEEN_TWO.search(data, start + PIECE_BYTES)) is not None:
        try:
            piece = _decode(b"{%b}" % data[start : cut.start() + 1])
        except ValueError:  # cut inside of a configuration, or not what was asked for
            break
        yield piece
        start = cut.end()
    rest = data if start == 1 else b"{" + data[start:]
    yield fastjson.decode(rest, TopicConfigTable | None) or {}  # type: ignore[arg-type] # a union is no type
