"""A connection that lends its socket to the front while it asks for nothing but routes."""

import logging

from namekeeper.lookup_cache.reader import Item
from namekeeper.remoting.connection import ServerConnection
from namekeeper.remoting.connection_context import ConnectionContext
from namekeeper.remoting.endings import is_socket_closed
from namekeeper.remoting.front import Front, Returned
from namekeeper.route.channel import Channel, ClosedBy
from namekeeper.wire.codes import RequestCode
from namekeeper.wire.command import RemotingCommand

__all__ = ["LendingConnection"]

MIN_LOOKUP_READS = 4
"""The socket is lent after this many reads in a row with only look-ups."""
MAX_READS_BETWEEN = 1_024
"""After a loan that served few requests, the next one comes at the earliest after at most so many reads."""
WORTHWHILE_BYTES = 16 * 1024
"""Bytes that a loan should serve: some 80 look-ups. After fewer, twice as many reads come before the next."""


class LendingConnection(ServerConnection):
    """A `ServerConnection` of a server that has a front."""

    __slots__ = (
        "_before",
        "_front",
        "_has_lent",
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
        """Number of the loan; 0: the socket is ours."""
        self._has_lent = False
        self._returned: Returned | None = None
        """What came back and is gone on with in a later turn."""
        self._before = (0, 0)
        """Bytes in and out when it was lent."""
        self._lookup_reads = 0
        """Reads in a row with only look-ups."""
        self._reads_between = MIN_LOOKUP_READS
        self._reads_to_ignore = 0
        """Reads that are not looked at, because loans did not pay: these connections should cost little."""

    @property
    def is_lent(self) -> bool:
        """Whether the front serves the socket."""
        return self._loan != 0

    def data_received(self, data: bytes) -> None:
        """Serve complete requests; lend the socket when many of them are look-ups."""
        ServerConnection.data_received(self, data)  # with super() it takes longer
        if self._lookup_reads >= MIN_LOOKUP_READS and self._can_lend():
            self._lend()

    def close(self, why: ClosedBy = ClosedBy.SERVER) -> None:
        """Close after what was written before has gone out, by us or by the front."""
        if self._loan:
            returned = self._returned or self._front.take_back(self._loan)
            if returned is not None:
                self._end_loan(returned)
                self._write(returned.unsent)
            self._loan = 0
        super().close(why)

    def reset_access(self) -> None:
        """The same; a loan ends, and what the front read is judged by the new rules, in a later turn."""
        super().reset_access()
        returned = self._front.take_back(self._loan) if self._loan else None
        if returned is not None:
            self._returned = returned
            self._loop.call_soon(self.returned, returned)

    def eof_received(self) -> None:
        """Close; the front may have read a reset, after which the socket reads as ended."""
        is_reset = self._has_lent and is_socket_closed(self._transport.get_extra_info("socket"))
        self.close(ClosedBy.RESET if is_reset else ClosedBy.PEER)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection and tell the application, once."""
        if self._loan:
            self._front.take_back(self._loan)
            self._loan = 0
        super().connection_lost(exc)

    # Called by the front.

    def moved(self, bytes_in: int, bytes_out: int) -> None:
        """Note the bytes since the socket was lent."""
        before_in, before_out = self._before
        self.bytes_in, self.bytes_out = before_in + bytes_in, before_out + bytes_out

    def end_loan(self) -> None:
        """Go on with the socket, whose descriptor is needed for something else."""
        returned = self._front.take_back(self._loan)
        if returned is not None:
            self.returned(returned)

    def returned(self, returned: Returned) -> None:
        """Go on with the socket: write unsent answers, serve the requests that the front did not know."""
        if not self._loan:  # closed since it came back
            return
        self._end_loan(returned)
        if returned.is_broken:
            self._context.log_limit.log(
                logging.ERROR, "closing %r: the native front failed with it; please report this", self.channel
            )
            self.abort(ClosedBy.FRONT)
            return
        self._transport.resume_reading()
        self._write(returned.unsent)  # which stops reading again if it is much
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
            self.channel.is_open
            and self.reader.may_find_all
            and not self._is_careful
            and not (self._queue or self._unread or self._owed or self._large.claims)
            and not self._frames.buffered
            and not self._frames.failure
            and not self._transport.get_write_buffer_size()
            and self._transport.get_extra_info("sslcontext") is None
        )

    def _lend(self) -> None:
        self._lookup_reads = 0
        self._before = (self.bytes_in, self.bytes_out)
        self._transport.pause_reading()
        self._has_lent = True
        self._loan = self._front.lend(self, self._transport.get_extra_info("socket").fileno())
        if not self._loan:
            self._wait_for(MAX_READS_BETWEEN)
            self._transport.resume_reading()

    def _end_loan(self, returned: Returned) -> None:
        """Take over what the front counted; the unread bytes are counted when they are served."""
        self._loan, self._returned = 0, None
        self.moved(returned.bytes_in - len(returned.unread), returned.bytes_out)
        is_worthwhile = returned.bytes_in >= WORTHWHILE_BYTES
        longer = min(2 * self._reads_between, MAX_READS_BETWEEN)
        self._wait_for(MIN_LOOKUP_READS if is_worthwhile else longer)

    def _wait_for(self, reads: int) -> None:
        self._reads_between = reads
        self._reads_to_ignore = reads - MIN_LOOKUP_READS


def _is_lookup(item: Item) -> bool:
    """Whether the front may know the answer, or its answer was in the cache."""
    if isinstance(item, bytes):
        return True
    return (
        isinstance(item, RemotingCommand)
        and item.code == RequestCode.GET_ROUTEINFO_BY_TOPIC
        and not item.flag
        and not item.body
    )
