"""Reads the `topicConfigTable` of a large JSON body piece by piece: 13 MB in one go stop the loop for 80 ms.

A piece ends where the text looks like the end of one topic configuration and the begin of the next. If that
place is in fact inside a configuration, the piece is not JSON, and the rest is read in one go. So a piece
that can be read begins and ends between two members of the object in which it is.

That this object is the table is seen at the end, in what is left of the body: a mark stands there in place of
the pieces, and where it is found the pieces were.
"""

import re
from collections.abc import Generator
from secrets import token_hex

from msgspec import json

from namekeeper.messages.body_types import RawTopicConfig

__all__ = ["MARK", "TopicConfigTable", "topic_config_pieces"]

TopicConfigTable = dict[str, RawTopicConfig]

MARK = f"pieces-{token_hex(16)}"
"""A key that no peer can know, for a configuration in place of those that were in pieces."""

PIECE_BYTES = 131_072
"""Size of a piece: about a millisecond."""

MAX_BYTES_BEFORE = 131_072
"""The table is looked for in so many bytes: versions stand before it, or short lists."""

_TABLE = re.compile(rb'(?<!\\)"topicConfigTable"\s*+:\s*+\{')
"""Its begin. No string contains this: its quotes would be escaped."""
_BETWEEN_TWO = re.compile(rb'\}\s*+,\s*+(?="[^"\\]*+"\s*+:\s*+\{)')
_MARKED = b'"%b":{"topicName":"-"},' % MARK.encode()
_decode = json.Decoder(TopicConfigTable, strict=False).decode


def topic_config_pieces(body: bytes) -> Generator[TopicConfigTable, None, bytes]:
    """Read the begin of the table; a turn of the event loop may end after each piece.

    Returns the body with `MARK` in place of the pieces; the body itself if there was none.
    """
    table = _TABLE.search(body, 0, MAX_BYTES_BEFORE)
    if table is None:
        return body
    begin = start = table.end()
    while (cut := _BETWEEN_TWO.search(body, start + PIECE_BYTES)) is not None:
        try:
            piece = _decode(b"{%b}" % body[start : cut.start() + 1])
        except ValueError:  # cut inside a configuration, or no topic configuration
            break
        yield piece
        start = cut.end()
    return body if start == begin else b"%b%b%b" % (body[:begin], _MARKED, body[start:])
