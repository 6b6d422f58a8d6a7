"""An object store on loopback: moto's S3, with conditional writes, faults and a count of requests."""

import os
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import boto3  # type: ignore[import-untyped]
import pytest
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server

__all__ = ["S3", "store_environment"]

_KEYS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}  # moto takes any
_REGION = "us-east-1"

Environ = dict[str, Any]
Answer = Iterable[bytes]


class _Quiet(WSGIRequestHandler):
    def log(self, *_: object, **__: object) -> None:
        """Say nothing."""


class S3:
    """A server with one bucket; several of them in a process share their objects."""

    def __init__(self) -> None:
        self._app = DomainDispatcherApplication(create_backend_app)
        # moto looks and then writes. The real store does both in one step.
        self._one_at_a_time = threading.Lock()
        self.requests: list[tuple[str, str]] = []
        """Method and path of each."""
        self.fault: Callable[[Environ], tuple[str, bytes] | None] = lambda _: None
        """Gives a status and a body instead of an answer; the request may be done nevertheless, see `done`."""
        self.ignored: set[str] = set()
        """Headers that this store does not know."""
        self._server = make_server("127.0.0.1", 0, self._answer, threaded=True, request_handler=_Quiet)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        self.endpoint = f"http://127.0.0.1:{self._server.server_port}"
        self.bucket = f"bucket-{uuid.uuid4().hex[:8]}"
        self.client("s3").create_bucket(Bucket=self.bucket)

    def client(self, service: str, **keys: str) -> Any:
        """A client of moto's own side."""
        given = keys or {"aws_access_key_id": "test", "aws_secret_access_key": "test"}
        return boto3.client(service, endpoint_url=self.endpoint, region_name=_REGION, **given)

    def environment(self) -> dict[str, str]:
        """Variables with which clients find the store."""
        return {
            **_KEYS,
            "AWS_REGION": _REGION,
            "AWS_DEFAULT_REGION": _REGION,
            "AWS_ENDPOINT_URL": self.endpoint,
        }

    def uri(self, path: str) -> str:
        """URI of a folder in the bucket."""
        return f"s3://{self.bucket}/{path}"

    def perform(self, environ: Environ) -> Answer:
        """Do what a request asks for, and drop the answer."""
        return list(self._app(environ, lambda *_: None))

    def close(self) -> None:
        """End the server."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _answer(self, environ: Environ, start: Callable[..., Any]) -> Answer:
        self.requests.append((environ["REQUEST_METHOD"], environ["PATH_INFO"]))
        for name in self.ignored:
            environ.pop(f"HTTP_{name.upper().replace('-', '_')}", None)
        with self._one_at_a_time:
            if (failed := self.fault(environ)) is not None:
                status, body = failed
                start(status, [("Content-Type", "application/xml"), ("Content-Length", str(len(body)))])
                return [body]
            return list(self._app(environ, start))


@contextmanager
def store_environment() -> Iterator[S3]:
    """A server for a block, and the environment of this process in which clients find it."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("AWS_")]:
            patch.delenv(name)
        for name, value in _KEYS.items():  # moto's own client needs them
            patch.setenv(name, value)
        store = S3()
        try:
            for name, value in store.environment().items():
                patch.setenv(name, value)
            yield store
        finally:
            store.close()
