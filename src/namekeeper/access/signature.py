"""The signature of RocketMQ's access control (protocol.md 5.10): clients make it, servers check it.

It proves the origin of the ext fields and the body. It covers neither the request's code nor a time.
"""

import base64
import hashlib
import hmac
from collections.abc import Iterable, Mapping

from msgspec import Struct

__all__ = [
    "ACCESS_KEY",
    "ANONYMOUS",
    "SECURITY_TOKEN",
    "SIGNATURE",
    "AccessKeys",
    "Signer",
    "sign",
    "signature_of",
    "signer_of",
    "user_of_key",
]

ACCESS_KEY = "AccessKey"
SECURITY_TOKEN = "SecurityToken"  # noqa: S105 - the name of a field
SIGNATURE = "Signature"

AccessKeys = Mapping[str, tuple[str, ...]]
"""Access key, which is the user's name -> the secret keys that are valid now. A user has two while one key
replaces another."""


class Signer(Struct, frozen=True):
    """The signer of a request."""

    user: str | None = None
    """None if the signature proves no user."""
    objection: str = ""
    """Why the given signature proves no user."""


ANONYMOUS = Signer()


def signature_of(ext_fields: Mapping[str, str], body: bytes, *, secret_key: str) -> str:
    """Return the signature of a request with these ext fields; a signature among them is left out."""
    values = (value for key, value in sorted(ext_fields.items()) if key != SIGNATURE)
    # Java, too, encodes half a surrogate pair as `?`.
    content = "".join(values).encode(errors="replace") + body
    digest = hmac.digest(secret_key.encode(errors="replace"), content, hashlib.sha1)
    return base64.b64encode(digest).decode()


def sign(
    ext_fields: Mapping[str, str],
    body: bytes,
    *,
    access_key: str,
    secret_key: str,
    security_token: str | None = None,
) -> dict[str, str]:
    """Return the ext fields with the three that identify and sign them, added to all other fields."""
    fields = {**ext_fields, ACCESS_KEY: access_key}
    if security_token is not None:
        fields[SECURITY_TOKEN] = security_token
    fields[SIGNATURE] = signature_of(fields, body, secret_key=secret_key)
    return fields


def signer_of(ext_fields: Mapping[str, str] | None, body: bytes, keys: AccessKeys) -> Signer:
    """Find the user that signed a request.

    A wrong signature takes as long for an unknown user as for one with any number of keys: the server hashes
    and compares as often as for the user with the most keys. Otherwise the time of an answer would reveal a
    user: once for a large body, after some thousand requests for a small one.
    """
    user = (ext_fields or {}).get(ACCESS_KEY)
    if not user or ext_fields is None:
        return ANONYMOUS
    given = ext_fields.get(SIGNATURE)
    if not given:
        return Signer(objection=f"{ACCESS_KEY} without {SIGNATURE}")
    secret_keys = keys.get(user, ())
    given_bytes = given.encode(errors="replace")

    def fits(secret_keys: Iterable[str]) -> bool:
        is_valid = False
        for secret_key in secret_keys:
            expected = signature_of(ext_fields, body, secret_key=secret_key).encode()
            is_valid |= hmac.compare_digest(expected, given_bytes)
        return is_valid

    if fits(secret_keys):
        return Signer(user)
    fits([user] * (max(map(len, keys.values()), default=0) - len(secret_keys)))
    return Signer(objection=f"{ACCESS_KEY} or {SIGNATURE} is not known here")


def user_of_key(secret_key: str, keys: AccessKeys) -> str | None:
    """Find the user with this secret key, which an HTTP client sends as its token."""
    shown = secret_key.encode(errors="replace")
    found = None
    for user, secret_keys in keys.items():
        for each in secret_keys:
            if hmac.compare_digest(each.encode(errors="replace"), shown):
                found = user
    return found
