"""The signature of RocketMQ's access control (protocol.md 5.10), as clients add it and servers check it."""

import base64
import hashlib
import hmac
from collections.abc import Mapping

from namekeeper.remoting.client import RpcHook
from namekeeper.wire.command import RemotingCommand

__all__ = ["ACCESS_KEY", "SECURITY_TOKEN", "SIGNATURE", "sign", "signature_of", "signing_hook"]

ACCESS_KEY = "AccessKey"
SECURITY_TOKEN = "SecurityToken"  # noqa: S105 - the name of a field
SIGNATURE = "Signature"


def signature_of(ext_fields: Mapping[str, str], body: bytes, *, secret_key: str) -> str:
    """Return the signature of a request with these ext fields; one that is among them is left out."""
    values = (value for key, value in sorted(ext_fields.items()) if key != SIGNATURE)
    content = "".join(values).encode() + body
    return base64.b64encode(hmac.digest(secret_key.encode(), content, hashlib.sha1)).decode()


def sign(
    ext_fields: Mapping[str, str],
    body: bytes,
    *,
    access_key: str,
    secret_key: str,
    security_token: str | None = None,
) -> dict[str, str]:
    """Return the ext fields with the three that identify and sign them; all others must be there already."""
    fields = {**ext_fields, ACCESS_KEY: access_key}
    if security_token is not None:
        fields[SECURITY_TOKEN] = security_token
    fields[SIGNATURE] = signature_of(fields, body, secret_key=secret_key)
    return fields


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
