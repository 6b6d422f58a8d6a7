"""The hook that lets this program's clients sign their requests."""

from namekeeper.access.signature import sign
from namekeeper.remoting.client import RpcHook
from namekeeper.wire.command import RemotingCommand

__all__ = ["signing_hook"]


def signing_hook(access_key: str, secret_key: str, *, security_token: str | None = None) -> RpcHook:
    """Make the hook that lets a `RemotingClient` sign each of its requests."""

    def hook(_addr: str, request: RemotingCommand) -> None:
        request.ext_fields = sign(
            request.ext_fields or {},
            request.body,
            access_key=access_key,
            secret_key=secret_key,
            security_token=security_token,
        )

    return hook
