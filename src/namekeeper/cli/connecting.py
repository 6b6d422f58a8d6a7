"""How commands reach name servers: time limit, TLS, signatures."""

import os
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from namekeeper.cli.credentials import credential_options, take_credentials
from namekeeper.cli.tls_files import NO_TLS_FILES, TlsFiles, take_tls_files, tls_file_options
from namekeeper.remoting.address import Address
from namekeeper.remoting.credentials import Credentials
from namekeeper.remoting.request_sender import RequestSender

if TYPE_CHECKING:
    from namekeeper.remoting.client import RemotingClient

__all__ = [
    "PLAIN_CONNECTOR",
    "SENDER_OPTIONS",
    "Connector",
    "connection_options",
    "open_client",
    "properties_of",
    "sender_options",
    "take_connection",
    "take_connector",
]


SENDER_OPTIONS = ("tls", "tls_ca", "tls_cert", "tls_key", "access_key", "secret_key")
"""Names of the values of `sender_options`."""


@dataclass(frozen=True, slots=True)
class Connector:
    """How commands get a sender; a test puts its own into the context's `obj`."""

    open: Callable[[], AbstractAsyncContextManager[RequestSender]]
    tls_files: TlsFiles = NO_TLS_FILES
    """TLS files of the options, for operators' pages."""


def connection_options(function: Callable[..., None]) -> Callable[..., None]:
    """Add the options that `take_connection` takes out again."""
    for option in (
        sender_options,
        click.option(
            "--timeout", type=click.FloatRange(min=0, min_open=True), default=5.0, show_default=True,
            metavar="SECONDS", help="How long to wait for each answer.",
        ),
    ):  # fmt: skip
        function = option(function)
    return function


def sender_options(function: Callable[..., None]) -> Callable[..., None]:
    """Add the options that `take_connector` takes out again."""
    for option in (
        credential_options,
        tls_file_options,
        click.option("--tls", is_flag=True, help="Speak TLS; any certificate will do without --tls-ca."),
    ):
        function = option(function)
    return function


def take_connection(context: click.Context, options: dict[str, Any]) -> tuple[Connector, int]:
    """Take the values of `connection_options` out of `options`; return the connector and the limit in ms.

    Raises:
        ConfigError: there is no secret key, or the file with the credentials can't be read.
    """
    timeout_ms = int(options.pop("timeout") * 1000)
    return take_connector(context, options), timeout_ms


def take_connector(context: click.Context, options: dict[str, Any]) -> Connector:
    """Take the values of `sender_options` out of `options`.

    Raises:
        ConfigError: there is no secret key, or a file can't be used.
    """
    files = take_tls_files(options)
    is_tls = options.pop("tls") or files != NO_TLS_FILES
    credentials = take_credentials(options, os.environ)
    given = context.find_object(Connector)
    return given or Connector(lambda: open_client(files if is_tls else None, credentials), files)


def properties_of(address: Address, connector: Connector) -> dict[str, str]:
    """The properties that are in effect at a name server (request 319).

    Raises:
        NamekeeperError: it does not answer, or refuses.
    """
    import asyncio  # most commands about the past ask no name server

    return asyncio.run(_properties_of(address, connector))


async def _properties_of(address: Address, connector: Connector) -> dict[str, str]:
    from namekeeper.admin.operations import Namesrv, get_namesrv_config

    async with connector.open() as client:
        return await get_namesrv_config(Namesrv(str(address), client))


def open_client(files: TlsFiles | None, credentials: Credentials | None) -> "RemotingClient":
    """Return a client to enter: without files it speaks no TLS, without credentials it signs nothing."""
    from namekeeper.remoting.client import RemotingClient
    from namekeeper.remoting.signing import signing_hook

    tls = None
    if files is not None:
        from namekeeper.remoting.tls_client import ClientTls

        tls = ClientTls(lambda: files.settings)
    hook = signing_hook(credentials.access_key, credentials.secret_key) if credentials else None
    return RemotingClient(tls=tls, rpc_hook=hook)


PLAIN_CONNECTOR = Connector(lambda: open_client(None, None))
"""Without TLS and without signatures."""
