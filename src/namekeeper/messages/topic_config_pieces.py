"""Reads the `topicConfigTable` of a large JSON body piece by piece: 13 MB in one go stop the loop for 80 ms.

A piece ends where the text looks like the end of one topic configuration and the begin of the next. If that
place is in fact inside a configuration, the piece is not JSON, and the rest of the table is read in one go.
So a piece that can be read begins and ends between two members of the table.
"""

import re
from collections.abc import Iterator

from msgspec import Raw, json

from namekeeper.messages.body_types import RawTopicConfig
from namekeeper.wire import fastjson

__all__ = ["TopicConfigTable", "topic_config_pieces"]

TopicConfigTable = dict[str, RawTopicConfig]

PIECE_BYTES = 131_072
"""Size of a piece: about a millisecond."""

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
        except ValueError:  # cut inside a configuration, or no topic configuration
            break
        yield piece
        start = cut.end()
    rest = data if start == 1 else b"{" + data[start:]
    yield fastjson.decode(rest, TopicConfigTable | None) or {}  # type: ignore[arg-type] # a union is no type
