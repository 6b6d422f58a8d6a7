"""The KV configuration: namespace -> key -> value, and the text of its file (protocol.md 2.3, 5.1)."""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

import msgspec

from namekeeper.errors import ConfigError, RequestError
from namekeeper.foreign_json import UNREADABLE_JSON
from namekeeper.route.events import KvChanged
from namekeeper.wire.codes import ResponseCode

__all__ = ["KV_BYTES_LIMIT", "ORDER_TOPIC_CONFIG", "KvConfigFile", "KvConfigStore"]

KV_BYTES_LIMIT = 16 * 1024 * 1024
"""Limit of all entries as they are in the file: each change writes all of it, and any peer may send one. A
control character takes six bytes there, and ten times as long as a letter.
"""
ORDER_TOPIC_CONFIG = "ORDER_TOPIC_CONFIG"
"""The only KV namespace with a meaning of its own: topic -> order configuration (protocol.md 2.3)."""


_encode = msgspec.json.Encoder().encode


class KvConfigFile(msgspec.Struct):
    """The file as JSON, spelled as Java 5.4 and later demand."""

    config_table: dict[str, dict[str, str | None] | None] = msgspec.field(name="configTable")


class KvConfigStore:
    """The KV table. A change of an entry returns an event; a request that changes nothing returns none."""

    def __init__(self, table: Mapping[str, Mapping[str, str]] = MappingProxyType({})) -> None:
        self.entries_limit = 0
        """Entries and namespaces that peers may make; 0: no limit. More may come from the file."""
        self._set_table(table)

    def __len__(self) -> int:
        """Entries of all namespaces."""
        return self._count - len(self._table)

    @property
    def table(self) -> Mapping[str, Mapping[str, str]]:
        """Namespace -> key -> value: a view."""
        return MappingProxyType(self._table)

    def put(self, namespace: str, key: str, value: str | None) -> tuple[KvChanged, ...]:
        """Set an entry; without a value it reads back as not found, as in Java.

        Raises:
            RequestError: The store is full.
        """
        if value is None:
            self._entries_of(namespace)
            return self.delete(namespace, key)
        old = self._table.get(namespace, {}).get(key)
        if old == value:
            return ()
        self._check_room(namespace, key, value, is_new=old is None)
        entries = self._entries_of(namespace)
        entries[key] = value
        if old is None:
            self._unsorted.add(namespace)
        self._count += old is None
        self._bytes += _size(value) - (_size(old) if old is not None else -_size(key))
        return (KvChanged(namespace, key, value),)

    def get(self, namespace: str, key: str) -> str:
        """Value of an entry.

        Raises:
            RequestError: There is no such entry.
        """
        value = self._table.get(namespace, {}).get(key)
        if value is None:
            raise RequestError(
                ResponseCode.QUERY_NOT_FOUND, f"No config item, Namespace: {namespace} Key: {key}"
            )
        return value

    def find(self, namespace: str, key: str) -> str | None:
        """Value of an entry, None if there is none."""
        return self._table.get(namespace, {}).get(key)

    def delete(self, namespace: str, key: str) -> tuple[KvChanged, ...]:
        """Remove an entry whether or not it is there; an emptied namespace stays."""
        value = self._table.get(namespace, {}).pop(key, None)
        if value is None:
            return ()
        self._bytes -= _size(key) + _size(value)
        self._count -= 1
        return (KvChanged(namespace, key, None),)

    def become(self, table: Mapping[str, Mapping[str, str]]) -> tuple[KvChanged, ...]:
        """Replace the whole table; returns the differences as events, entries that are gone first."""
        before = {(entry.namespace, entry.key): entry for entry in self.entries()}
        self._set_table(table)
        after = {(entry.namespace, entry.key): entry for entry in self.entries()}
        gone = (KvChanged(namespace, key, None) for namespace, key in before if (namespace, key) not in after)
        return (*gone, *(entry for key, entry in after.items() if before.get(key) != entry))

    def list_by_namespace(self, namespace: str) -> Mapping[str, str]:
        """All entries of a namespace by key, which may be none; a view, to be used at once.

        Raises:
            RequestError: There is no such namespace.
        """
        entries = self._table.get(namespace)
        if entries is None:
            raise RequestError(ResponseCode.QUERY_NOT_FOUND, f"No config item, Namespace: {namespace}")
        if namespace in self._unsorted:  # not at each call: a registration is answered with such a list
            self._unsorted.discard(namespace)
            entries = self._table[namespace] = {key: entries[key] for key in sorted(entries)}
        return MappingProxyType(entries)

    def entries(self) -> Iterator[KvChanged]:
        """Every entry as the event that would have made it."""
        for namespace, entries in self._table.items():
            for key, value in entries.items():
                yield KvChanged(namespace, key, value)

    def to_text(self) -> bytes:
        """Content of the file: one line of JSON in UTF-8."""
        return _encode({"configTable": self._table})

    @classmethod
    def from_text(
        cls, data: bytes, *, lenient: Callable[[bytes, type[KvConfigFile]], KvConfigFile] | None = None
    ) -> "KvConfigStore":
        """Read the content of the file; an empty one is an empty store.

        Args:
            data: The content.
            lenient: Reader of the dialects that older Java releases wrote, tried when the text isn't strict
                JSON: `namekeeper.wire.fastjson.decode`.

        Raises:
            ConfigError: It is neither; the message names the position of the error.
        """
        if not data.strip():
            return cls()
        try:
            file = msgspec.json.decode(data, type=KvConfigFile)
        except UNREADABLE_JSON as error:
            file = _read_leniently(data, lenient, error)
        return cls({
            namespace: {key: value for key, value in (entries or {}).items() if value is not None}
            for namespace, entries in file.config_table.items()
        })  # fmt: skip

    def _set_table(self, table: Mapping[str, Mapping[str, str]]) -> None:
        self._table = {namespace: dict(entries) for namespace, entries in table.items()}
        self._unsorted = set(self._table)
        """Namespaces whose entries are not sorted by key."""
        self._count = len(self._table) + sum(map(len, self._table.values()))
        self._bytes = sum(
            _size(namespace) + sum(_size(key) + _size(value) for key, value in entries.items())
            for namespace, entries in self._table.items()
        )

    def _entries_of(self, namespace: str) -> dict[str, str]:
        if namespace not in self._table:
            self._check_room(namespace, is_new=True)
            self._table[namespace] = {}
            self._count += 1
            self._bytes += _size(namespace)
        return self._table[namespace]

    def _check_room(self, *texts: str, is_new: bool) -> None:
        if is_new and 0 < self.entries_limit <= self._count:
            raise RequestError(
                ResponseCode.SYSTEM_ERROR,
                f"the KV configuration is full: {self.entries_limit} entries (kvEntriesLimit)",
            )
        if self._bytes + sum(map(_size, texts)) > KV_BYTES_LIMIT:
            raise RequestError(
                ResponseCode.SYSTEM_ERROR, f"the KV configuration is full: {KV_BYTES_LIMIT} bytes"
            )


def _size(text: str) -> int:
    """Bytes that a text takes in the file, without its quotes."""
    return len(_encode(text)) - 2


def _read_leniently(
    data: bytes,
    lenient: Callable[[bytes, type[KvConfigFile]], KvConfigFile] | None,
    error: Exception,
) -> KvConfigFile:
    if lenient is not None:
        try:
            data.decode()  # a reader of bodies replaces other bytes by U+FFFD; a file must not lose them
            return lenient(data, KvConfigFile)
        except ValueError:
            pass  # the error of the strict reader is raised: it names the position
    raise ConfigError(f"the KV configuration can't be read: {error}") from None
