"""The client of one broker: its connections are the broker's life, so each broker has its own (trap T23)."""

import ssl

from namekeeper.broker.settings import BrokerSettings
from namekeeper.remoting.client import RemotingClient, RpcHook
from namekeeper.wire.command import RemotingCommand

__all__ = ["make_broker_client"]


def make_broker_client(
    settings: BrokerSettings, *, tls: ssl.SSLContext | None = None, rpc_hook: RpcHook | None = None
) -> RemotingClient:
    """Make a client that says of each request that it comes from a broker of the configured release.

    Args:
        settings: of the broker.
        tls: see `tls_contexts.client_context`.
        rpc_hook: signs requests, for instance.
    """

    def hook(addr: str, request: RemotingCommand) -> None:
        request.version = settings.version
        if rpc_hook is not None:
            rpc_hook(addr, request)

    return RemotingClient(tls=tls, rpc_hook=hook)
