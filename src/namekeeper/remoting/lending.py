"""A connection that lends its socket to the front while it asks for known look-ups and nothing else."""

from namekeeper.lookup_cache.reader import Item
from namekeeper.remoting.connection import ServerConnection
from namekeeper.remoting.connection_context import ConnectionContext
from namekeeper.remoting.front import Front, Returned
from namekeeper.route.channel import Channel

__all__ = ["LendingConnection"]

MIN_KNOWN_READS = 4
"""Reads in a row that held known look-ups and nothing else, before the socket is lent."""
MAX_KNOWN_READS = 1_024
"""The same after loans that were hardly worth it."""
WORTHWHILE_BYTES = 16 * 1024
"""Requests that a loan should serve: some 80 look-ups. After less the next loan waits twice as long."""


class LendingConnection(ServerConnection):
    """A `ServerConnection` of a server that has a front."""

    __slots__ = ("_before", "_front", "_is_known", "_known_reads", "_loan", "_wanted_reads")

    def __init__(self, channel: Channel, context: ConnectionContext, front: Front) -> None:
        super().__init__(channel, context)
        self.read = self._read_and_note
        self._front = front
        self._loan = 0
        """Number of the loan; 0: the socket is ours."""
        self._before = (0, 0)
        """Bytes in and out when it was lent."""
        self._is_known = False
        """Whether the last read held known look-ups and nothing else."""
        self._known_reads = 0
        self._wanted_reads = MIN_KNOWN_READS

    @property
    def is_lent(self) -> bool:
        """Whether the front serves the socket."""
        return self._loan != 0

    def data_received(self, data: bytes) -> None:
        """Serve what is complete; lend the socket when that seems worth it."""
        self._is_known = False
        super().data_received(data)
        if not self._is_known:
            self._known_reads = 0
            return
        self._known_reads += 1
        if self._known_reads >= self._wanted_reads and self._can_lend():
            self._lend()

    def close(self) -> None:
        """Close after what was written before has gone out, by us or by the front."""
        if self._loan:
            returned = self._front.take_back(self._loan)
            if returned is not None:
                self._end_loan(returned)
                self._write(returned.unsent)
            self._loan = 0
        super().close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection and tell the application, once."""
        if self._loan:
            self._front.take_back(self._loan)
            self._loan = 0
        super().connection_lost(exc)

    # What the front tells us.

    def moved(self, bytes_in: int, bytes_out: int) -> None:
        """Note the bytes since the socket was lent."""
        before_in, before_out = self._before
        self.bytes_in, self.bytes_out = before_in + bytes_in, before_out + bytes_out

    def returned(self, returned: Returned) -> None:
        """Go on with the socket: write what the front could not, serve what it did not know."""
        self._end_loan(returned)
        if not self.channel.is_open:
            return
        if returned.is_broken:
            self.abort()
            return
        self._transport.resume_reading()
        self._write(returned.unsent)  # which stops the reading again if it is much
        if returned.unread:
            self.data_received(returned.unread)

    def _read_and_note(self, data: bytes) -> list[Item]:
        items = self.reader.feed(data)
        self._is_known = bool(items) and all(isinstance(item, bytes) for item in items)
        return items

    def _can_lend(self) -> bool:
        """Whether nothing is owed in either direction and the bytes are plain."""
        return (
            self.channel.is_open
            and not self._is_careful
            and not (self._queue or self._unread or self._deferred or self._claims)
            and not self._frames.buffered
            and not self._frames.failure
            and not self._transport.get_write_buffer_size()
            and self._transport.get_extra_info("sslcontext") is None
        )

    def _lend(self) -> None:
        self._known_reads = 0
        self._before = (self.bytes_in, self.bytes_out)
        self._transport.pause_reading()
        self._loan = self._front.lend(self, self._transport.get_extra_info("socket").fileno())
        if not self._loan:
            self._wanted_reads = MAX_KNOWN_READS
            self._transport.resume_reading()

    def _end_loan(self, returned: Returned) -> None:
        """Take over what the front counted; the unread bytes are counted when they are served."""
        self._loan = 0
        self.moved(returned.bytes_in - len(returned.unread), returned.bytes_out)
        is_worthwhile = returned.bytes_in >= WORTHWHILE_BYTES
        longer = min(2 * self._wanted_reads, MAX_KNOWN_READS)
        self._wanted_reads = MIN_KNOWN_READS if is_worthwhile else longer
