"""The client that sends the requests of one broker.

Each broker needs a client of its own: when the connection that carried its latest registration closes, a name
server removes the broker (trap T23).
"""

from collections.abc import Mapping
from typing import Protocol

from namekeeper.broker.settings import BrokerSettings
from namekeeper.remoting.client import RemotingClient, RpcHook
from namekeeper.remoting.request_sender import RequestSender
from namekeeper.remoting.signing import signing_hook
from namekeeper.remoting.tls_client import ClientTls, Tls
from namekeeper.remoting.tls_settings import TlsSettings
from namekeeper.wire.command import RemotingCommand

__all__ = ["BrokerClient", "make_broker_client", "send_oneway"]


class BrokerClient(RequestSender, Protocol):
    """Sends the requests of one broker; a RemotingClient, or a test's replacement."""

    async def invoke_oneway(
        self,
        addr: str,
        code: int,
        ext_fields: Mapping[str, str] | None = None,
        body: bytes = b"",
        *,
        timeout_ms: int = ...,
    ) -> None:
        """Send a request that is never answered; a RemotingError if it can't be sent."""
        ...

    def release(self, addr: str) -> None:
        """Close the connection to a peer that is no longer needed."""
        ...

    async def close(self) -> None:
        """Close all connections."""
        ...


def make_broker_client(
    settings: BrokerSettings, *, tls: TlsSettings | Tls | None = None, rpc_hook: RpcHook | None = None
) -> RemotingClient:
    """Make a client whose requests carry the configured version, and are signed if there are keys.

    Args:
        settings: of the broker.
        tls: settings, whose files are read again when they change; or what `RemotingClient` takes. Settings
            speak TLS only with `enable=True`.
        rpc_hook: sees each request before it is signed.
    """
    sign = signing_hook(settings.access_key, settings.secret_key) if settings.access_key else None

    def hook(addr: str, request: RemotingCommand) -> None:
        request.version = settings.version
        if rpc_hook is not None:
            rpc_hook(addr, request)
        if sign is not None:
            sign(addr, request)

    if isinstance(tls, TlsSettings):
        found = tls
        tls = ClientTls(lambda: found) if found.enable else None
    return RemotingClient(tls=tls, rpc_hook=hook)


async def send_oneway(client: BrokerClient, addr: str, request: RemotingCommand, timeout_ms: int) -> None:
    """Send a request that gets no answer; raises RemotingError if it can't be sent."""
    await client.invoke_oneway(addr, request.code, request.ext_fields, request.body, timeout_ms=timeout_ms)
