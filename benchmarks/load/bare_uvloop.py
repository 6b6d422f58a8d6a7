"""The least a name server in Python could do: the yardstick of `make bench`.

uvloop reads, msgspec decodes the JSON header, one dict look-up finds a ready body.
Anything but a look-up is answered with an empty success.
No limits, no tables, no errors: what a real server does on top must fit in what is left.

Run as `python bare_uvloop.py PORT ROUTES`; ROUTES holds lines of "<topic> <body>".
"""

import asyncio
import gc
import resource
import sys
from pathlib import Path
from struct import Struct

import msgspec
import uvloop

__all__: list[str] = []

GET_ROUTEINFO_BY_TOPIC = 105
FRAME_HEAD = Struct(">II")  # length of all that follows, header word
HEADER_LENGTH_MASK = 0xFFFFFF
RESPONSE = b'{"code":0,"flag":1,"language":"JAVA","opaque":%d,"serializeTypeCurrentRPC":"JSON","version":513}'


class ExtFields(msgspec.Struct, frozen=True, gc=False):
    """The one header field of a look-up."""

    topic: str = ""


class Request(msgspec.Struct, gc=False):
    """What must be known of a request header; other members are skipped."""

    code: int
    opaque: int
    extFields: ExtFields = ExtFields()  # noqa: N815 - the name on the wire


def load_routes(path: Path) -> dict[str, bytes]:
    """Read topic -> body; equal bodies are one object."""
    bodies: dict[bytes, bytes] = {}
    routes: dict[str, bytes] = {}
    for line in path.read_bytes().splitlines():
        topic, body = line.split(b" ", 1)
        routes[topic.decode()] = bodies.setdefault(body, body)
    return routes


class Responder(asyncio.Protocol):
    """One connection: every whole frame in a read is answered in one write."""

    def __init__(self, routes: dict[str, bytes]) -> None:
        self.route_of = routes.get
        self.chunks: list[bytes] = []  # of a frame that is not whole yet
        self.missing = 0  # bytes until it may be

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self.write = transport.write

    def data_received(self, data: bytes) -> None:
        if self.missing:
            self.chunks.append(data)
            self.missing -= len(data)
            if self.missing > 0:
                return
            data = b"".join(self.chunks)
            self.chunks.clear()
            self.missing = 0
        size = len(data)
        at = 0
        parts: list[bytes] = []
        while size - at >= 8:
            length, word = unpack(data, at)
            end = at + 4 + length
            if end > size:
                self.missing = end - size
                break
            request = decode(data[at + 8 : at + 8 + (word & HEADER_LENGTH_MASK)])
            body = b""
            if request.code == GET_ROUTEINFO_BY_TOPIC:
                body = self.route_of(request.extFields.topic, b"")
            header = RESPONSE % request.opaque
            header_length = len(header)
            parts += (pack(4 + header_length + len(body), header_length), header, body)
            at = end
        if at < size:
            self.chunks.append(data[at:])
            self.missing = self.missing or 8 - (size - at)
        self.write(b"".join(parts))


unpack = FRAME_HEAD.unpack_from
pack = FRAME_HEAD.pack
decode = msgspec.json.Decoder(Request).decode


async def main(port: int, routes: dict[str, bytes]) -> None:
    """Serve until the process is ended."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Responder(routes), "127.0.0.1", port, backlog=1024)
    gc.freeze()
    await server.serve_forever()


if __name__ == "__main__":
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    uvloop.run(main(int(sys.argv[1]), load_routes(Path(sys.argv[2]))))
