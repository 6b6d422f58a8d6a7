"""Headers of the KV configuration: put, get, delete, list (protocol.md 2.3)."""

from msgspec import Struct

from namekeeper.messages.fields import EmptyStr

__all__ = [
    "DeleteKVConfigRequestHeader",
    "GetKVConfigRequestHeader",
    "GetKVConfigResponseHeader",
    "GetKVListByNamespaceRequestHeader",
    "PutKVConfigRequestHeader",
]


class PutKVConfigRequestHeader(Struct, frozen=True):
    """Request 100; after a missing value, the entry reads back as not found."""

    namespace: str
    key: str
    value: EmptyStr | None = None


class GetKVConfigRequestHeader(Struct, frozen=True):
    """Request 101."""

    namespace: str
    key: str


class GetKVConfigResponseHeader(Struct, frozen=True):
    """Answer to 101; without a value when there is none."""

    value: EmptyStr | None = None


class DeleteKVConfigRequestHeader(Struct, frozen=True):
    """Request 102."""

    namespace: str
    key: str


class GetKVListByNamespaceRequestHeader(Struct, frozen=True):
    """Request 219."""

    namespace: str
