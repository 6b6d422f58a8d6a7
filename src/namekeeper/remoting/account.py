"""The account of one connection: everything that it takes of what all connections share.

A connection takes bytes of pending requests, room in the budget of large frames, a share of the buffered
bytes of its host, and a place among the calls that wait for a turn. The account knows each of them, and
`give_back` returns all of them when the connection ends.
"""

import asyncio
from collections.abc import Iterable
from sys import getsizeof
from typing import Protocol

from namekeeper.lookup_cache.reader import Item
from namekeeper.remoting.budget import BodyBudget, BudgetClaim
from namekeeper.remoting.connection_state import ARRIVING, FLOWING, HELD_UP, ConnectionState
from namekeeper.remoting.unread import LISTS, QUEUED_BYTES
from namekeeper.remoting.unserved import RequestHolder, UnservedRequests
from namekeeper.route.channel import Channel
from namekeeper.wire.command import RemotingCommand

__all__ = ["LARGE_FRAME_BYTES", "MAX_PENDING", "PENDING_BYTES", "Account", "AccountHolder"]

LARGE_FRAME_BYTES = 64 * 1024
"""Frames up to this size need no claim on the budget: a transport reads as many bytes at once anyway."""
MAX_PENDING = 64
"""Most pending answers of one connection; a real broker has a few."""
MAX_PENDING_BYTES = 256 * 1024
"""Most bytes of their requests: no more than one read brings."""
PENDING_BYTES = 3 * 1024
"""Memory of a request beside its bytes while its answer is pending: objects for its fields and its change."""
ARRIVAL_LOOK_SECONDS = 1.0
MIN_ARRIVAL_BYTES = 64 * 1024
MAX_STALLS = 2
"""While others wait for room, a large frame must bring `MIN_ARRIVAL_BYTES` in one of two looks: slow links
do."""


class AccountHolder(RequestHolder, Protocol):
    """The connection that an account belongs to."""

    bytes_in: int
    channel: Channel

    def go_on(self) -> None:
        """Process what waited: its claim was granted."""

    def close_overdue(self) -> None:
        """Close: a large frame did not arrive in time."""


class Account:
    """The bytes, claims and places of one connection, until it gives them back."""

    __slots__ = (
        "_arriving", "_budget", "_claims", "_sizes", "_timer", "_unserved", "counted",
        "has_list", "has_turn", "host", "pending_bytes",
    )  # fmt: skip

    def __init__(self, budget: BodyBudget, unserved: UnservedRequests, host: str) -> None:
        """Start with nothing taken.

        Args:
            budget: the budget of large frames.
            unserved: the buffered bytes of all connections.
            host: the peer's host: all connections from one host are one peer.
        """
        self._budget = budget
        self._unserved = unserved
        self.host = host
        self._sizes: dict[int, int] = {}
        """Bytes of the requests with pending answers, by the identity of the request."""
        self.has_list = False
        """Whether one of their answers is a list of topics or brokers; a connection has one at a time."""
        self.pending_bytes = 0
        """Sum of `_sizes`."""
        self._claims: dict[int, BudgetClaim] = {}
        """Claims of complete large requests, by the identity of the request."""
        self._arriving: BudgetClaim | None = None
        """The claim of the arriving large frame, granted or not."""
        self._timer: asyncio.TimerHandle | None = None
        """Looks at the arriving frame."""
        self.counted = 0
        """Buffered bytes that `unserved` counts of this connection."""
        self.has_turn = False
        """Whether the connection waits for a turn, so that it takes no second place."""

    # Pending answers.

    def __len__(self) -> int:
        """Count the pending answers."""
        return len(self._sizes)

    @property
    def is_much(self) -> bool:
        """Whether the handler gets no more requests until one of the pending answers is given.

        One is enough while all connections together hold too many bytes.
        """
        pending = len(self._sizes)
        return pending > 0 and (
            self._unserved.is_tight or pending >= MAX_PENDING or self.pending_bytes >= MAX_PENDING_BYTES
        )

    def is_pending(self, request: RemotingCommand) -> bool:
        """Whether this request waits for its answer."""
        return id(request) in self._sizes

    def add_pending(self, request: RemotingCommand) -> None:
        """Note that the answer to `request` comes later."""
        if not request.body and id(request) in self._claims:  # the handler has dropped the body
            self._claims.pop(id(request)).release()
        self._sizes[id(request)] = size = PENDING_BYTES + self._size_of(request)
        self.pending_bytes += size
        if request.code in LISTS:
            self.has_list = True

    def settle(self, holder: AccountHolder, request: RemotingCommand) -> None:
        """Give back what a request with a pending answer holds: the answer is given now."""
        identity = id(request)
        size = self._sizes.pop(identity)
        self.pending_bytes -= size
        if request.code in LISTS:
            self.has_list = False
        if identity in self._claims:
            self._claims.pop(identity).release()
        if self.counted:
            self.count(holder, self.counted - size)

    # Large frames.

    @property
    def is_admitted(self) -> bool:
        """Whether a large frame arrives and the budget has admitted it."""
        return self._arriving is not None and self._arriving.is_granted

    def arrive(self, holder: AccountHolder, announced: int, seconds: float) -> ConnectionState:
        """Return the state of a connection that waits for the rest of its next frame, and for nothing else.

        A large frame claims room, and is watched once it is admitted. It is overdue after `seconds`, or when
        it comes too slowly while others wait for its room. A second call for the same frame changes nothing.
        """
        if announced > LARGE_FRAME_BYTES and self._arriving is None:
            self._arriving = self._claim(holder, announced)
        if self._arriving is None:
            return FLOWING
        if not self._arriving.is_granted:
            return HELD_UP
        if self._timer is None:
            self._look_later(holder, seconds, stalls=0)
        return ARRIVING

    def complete(self, request: Item) -> None:
        """Note that the arriving frame is complete: it is this request."""
        if self._arriving is not None:
            self._claims[id(request)] = self._arriving
            self._arriving = None
            self._stop_timer()

    def replace(self, frame: Item, request: Item) -> None:
        """Note that a complete frame was decoded: the request takes over its claim."""
        if id(frame) in self._claims:
            self._claims[id(request)] = self._claims.pop(id(frame))

    def admits(self, holder: AccountHolder, request: RemotingCommand) -> bool:
        """Return whether the budget admits a complete request; claim room if it is large and has none."""
        if len(request.body) <= LARGE_FRAME_BYTES:
            return True
        if id(request) not in self._claims:
            self._claims[id(request)] = self._claim(holder, len(request.body))
        return self._claims[id(request)].is_granted

    def keeps_waiting(self, request: Item) -> bool:
        """Whether this request waits for the budget."""
        claim = self._claims.get(id(request))
        return claim is not None and not claim.is_granted

    def release_answered(self, requests: Iterable[Item]) -> None:
        """Give back the claims of these requests, except those whose answers are pending."""
        if self._claims:
            for identity in map(id, requests):
                if identity in self._claims and identity not in self._sizes:
                    self._claims.pop(identity).release()

    # Buffered bytes.

    def bytes_of(self, items: Iterable[Item]) -> int:
        """Memory of waiting requests, and of cached answers instead of some, without the bodies of claims."""
        return sum(map(self._size_of, items))

    def count(self, holder: AccountHolder, size: int) -> None:
        """Report the buffered bytes that no claim counts; too many of them end a connection."""
        self.counted = self._unserved.keep(holder, self.host, size)

    # The end.

    def give_back(self, holder: AccountHolder) -> None:
        """Give everything back, because the connection takes no more requests; may be called twice."""
        self._sizes.clear()
        self.pending_bytes = self.counted = 0
        self.has_list = False
        self._unserved.let_go(holder, self.host)
        self._stop_timer()
        for claim in self._claims.values():
            claim.release()
        self._claims.clear()
        if self._arriving is not None:
            self._arriving.release()
            self._arriving = None

    def _claim(self, holder: AccountHolder, size: int) -> BudgetClaim:
        return self._budget.ask(size, holder.go_on, peer=self.host, has_broker=holder.has_broker)

    def _size_of(self, item: Item) -> int:
        if isinstance(item, bytes):
            return max(QUEUED_BYTES, len(item))
        if not isinstance(item, RemotingCommand):
            return max(QUEUED_BYTES, len(item[1]) + len(item[2]))
        fields = item.ext_fields or {}
        # A field of two letters takes 120 bytes, so their length is no measure.
        size = QUEUED_BYTES + sum(map(getsizeof, (fields, *fields, *fields.values())))
        claim = self._claims.get(id(item))
        return size if claim is not None and claim.is_granted else size + len(item.body)

    def _look_later(self, holder: AccountHolder, seconds_left: float, *, stalls: int) -> None:
        seconds = min(ARRIVAL_LOOK_SECONDS, seconds_left)
        self._timer = asyncio.get_running_loop().call_later(
            seconds, self._look, holder, seconds_left - seconds, stalls, holder.bytes_in
        )

    def _look(self, holder: AccountHolder, seconds_left: float, stalls: int, bytes_before: int) -> None:
        claim = self._arriving
        is_slow = holder.bytes_in - bytes_before < MIN_ARRIVAL_BYTES and not holder.channel.is_paused
        stalls = stalls + 1 if is_slow and claim is not None and claim.is_wanted else 0
        if seconds_left > 0 and stalls < MAX_STALLS:
            self._look_later(holder, seconds_left, stalls=stalls)
            return
        if claim is not None:
            claim.waste()
        holder.close_overdue()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
