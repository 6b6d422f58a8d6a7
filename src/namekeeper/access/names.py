"""The names in a request that rules can limit: clusters, broker names, topics and KV namespaces."""

from collections.abc import Mapping
from types import MappingProxyType

from msgspec import Struct

from namekeeper.access.request_class import PLANNING_REQUESTS
from namekeeper.messages.catalogue import CATALOGUE, NameKind

__all__ = ["NAMED", "NO_NAMES", "Names", "names_in"]


NAMED: Mapping[int, Mapping[NameKind, str]] = MappingProxyType(
    {
        **{code: entry.names for code, entry in CATALOGUE.items() if entry.names},
        PLANNING_REQUESTS: {NameKind.CLUSTERS: "", NameKind.BROKERS: "", NameKind.TOPICS: ""},
    }
)
"""Code -> kind of name in its requests -> the ext field with the name. The field is empty if no ext field has
it."""


class Names(Struct, frozen=True):
    """The names of one request; an empty set does not limit the request to any name."""

    clusters: frozenset[str] = frozenset()
    brokers: frozenset[str] = frozenset()
    topics: frozenset[str] = frozenset()
    namespaces: frozenset[str] = frozenset()

    def of(self, kind: NameKind) -> frozenset[str]:
        """The names of one kind."""
        names: frozenset[str] = getattr(self, kind.value)
        return names


NO_NAMES = Names()


def names_in(code: int, ext_fields: Mapping[str, str] | None) -> Names:
    """The names in the ext fields of a request."""
    found = {}
    for kind, field in NAMED.get(code, {}).items():
        name = (ext_fields or {}).get(field) if field else None
        if name:
            found[kind.value] = frozenset((name,))
    return Names(**found)
