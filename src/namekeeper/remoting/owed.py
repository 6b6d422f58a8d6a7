"""Requests of one connection that will be answered later, and what they hold meanwhile."""

from collections.abc import Iterable, Mapping

from namekeeper.lookup_cache.reader import Item
from namekeeper.remoting.budget import BudgetClaim
from namekeeper.remoting.unread import LISTS, QUEUED_BYTES
from namekeeper.wire.command import RemotingCommand

__all__ = ["MAX_OWED", "OWED_BYTES", "Claims", "OwedAnswers", "bytes_of"]

Claims = Mapping[int, BudgetClaim]
"""What the budget of large frames counts, by the identities of requests."""

MAX_OWED = 64
"""Answers that one connection waits for; a real broker has a few."""
MAX_OWED_BYTES = 256 * 1024
"""The same for what their requests hold: no more than one read brings."""
OWED_BYTES = 3 * 1024
"""What a request takes beside its bytes while its answer is owed: objects for its fields and its change."""


class OwedAnswers:
    """By the identity of their requests."""

    __slots__ = ("_list", "_sizes", "bytes")

    def __init__(self) -> None:
        self._list = 0
        self._sizes: dict[int, int] = {}
        self.bytes = 0
        """What all the requests hold."""

    @property
    def has_list(self) -> bool:
        """Whether one of them is a list of topics or brokers."""
        return self._list != 0

    def __len__(self) -> int:
        return len(self._sizes)

    def __contains__(self, identity: object) -> bool:
        return identity in self._sizes

    def is_much(self, *, is_tight: bool) -> bool:
        """Whether no more requests are handed over until one of these is answered.

        Args:
            is_tight: Whether all connections together hold so much that one request is enough.
        """
        sizes = self._sizes
        return bool(sizes) and (is_tight or len(sizes) >= MAX_OWED or self.bytes >= MAX_OWED_BYTES)

    def add(self, request: RemotingCommand, claims: Claims) -> None:
        """Note that an answer is owed."""
        self._sizes[id(request)] = size = OWED_BYTES + _size_of(request, claims)
        self.bytes += size
        if request.code in LISTS:
            self._list = id(request)

    def remove(self, identity: int) -> int:
        """Note that it was given; return what its request held, 0 if it was not owed."""
        size = self._sizes.pop(identity, 0)
        self.bytes -= size
        if identity == self._list:
            self._list = 0
        return size

    def clear(self) -> None:
        """Owe nothing any more."""
        self._sizes.clear()
        self._list = self.bytes = 0


def bytes_of(items: Iterable[Item], claims: Claims) -> int:
    """Bytes of requests that wait, and of answers in the place of some, without what claims count."""
    return sum(_size_of(item, claims) for item in items)


def _size_of(item: Item, claims: Claims) -> int:
    if isinstance(item, bytes):
        return QUEUED_BYTES
    if not isinstance(item, RemotingCommand):
        return len(item[1]) + len(item[2])
    claim = claims.get(id(item))
    if claim is not None and claim.is_granted:
        return QUEUED_BYTES
    fields = item.ext_fields or {}
    return QUEUED_BYTES + len(item.body) + sum(map(len, fields)) + sum(map(len, fields.values()))
