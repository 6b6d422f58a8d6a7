"""A connection that hands its socket off while it asks for nothing but routes."""

import logging

from namekeeper.lookup_cache.reader import Item
from namekeeper.remoting.connection import ServerConnection
from namekeeper.remoting.connection_context import ConnectionContext
from namekeeper.remoting.connection_state import FLOWING, HANDED_OFF
from namekeeper.remoting.endings import is_socket_closed
from namekeeper.remoting.front import Front, Returned
from namekeeper.route.channel import Channel, ClosedBy
from namekeeper.wire.codes import RequestCode
from namekeeper.wire.command import RemotingCommand

__all__ = ["LendingConnection"]

MIN_LOOKUP_READS = 4
"""The socket is handed off after this many reads in a row with only lookups."""
MAX_READS_BETWEEN = 1_024
"""After a hand-off that answered few requests, the next one comes after at most so many reads."""
WORTHWHILE_BYTES = 16 * 1024
"""Bytes that a hand-off should bring: about 80 lookups. After fewer bytes, twice as many reads come before
the next one."""


class LendingConnection(ServerConnection):
    """A `ServerConnection` of a server that has the native fast path."""

    __slots__ = (
        "_before",
        "_front",
        "_loan",
        "_lookup_reads",
        "_reads_between",
        "_reads_to_ignore",
        "_returned",
    )

    def __init__(self, channel: Channel, context: ConnectionContext, front: Front) -> None:
        super().__init__(channel, context)
        self.read = self._read_and_note
        self._front = front
        self._loan = 0
        """Number of the last hand-off; 0: there was none."""
        self._returned: Returned | None = None
        """The returned socket's data until a later iteration goes on with it."""
        self._before = (0, 0)
        """Bytes in and out at the hand-off."""
        self._lookup_reads = 0
        """Reads in a row with only lookups."""
        self._reads_between = MIN_LOOKUP_READS
        self._reads_to_ignore = 0
        """Reads to ignore, because hand-offs did not pay: these connections should cost little."""

    @property
    def is_lent(self) -> bool:
        """Whether the native fast path has the socket."""
        return self._state is HANDED_OFF

    def data_received(self, data: bytes) -> None:
        """Process complete requests; hand the socket off when many of them are lookups."""
        ServerConnection.data_received(self, data)  # with super() it takes longer
        if self._lookup_reads >= MIN_LOOKUP_READS and self._can_lend():
            self._lend()

    def close(self, why: ClosedBy = ClosedBy.SERVER) -> None:
        """Close after the output has gone out, from the event loop or the native thread."""
        if self._state is HANDED_OFF:
            returned = self._returned or self._front.take_back(self._loan)
            if returned is not None:
                self._end_loan(returned)
                self._write(returned.unsent)
        super().close(why)

    def reset_access(self) -> None:
        """Do the same; a handed-off socket returns, and the new rules apply to its bytes."""
        super().reset_access()
        returned = self._front.take_back(self._loan) if self.is_lent else None
        if returned is not None:
            self._returned = returned
            self._loop.call_soon(self.returned, returned)

    def eof_received(self) -> None:
        """Close; the native thread may have read a reset, after which the socket reads as ended."""
        is_reset = self._loan and is_socket_closed(self._transport.get_extra_info("socket"))
        self.close(ClosedBy.RESET if is_reset else ClosedBy.PEER)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection and inform the application, once."""
        if self._state is HANDED_OFF:
            self._front.take_back(self._loan)
        super().connection_lost(exc)

    # Called by the front.

    def moved(self, bytes_in: int, bytes_out: int) -> None:
        """Note the bytes since the hand-off."""
        before_in, before_out = self._before
        self.bytes_in, self.bytes_out = before_in + bytes_in, before_out + bytes_out

    def end_loan(self) -> None:
        """Go on with the socket, whose descriptor the server needs for another one."""
        returned = self._front.take_back(self._loan)
        if returned is not None:
            self.returned(returned)

    def returned(self, returned: Returned) -> None:
        """Go on with the socket: write unsent answers, process the other requests."""
        if self._state is not HANDED_OFF:  # closed since it came back
            return
        self._end_loan(returned)
        if returned.is_broken:
            self._context.log_limit.log(
                logging.ERROR, "closing %r: the native front failed with it; please report this", self.channel
            )
            self.abort(ClosedBy.FRONT)
            return
        self._write(returned.unsent)  # this stops reading again if there are many bytes
        if returned.unread:
            self.data_received(returned.unread)

    def _receive_carefully(self, data: bytes) -> None:
        self._lookup_reads = 0
        super()._receive_carefully(data)

    def _read_and_note(self, data: bytes) -> list[Item]:
        items = self.reader.feed(data)
        if self._reads_to_ignore:
            self._reads_to_ignore -= 1
        elif items and all(map(_is_lookup, items)):
            self._lookup_reads += 1
        else:
            self._lookup_reads = 0
        return items

    def _can_lend(self) -> bool:
        """Whether the peer may have all answers, none is open, and the connection is not encrypted."""
        return (
            self._state is FLOWING
            and self.reader.may_find_all
            and not self._account
            and not self._frames.buffered
            and not self._transport.get_write_buffer_size()
            and self._transport.get_extra_info("sslcontext") is None
        )

    def _lend(self) -> None:
        self._lookup_reads = 0
        self._before = (self.bytes_in, self.bytes_out)
        self._enter(HANDED_OFF)
        loan = self._front.lend(self, self._transport.get_extra_info("socket").fileno())
        if loan:
            self._loan = loan
        else:
            self._wait_for(MAX_READS_BETWEEN)
            self._enter(FLOWING)

    def _end_loan(self, returned: Returned) -> None:
        """Take over the counters of the native thread; unread bytes are counted when they are processed."""
        self._returned = None
        self._enter(FLOWING)
        self.moved(returned.bytes_in - len(returned.unread), returned.bytes_out)
        is_worthwhile = returned.bytes_in >= WORTHWHILE_BYTES
        longer = min(2 * self._reads_between, MAX_READS_BETWEEN)
        self._wait_for(MIN_LOOKUP_READS if is_worthwhile else longer)

    def _wait_for(self, reads: int) -> None:
        self._reads_between = reads
        self._reads_to_ignore = reads - MIN_LOOKUP_READS


def _is_lookup(item: Item) -> bool:
    """Whether the native fast path may have the answer, or the cache had it."""
    if isinstance(item, bytes):
        return True
    return (
        isinstance(item, RemotingCommand)
        and item.code == RequestCode.GET_ROUTEINFO_BY_TOPIC
        and not item.flag
        and not item.body
    )
