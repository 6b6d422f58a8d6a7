"""The one message of the remoting protocol, request and response alike (protocol.md 1.3)."""

from typing import Annotated

from msgspec import Meta, Struct

from namekeeper.wire.codes import LanguageName, ResponseCode

__all__ = [
    "ANSWER_LANGUAGE",
    "ONEWAY_FLAG",
    "OUR_VERSION",
    "REQUEST_LANGUAGE",
    "RESPONSE_FLAG",
    "ZONE_MODE",
    "Int32",
    "RemotingCommand",
    "Response",
    "request",
]

RESPONSE_FLAG = 1
ONEWAY_FLAG = 2

ZONE_MODE = "__ZONE_MODE"
"""Ext field of a lookup whose answer is narrowed to a zone (protocol.md 2.1.1)."""

OUR_VERSION = 513
"""Our version in headers: 5.5.0 (protocol.md 1.9)."""

Int32 = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]

ANSWER_LANGUAGE: LanguageName = "JAVA"
"""The language in answers of our name server: every client accepts it (trap T49)."""

REQUEST_LANGUAGE: LanguageName = "PYTHON"
"""The language in our requests: those of clients, registrars and tools, and of a name server to brokers
(905). RocketMQ from 4.8 to 5.5 knows the name, and name servers never decide by it (protocol.md 1.5)."""


_WIRE_NAMES = {"ext_fields": "extFields", "body": "body, from the frame", "header": "header, as it came"}
"""JSON names that differ from ours; no peer writes the last two."""


class RemotingCommand(Struct, gc=False, rename=_WIRE_NAMES):
    """A decoded frame, or one to encode: exactly what the peer sent, or what is to be sent.

    The defaults are those of a header that lacks the member (protocol.md 1.3); `request` makes commands of
    our own. `ext_fields` values are always strings. `body` is never part of the JSON header: its name there
    is one that no peer writes, its value there can only be empty, and it is set from the frame.
    """

    code: Int32 = 0
    language: LanguageName | None = None
    version: Int32 = 0
    opaque: Int32 = 0
    flag: Int32 = 0
    remark: str | None = None
    ext_fields: dict[str, str] | None = None
    body: Annotated[bytes, Meta(max_length=0)] = b""
    header: Annotated[bytes, Meta(max_length=0)] = b""
    """The JSON header as it came, if the lookup cache may add it (see `RequestReader`); else empty."""

    @property
    def is_response(self) -> bool:
        """Whether this answers a request; only bit 0 decides (protocol.md 1.7)."""
        return bool(self.flag & RESPONSE_FLAG)

    @property
    def is_oneway(self) -> bool:
        """Whether the sender wants no answer of any kind."""
        return bool(self.flag & ONEWAY_FLAG)


def request(
    code: int,
    ext_fields: dict[str, str] | None = None,
    body: bytes = b"",
    *,
    opaque: int = 0,
    oneway: bool = False,
    version: int = OUR_VERSION,
) -> RemotingCommand:
    """Make a request of our own, with our language and version."""
    flag = ONEWAY_FLAG if oneway else 0
    return RemotingCommand(code, REQUEST_LANGUAGE, version, opaque, flag, None, ext_fields, body)


class Response(Struct, frozen=True, gc=False):
    """An answer without its envelope: opaque, flag, language and version are put around it when it is sent.

    `ext_fields` is None for an answer without a header class and `{}` for one whose header is empty:
    Java's peers see the difference (protocol.md 1.3).
    """

    code: int = ResponseCode.SUCCESS
    remark: str | None = None
    ext_fields: dict[str, str] | None = None
    body: bytes = b""
