"""How commands reach name servers: time limit, TLS, signatures."""

import os
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any

import click

from namekeeper.cli.credentials import Credentials, credential_options, take_credentials
from namekeeper.remoting.request_sender import RequestSender

__all__ = ["Connector", "connection_options", "take_connection"]

_NAMES = ("timeout", "tls", "tls_ca")


@dataclass(frozen=True, slots=True)
class Connector:
    """How commands get a sender; a test puts its own into the context's `obj`."""

    open: Callable[[], AbstractAsyncContextManager[RequestSender]]


def connection_options(function: Callable[..., None]) -> Callable[..., None]:
    """Add the options that `take_connection` takes out again."""
    for option in (
        credential_options,
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
    """Take the values of `connection_options` out of `options`; return the connector and the limit in ms.

    Raises:
        ConfigError: there is no secret key, or the file with the credentials can't be read.
    """
    taken = {name: options.pop(name) for name in _NAMES}
    timeout_ms = int(taken["timeout"] * 1000)
    credentials = take_credentials(options, os.environ)
    given = context.find_object(Connector)
    if given is not None:
        return given, timeout_ms
    return Connector(lambda: _open_client(taken["tls"], taken["tls_ca"], credentials)), timeout_ms


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
