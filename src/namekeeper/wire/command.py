"""The one message of the remoting protocol, request and response alike (protocol.md 1.3)."""

from msgspec import Struct

from namekeeper.wire.codes import ResponseCode

__all__ = ["ONEWAY_FLAG", "OUR_LANGUAGE", "OUR_VERSION", "RESPONSE_FLAG", "RemotingCommand", "Response"]

RESPONSE_FLAG = 1
ONEWAY_FLAG = 2

OUR_VERSION = 513
"""What we say we are: 5.5.0 (protocol.md 1.9)."""

OUR_LANGUAGE = "JAVA"
"""The conservative value: every client accepts it (trap T49)."""


class RemotingCommand(Struct, gc=False, rename={"ext_fields": "extFields", "body": "body, from the frame"}):
    """A decoded frame, or one to encode.

    `ext_fields` values are always strings. `body` is never part of the JSON header: its wire name is one
    that no peer writes, and decoding sets it from the frame in any case.
    """

    code: int = 0
    language: str | None = OUR_LANGUAGE
    version: int = OUR_VERSION
    opaque: int = 0
    flag: int = 0
    remark: str | None = None
    ext_fields: dict[str, str] | None = None
    body: bytes = b""

    @property
    def is_response(self) -> bool:
        """Whether this answers a request; only bit 0 decides (protocol.md 1.7)."""
        return bool(self.flag & RESPONSE_FLAG)

    @property
    def is_oneway(self) -> bool:
        """Whether the sender wants no answer of any kind."""
        return bool(self.flag & ONEWAY_FLAG)


class Response(Struct, frozen=True, gc=False):
    """An answer without its envelope: opaque, flag, language and version are put around it when it is sent.

    `ext_fields` is None for an answer without a header class and `{}` for one whose header is empty:
    Java's peers see the difference (protocol.md 1.3).
    """

    code: int = ResponseCode.SUCCESS
    remark: str | None = None
    ext_fields: dict[str, str] | None = None
    body: bytes = b""
