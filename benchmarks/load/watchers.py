"""Those who watch routes while clients look up: a stream of server-sent events each."""

import contextlib
import socket
from collections.abc import Iterator, Sequence

from benchmarks.load.errors import ServerError

__all__ = ["watched"]

ANSWER_SECONDS = 120
READY = b"event: ready\n"
REQUEST = "GET /watch?{} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\n\r\n"


@contextlib.contextmanager
def watched(http_port: int, topics: Sequence[Sequence[str]]) -> Iterator[None]:
    """Hold streams open, each for some topics; what they are told stays in the buffers of the kernel."""
    with contextlib.ExitStack() as opened:
        for of_one in topics:
            stream = opened.enter_context(socket.create_connection(("127.0.0.1", http_port), ANSWER_SECONDS))
            stream.sendall(REQUEST.format("&".join(f"topic={topic}" for topic in of_one)).encode())
            _await_ready(stream)
        yield


def _await_ready(stream: socket.socket) -> None:
    told = b""
    while READY not in told:
        if not (more := stream.recv(4096)):
            raise ServerError(f"a watcher was refused: {told.decode(errors='replace')}")
        told += more
