"""An object store on loopback: moto's S3, with conditional writes, faults and a count of requests."""

import fnmatch
import io
import json
import math
import os
import re
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qs

import pytest

__all__ = ["S3", "store_environment"]

_KEYS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}  # moto takes any
_REGION = "us-east-1"

Environ = dict[str, Any]
Answer = Iterable[bytes]


class S3:
    """A server with one bucket; several of them in a process share their objects."""

    def __init__(self) -> None:
        # Imported here: every worker collects the tests, and few of them start a store.
        from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
        from werkzeug.serving import WSGIRequestHandler, make_server

        class Quiet(WSGIRequestHandler):
            def log(self, *_: object, **__: object) -> None:
                """Say nothing."""

        self._app = DomainDispatcherApplication(create_backend_app)
        # moto looks and then writes. The real store does both in one step.
        self._one_at_a_time = threading.Lock()
        self.requests: list[tuple[str, str]] = []
        """Method and path of each."""
        self.fault: Callable[[Environ], tuple[str, bytes] | None] = lambda _: None
        """Gives a status and a body instead of an answer; the request may be done nevertheless, see `done`."""
        self.ignored: set[str] = set()
        """Headers that this store does not know."""
        self._listable = ["*"]
        """Patterns of the prefixes that may be listed."""
        self._deletable = ["*"]
        """Patterns of the keys that a request for several may delete."""
        self._server = make_server("127.0.0.1", 0, self._answer, threaded=True, request_handler=Quiet)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        self.endpoint = f"http://127.0.0.1:{self._server.server_port}"
        self.bucket = f"bucket-{uuid.uuid4().hex[:8]}"
        self.client("s3").create_bucket(Bucket=self.bucket)

    def client(self, service: str) -> Any:
        """A client of moto's own side."""
        import boto3  # type: ignore[import-untyped]

        keys = {"aws_access_key_id": "test", "aws_secret_access_key": "test"}
        return boto3.client(service, endpoint_url=self.endpoint, region_name=_REGION, **keys)

    def environment(self) -> dict[str, str]:
        """Variables with which clients find the store."""
        return {
            **_KEYS,
            "AWS_REGION": _REGION,
            "AWS_DEFAULT_REGION": _REGION,
            "AWS_ENDPOINT_URL": self.endpoint,
        }

    @contextmanager
    def only_a_role(self, policy: Mapping[str, Any]) -> Iterator[None]:
        """Check every request of a block; this process has the role with a policy meanwhile."""
        from moto import settings

        statements = [dict(statement) for statement in policy["Statement"]]
        # moto knows no condition: here, those about s3:prefix.
        conditions = [statement.pop("Condition", None) for statement in statements]
        # moto asks for the right to delete several keys on the bucket; the real store asks for each key.
        bucket = f"arn:aws:s3:::{self.bucket}"
        deletable = [each["Resource"] for each in statements if "s3:DeleteObject" in each["Action"]]
        statements.append({"Effect": "Allow", "Action": ["s3:DeleteObject"], "Resource": bucket})
        iam, name = self.client("iam"), f"role-{uuid.uuid4().hex[:8]}"
        trust = json.dumps({"Version": "2012-10-17", "Statement": []})
        document = json.dumps({**policy, "Statement": statements})
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(settings, "INITIAL_NO_AUTH_ACTION_COUNT", math.inf)
            role = iam.create_role(RoleName=name, AssumeRolePolicyDocument=trust)["Role"]
            iam.put_role_policy(RoleName=name, PolicyName="only", PolicyDocument=document)
            taken = self.client("sts").assume_role(RoleArn=role["Arn"], RoleSessionName="only")["Credentials"]
            patch.setenv("AWS_ACCESS_KEY_ID", taken["AccessKeyId"])
            patch.setenv("AWS_SECRET_ACCESS_KEY", taken["SecretAccessKey"])
            patch.setenv("AWS_SESSION_TOKEN", taken["SessionToken"])
            patch.setattr(settings, "INITIAL_NO_AUTH_ACTION_COUNT", 0)
            patch.setattr(
                self,
                "_listable",
                [each["StringLike"]["s3:prefix"] for each in conditions if each is not None],
            )
            patch.setattr(self, "_deletable", [each.removeprefix(f"{bucket}/") for each in deletable])
            yield

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
            if (failed := self.fault(environ) or self._refused(environ)) is not None:
                status, body = failed
                start(status, [("Content-Type", "application/xml"), ("Content-Length", str(len(body)))])
                return [body]
            return list(self._app(environ, start))

    def _refused(self, environ: Environ) -> tuple[str, bytes] | None:
        query = parse_qs(environ["QUERY_STRING"], keep_blank_values=True)
        if "list-type" in query:
            names, allowed = query.get("prefix", [""]), self._listable
        elif "delete" in query:
            body = environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"]))
            environ["wsgi.input"] = io.BytesIO(body)
            names, allowed = re.findall("<Key>(.*?)</Key>", body.decode()), self._deletable
        else:
            return None
        if all(any(fnmatch.fnmatchcase(name, pattern) for pattern in allowed) for name in names):
            return None
        return "403 Forbidden", b"<Error><Code>AccessDenied</Code></Error>"


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
