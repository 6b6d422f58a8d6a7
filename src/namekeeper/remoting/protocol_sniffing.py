"""Looks at the first bytes of an accepted socket without consuming them: PROXY header, TLS or plain.

MSG_PEEK reads them before there is a transport, because a transport that has read them can't be upgraded to
TLS, neither in asyncio nor in uvloop (protocol.md 5.8, traps T38 and T55).
"""

import asyncio
import socket
from collections.abc import Callable

from namekeeper.errors import ProtocolError
from namekeeper.remoting.address import Address
from namekeeper.wire.proxy_protocol import MAX_V2_BYTES, NeedMore, parse

__all__ = ["ProtocolSniffer"]

_TLS_HANDSHAKE = 0x16
_PROXY_STARTS = b"P\r"
"""First bytes of both versions of the header. No frame starts like this: its length would exceed the limit.
"""


class ProtocolSniffer:
    """Watches a socket until its protocol is known; then calls `on_ready`, or `on_rejected` with the reason.

    The reason is empty if the peer has left. After `cancel` neither is called.
    """

    __slots__ = (
        "_fd",
        "_header",
        "_is_watched",
        "_loop",
        "_on_ready",
        "_on_rejected",
        "age_in_sweeps",
        "claimed",
        "peer",
        "sock",
    )

    def __init__(
        self,
        sock: socket.socket,
        peer: Address,
        *,
        on_ready: Callable[["ProtocolSniffer", bool], None],
        on_rejected: Callable[["ProtocolSniffer", str], None],
    ) -> None:
        self.sock = sock
        self.peer = peer
        """The address at the other end of the socket."""
        self.claimed: Address | None = None
        """The peer's address according to a PROXY header."""
        self.age_in_sweeps = 0
        """Idle sweeps since it was accepted."""
        self._on_ready = on_ready
        self._on_rejected = on_rejected
        self._loop = asyncio.get_running_loop()
        self._fd = sock.fileno()
        self._header: bytes | None = b""
        """The bytes of a PROXY header read so far; None after its end."""
        self._is_watched = False

    def look(self) -> None:
        """Look at the bytes that have arrived; the loop calls it again when there are more."""
        try:
            is_tls = self._examine()
        except BlockingIOError:
            self._watch()
        except ConnectionError:  # a probe, or a client that gave up
            self._unwatch()
            self._on_rejected(self, "")
        except (OSError, ProtocolError) as error:
            self._unwatch()
            self._on_rejected(self, str(error))
        else:
            self._unwatch()
            self._on_ready(self, is_tls)

    def cancel(self) -> None:
        """Close the socket without a callback."""
        self._unwatch()
        self.sock.close()

    def _examine(self) -> bool:
        """Return whether TLS follows; raise BlockingIOError if more bytes are needed."""
        if not self._header:
            first = self._peek(1)[0]
            if self._header is None or first not in _PROXY_STARTS:
                return first == _TLS_HANDSHAKE
        self._take_header()
        return self._examine()

    def _take_header(self) -> None:
        """Read exactly the PROXY header from the socket.

        Bytes that can only belong to it are read at once: after a mere peek, the socket would stay readable
        and the loop would spin.
        """
        taken = self._header or b""
        seen = self._peek(MAX_V2_BYTES + 1 - len(taken))
        parsed = parse(taken + seen)
        if parsed is None:
            raise ProtocolError("neither a frame nor a PROXY header")
        if isinstance(parsed, NeedMore):
            self._header = taken + self.sock.recv(len(seen))
            raise BlockingIOError
        self.sock.recv(parsed.header_length - len(taken))
        self._header = None
        if parsed.source_addr is not None:
            self.claimed = Address(*parsed.source_addr)

    def _peek(self, size: int) -> bytes:
        data = self.sock.recv(size, socket.MSG_PEEK)
        if not data:
            raise ConnectionResetError("closed by the peer before it sent anything")
        return data

    def _watch(self) -> None:
        if not self._is_watched:
            self._is_watched = True
            self._loop.add_reader(self._fd, self.look)

    def _unwatch(self) -> None:
        if self._is_watched:
            self._is_watched = False
            self._loop.remove_reader(self._fd)
