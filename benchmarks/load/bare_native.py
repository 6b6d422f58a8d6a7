"""The least a name server could do whose look-ups are compiled: yardsticks of `make bench`, in two kinds.

`compiled`: uvloop reads and writes, and calls a protocol that is compiled (`compiled/`).
`front`: the sockets are lent to the thread of `namekeeper_front`, and Python serves what comes back.
Anything but a look-up is answered with an empty success.

Run as `python bare_native.py KIND PORT ROUTES`; ROUTES holds lines of "<topic> <body>".
"""

import asyncio
import gc
import resource
import struct
import sys
from importlib import import_module
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import Any

import msgspec
import uvloop

__all__: list[str] = []

HEAD = b'{"code":0,"flag":1,"language":"JAVA","opaque":'
TAIL = b',"serializeTypeCurrentRPC":"JSON","version":513}'
HEADER_LENGTH_MASK = 0xFFFFFF
COMPILED = Path(__file__).parents[2] / "build/bench/compiled/release/libbare_compiled.so"


class ExtFields(msgspec.Struct, frozen=True):
    """The one header field of a look-up."""

    topic: str = ""


class Request(msgspec.Struct):
    """What must be known of a request header."""

    opaque: int
    extFields: ExtFields = ExtFields()  # noqa: N815 - the name on the wire


class Responder:
    """Answers whole frames in Python."""

    def __init__(self, routes: dict[str, bytes]) -> None:
        self.routes = routes

    def __call__(self, frame: bytes) -> bytes:
        (word,) = struct.unpack_from(">I", frame, 4)
        request = msgspec.json.decode(frame[8 : 8 + (word & HEADER_LENGTH_MASK)], type=Request)
        header = HEAD + b"%d" % request.opaque + TAIL
        body = self.routes.get(request.extFields.topic, b"")
        return struct.pack(">II", 4 + len(header) + len(body), len(header)) + header + body


class Lender(asyncio.Protocol):
    """Lends its socket to the front after each read, and serves what comes back."""

    number = 0
    lent: dict[int, "Lender"] = {}  # noqa: RUF012 - one program, one table

    def __init__(self, front: Any, responder: Responder) -> None:
        self.front = front
        self.responder = responder
        self.data = b""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.data += data
        while len(self.data) >= 4 and len(self.data) >= (size := 4 + int.from_bytes(self.data[:4])):
            self.transport.write(self.responder(self.data[:size]))
            self.data = self.data[size:]
        if not self.data:
            self.lend()

    def lend(self) -> None:
        Lender.number += 1
        Lender.lent[Lender.number] = self
        self.transport.pause_reading()
        self.front.lend(Lender.number, self.transport.get_extra_info("socket").fileno())

    def returned(self, unread: bytes, unsent: bytes) -> None:
        self.transport.write(unsent)
        self.transport.resume_reading()
        if unread:
            self.data_received(unread)


def protocols(kind: str, routes: Path) -> Any:
    """Return what makes the protocol of a connection."""
    lines = [line.split(b" ", 1) for line in routes.read_bytes().splitlines()]
    responder = Responder({topic.decode(): body for topic, body in lines})
    if kind == "compiled":
        loader = ExtensionFileLoader("bare_compiled", str(COMPILED))
        spec = spec_from_loader("bare_compiled", loader)
        assert spec is not None
        module: Any = module_from_spec(spec)
        loader.exec_module(module)
        answers = module.Answers(HEAD, TAIL)
        for topic, body in lines:
            answers.learn(topic.decode(), body)
        return lambda: module.Responder(answers, responder)
    front: Any = import_module("namekeeper_front").Front(HEAD, TAIL, 1)
    for topic, body in lines:
        front.learn(topic.decode(), True, 0, body)  # noqa: FBT003 - as the server calls it

    def returned() -> None:
        for number, unread, unsent, *_ in front.take_returned():
            Lender.lent.pop(number).returned(unread, unsent)

    asyncio.get_running_loop().add_reader(front.fileno(), returned)
    return lambda: Lender(front, responder)


async def main(kind: str, port: int, routes: Path) -> None:
    """Serve until the process is ended."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(protocols(kind, routes), "127.0.0.1", port, backlog=1024)
    gc.freeze()
    await server.serve_forever()


if __name__ == "__main__":
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    uvloop.run(main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])))
