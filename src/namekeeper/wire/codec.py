"""Commands to frames and back: only here the form of a header is chosen (protocol.md 1.1, 1.6)."""

from struct import Struct

from namekeeper.errors import ProtocolError
from namekeeper.wire.codes import SerializeType
from namekeeper.wire.command import ANSWER_LANGUAGE, OUR_VERSION, RESPONSE_FLAG, RemotingCommand, Response
from namekeeper.wire.frames import DEFAULT_MAX_FRAME_BYTES, Frame, FrameDecoder
from namekeeper.wire.json_header import decode_json_header, encode_json_header
from namekeeper.wire.rocketmq_header import decode_rocketmq_header, encode_rocketmq_header

__all__ = [
    "BARE_SUCCESS_HEAD",
    "BARE_SUCCESS_TAIL",
    "CommandDecoder",
    "decode_frame",
    "encode_command",
    "encode_response",
]

MAX_HEADER_BYTES = 0xFF_FFFF
"""The header word has 24 bits for it."""

_PREFIX = Struct(">II").pack
_JSON = SerializeType.JSON

_LANGUAGE = ANSWER_LANGUAGE.encode()
BARE_SUCCESS_HEAD = b'{"code":0,"flag":%d,"language":"%b","opaque":' % (RESPONSE_FLAG, _LANGUAGE)
BARE_SUCCESS_TAIL = b',"serializeTypeCurrentRPC":"JSON","version":%d}' % OUR_VERSION
"""Header, around the opaque, of an answer with neither remark nor ext fields, as lookups get it."""

_BARE_SUCCESS = BARE_SUCCESS_HEAD + b"%d" + BARE_SUCCESS_TAIL


def encode_command(command: RemotingCommand, serialize_type: SerializeType = SerializeType.JSON) -> bytes:
    """Make a whole frame, exactly as the command says; raise ValueError if its header can't be written."""
    if serialize_type is _JSON:
        return _frame(encode_json_header(command), command.body, 0)
    return _frame(encode_rocketmq_header(command), command.body, serialize_type << 24)


def encode_response(
    response: Response, *, opaque: int, serialize_type: SerializeType = SerializeType.JSON
) -> bytes:
    """Put our envelope around an answer: flag 1, our language and version, the request's `opaque`."""
    if (
        response.code == 0
        and response.remark is None
        and response.ext_fields is None
        and serialize_type is _JSON
    ):
        header = _BARE_SUCCESS % opaque
        body = response.body
        size = len(header)
        return _PREFIX(4 + size + len(body), size) + header + body
    return encode_command(
        RemotingCommand(
            response.code,
            ANSWER_LANGUAGE,
            OUR_VERSION,
            opaque,
            RESPONSE_FLAG,
            response.remark,
            response.ext_fields,
            response.body,
        ),
        serialize_type,
    )


def decode_frame(frame: Frame) -> RemotingCommand:
    """Read the header of a frame; raise ProtocolError where Java closes the connection."""
    form, header, body = frame
    if form == _JSON:
        command = decode_json_header(header)
        command.body = body
        return command
    if form != SerializeType.ROCKETMQ:
        raise ProtocolError(f"bad frame: header of unknown type {form}")
    command, used = decode_rocketmq_header(header)
    # Bytes that the header does not use begin the body, and the body ends as many bytes earlier (protocol.md
    # 1.4).
    command.body = (header[used:] + body)[: len(body)]
    return command


class CommandDecoder:
    """Bytes in as they come, commands out as they are complete; the first broken frame ends it."""

    def __init__(self, max_frame_bytes: int = DEFAULT_MAX_FRAME_BYTES) -> None:
        """Begin with an empty stream; `max_frame_bytes` bounds a frame with its length field."""
        self.frames = FrameDecoder(max_frame_bytes)
        """Why no more commands come; those before the broken frame were returned."""

    def feed(self, data: bytes) -> list[RemotingCommand]:
        """Take the next bytes of the stream; return the commands that they complete, bodies included."""
        commands = []
        try:
            for frame in self.frames.feed(data):
                commands.append(decode_frame(frame))  # noqa: PERF401 - those before a broken one are kept
        except ProtocolError as failure:
            self.frames.failure = str(failure)
        return commands


def _frame(header: bytes, body: bytes, type_bits: int) -> bytes:
    size = len(header)
    if size > MAX_HEADER_BYTES:
        raise ValueError(f"a header of {size} bytes is longer than {MAX_HEADER_BYTES}")
    return _PREFIX(4 + size + len(body), type_bits | size) + header + body
