"""A receiver of notifications on loopback, whose answers a test chooses."""

import json
import ssl
import threading
from collections.abc import Callable, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

__all__ = ["Reply", "WebhookServer"]


class Reply:
    """An answer.

    Args:
        status: of HTTP; 0 for none, and the connection stays open until the server ends.
        headers: of the answer.
    """

    def __init__(self, status: int = 204, headers: Mapping[str, str] | None = None) -> None:
        self.status, self.headers = status, dict(headers or {})


class _Quiet(ThreadingHTTPServer):
    def handle_error(self, *_: object) -> None:
        """Say nothing: clients that refuse a certificate break the connection."""


class WebhookServer:
    """Listens at a free port of loopback; a context manager."""

    def __init__(
        self, reply: Callable[[int], Reply] = lambda _: Reply(), tls: ssl.SSLContext | None = None
    ) -> None:
        self.requests: list[tuple[str, dict[str, str], bytes]] = []
        """Path, headers and body of each request, in order."""
        self.reply = reply
        """Gives the answer to the request with this number, from 0 on."""
        self._end = threading.Event()
        hook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                number = len(hook.requests)
                hook.requests.append((self.path, dict(self.headers), body))
                reply = hook.reply(number)
                if not reply.status:
                    hook._end.wait()
                    return
                self.send_response(reply.status)
                for name, value in {"Content-Length": "0", **reply.headers}.items():
                    self.send_header(name, value)
                self.end_headers()

            def do_GET(self) -> None:
                self.do_POST()

            def log_message(self, *_: object) -> None:
                pass

        self._server = _Quiet(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._scheme = "http" if tls is None else "https"
        if tls is not None:
            self._server.socket = tls.wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._end.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def port(self) -> int:
        """The port at which it listens."""
        return int(self._server.server_address[1])

    def url(self, path: str = "/hook") -> str:
        """The address of a path."""
        return f"{self._scheme}://127.0.0.1:{self.port}{path}"

    @property
    def documents(self) -> Sequence[Any]:
        """The JSON of each request."""
        return [json.loads(body) for _, _, body in self.requests]

    @property
    def events(self) -> list[tuple[str, str, int]]:
        """Event, incident and sequence number of all documents in order."""
        return [
            (each["event"], each["incident"], each["sequence"])
            for document in self.documents
            for each in document["events"]
        ]
