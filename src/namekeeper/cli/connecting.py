"""How commands reach name servers: time limit, TLS, signatures."""

import os
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from namekeeper.errors import ConfigError
from namekeeper.remoting.request_sender import RequestSender

__all__ = ["Connector", "Credentials", "connection_options", "parse_tools_yml", "take_connection"]

_NAMES = ("timeout", "tls", "tls_ca", "access_key", "secret_key")


@dataclass(frozen=True, slots=True)
class Connector:
    """How commands get a sender; a test puts its own into the context's `obj`."""

    open: Callable[[], AbstractAsyncContextManager[RequestSender]]


@dataclass(frozen=True, slots=True)
class Credentials:
    """What requests are signed with."""

    access_key: str
    secret_key: str


def connection_options(function: Callable[..., None]) -> Callable[..., None]:
    """Add the options that `take_connection` takes out again."""
    for option in (
        click.option("--secret-key", envvar="ROCKETMQ_SECRET_KEY", metavar="KEY", hidden=True),
        click.option(
            "--access-key", envvar="ROCKETMQ_ACCESS_KEY", metavar="KEY",
            help="Sign requests; the secret key comes from ROCKETMQ_SECRET_KEY. Without it, "
            "$ROCKETMQ_HOME/conf/tools.yml is used if it is there.  [env: ROCKETMQ_ACCESS_KEY]",
        ),
        click.option(
            "--tls-ca", type=click.Path(exists=True, dir_okay=False), metavar="FILE",
            help="Speak TLS, and trust only servers with a certificate of these authorities.",
        ),
        click.option("--tls", is_flag=True, help="Speak TLS; any certificate will do without --tls-ca."),
        click.option(
            "--timeout", type=click.FloatRange(min=0, min_open=True), default=5.0, show_default=True,
            metavar="SECONDS", help="How long to wait for each answer.",
        ),
    ):  # fmt: skip
        function = option(function)
    return function


def take_connection(context: click.Context, options: dict[str, Any]) -> tuple[Connector, int]:
    """Take the values of `connection_options` out of `options`; return how to connect and the limit in ms.

    Raises:
        ConfigError: there is no secret key, or the file with the credentials can't be read.
    """
    taken = {name: options.pop(name) for name in _NAMES}
    timeout_ms = int(taken["timeout"] * 1000)
    given = context.find_object(Connector)
    if given is not None:
        return given, timeout_ms
    credentials = _credentials(taken["access_key"], taken["secret_key"], os.environ)
    return Connector(lambda: _open_client(taken["tls"], taken["tls_ca"], credentials)), timeout_ms


def parse_tools_yml(text: str) -> Credentials | None:
    """Read the credentials of Java's tools, `accessKey` and `secretKey`; None unless both are there."""
    values = {}
    for line in text.splitlines():
        key, colon, value = line.partition(":")
        if colon and not key.lstrip().startswith("#"):
            values[key.strip()] = value.partition(" #")[0].strip().strip("'\"")
    access_key, secret_key = values.get("accessKey"), values.get("secretKey")
    return Credentials(access_key, secret_key) if access_key and secret_key else None


def _credentials(
    access_key: str | None, secret_key: str | None, environ: Mapping[str, str]
) -> Credentials | None:
    if access_key:
        if not secret_key:
            raise ConfigError("an access key needs its secret key: set ROCKETMQ_SECRET_KEY")
        return Credentials(access_key, secret_key)
    home = environ.get("ROCKETMQ_HOME")
    file = Path(home, "conf", "tools.yml") if home else None
    try:
        return parse_tools_yml(file.read_text()) if file and file.exists() else None
    except (OSError, UnicodeError) as error:
        raise ConfigError(f"can't read the credentials in {file}: {error}") from None


def _open_client(
    tls: bool,  # noqa: FBT001 - called here only
    tls_ca: str | None,
    credentials: Credentials | None,
) -> AbstractAsyncContextManager[RequestSender]:
    from namekeeper.remoting.client import RemotingClient
    from namekeeper.remoting.signing import signing_hook

    context = None
    if tls or tls_ca:
        from namekeeper.remoting.tls_contexts import client_context
        from namekeeper.remoting.tls_settings import TlsSettings

        settings = TlsSettings(
            enable=True, test_mode=not tls_ca, auth_server=bool(tls_ca), client_trust_cert_path=tls_ca or ""
        )
        context = client_context(settings)
    hook = signing_hook(credentials.access_key, credentials.secret_key) if credentials else None
    return RemotingClient(tls=context, rpc_hook=hook)
