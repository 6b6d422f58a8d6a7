"""One connection of a server: bytes to requests, requests to the handler, answers back, all within limits.

Rules that every path below keeps:

* Requests go to the handler in the order of their frames; answers go out as they are ready.
* Reading pauses while requests can't be processed: the peer is slow to read, too many requests wait for later
  answers, a large frame waits for the budget, or the turn is over. So a connection buffers at most one read
  of the transport beside the frame that is arriving.
* A connection asks for the body budget in the order of its frames, and only when nothing before the frame
  waits. So waiting connections can't block each other for ever.
"""

import asyncio
import logging
from collections.abc import Callable, Container
from typing import cast

from namekeeper.errors import ProtocolError
from namekeeper.lookup_cache.reader import ANSWER_BYTES_PER_TURN, Item, RequestReader, is_lookup
from namekeeper.remoting.account import Account
from namekeeper.remoting.address import sharing_host
from namekeeper.remoting.connection_context import ConnectionContext
from namekeeper.remoting.connection_state import (
    CLOSED,
    CLOSING,
    FLOWING,
    FLUSHING,
    HANDED_OFF,
    HELD_UP,
    UNREAD,
    ConnectionState,
    next_state,
)
from namekeeper.remoting.endings import closed_by
from namekeeper.remoting.scheduler import Peer
from namekeeper.remoting.unread import LARGE_ANSWERS, LISTS, ROOM_LOOK_SECONDS
from namekeeper.route.channel import Channel, ClosedBy
from namekeeper.wire.codec import encode_response
from namekeeper.wire.codes import SerializeType
from namekeeper.wire.command import ONEWAY_FLAG, RESPONSE_FLAG, RemotingCommand, Response
from namekeeper.wire.frames import HTTP_SPOKEN, Frame

__all__ = ["ServerConnection"]

SIMPLE_READ_BYTES = 16 * 1024
"""A read up to this size has no large frame, and not too many requests for one turn."""
SHORT_READ_BYTES = 1024
"""A longer read waits undecoded while lookups take more than their time: it may have 80 requests."""
REQUESTS_PER_TURN = 256
"""Waiting lookups that are answered before other connections have their turn: about 2 ms."""
FLUSH_SECONDS = 2.0
"""Time in which a closed connection may send its remaining output."""


class ServerConnection(asyncio.Protocol):
    """Reads requests, passes them to `context.handler`, writes its answers."""

    __slots__ = (
        "__weakref__", "_account", "_context", "_flush_timer", "_frames", "_is_json", "_loop",
        "_queue", "_serving", "_state", "_transport", "_unread", "bytes_in", "bytes_out",
        "channel", "read", "reader", "seen_by_sweep",
    )  # fmt: skip

    def __init__(self, channel: Channel, context: ConnectionContext) -> None:
        self.channel = channel
        self._state = FLOWING
        self._account = Account(context.budget, context.unserved, sharing_host(channel.host))
        self.bytes_in = self.bytes_out = 0
        self.seen_by_sweep = (0, 0)
        """State at the last idle sweep: bytes in both directions, and number of sweeps without traffic."""
        self._context = context
        self.reader = reader = RequestReader(context.limits.max_frame_bytes, context.answering.first_cache)
        self.read: Callable[[bytes], list[Item]] = reader.feed
        self._frames = reader.frames
        self._is_json = context.answering.serialize_type is SerializeType.JSON
        self._loop: asyncio.AbstractEventLoop
        self._transport: asyncio.Transport
        self._unread: list[bytes] = []  # received when the turn had no time left
        self._queue: list[Item] = []
        """Requests that the handler has not got yet, and between them answers from the cache."""
        self._serving: RemotingCommand | None = None  # its handler runs, and `respond` was not called
        self._flush_timer: asyncio.TimerHandle | None = None
        """After `close`: ends the connection if the peer doesn't read the remaining output."""

    def __repr__(self) -> str:
        return f"ServerConnection({self.channel!r})"

    @property
    def is_held_up(self) -> bool:
        """Whether the server holds up its requests, so that it is not silent by itself."""
        return self._state is HELD_UP

    @property
    def peer(self) -> Peer:
        """The host that it counts for, and whether a broker is registered over it."""
        return self._account.host, self.has_broker

    @property
    def has_broker(self) -> bool:
        """Whether a broker is registered over it."""
        return self._context.hooks.has_broker(self.channel)

    @property
    def has_room(self) -> bool:
        """Whether one more large answer may be written, over any connection or when this one is closed."""
        return not self.channel.is_open or self._context.unread.has_room()

    @property
    def is_settled(self) -> bool:
        """Whether no answer is pending: all requests answered, all answers in the kernel's buffers."""
        return not (self._unread or self._queue or self._account or self._transport.get_write_buffer_size())

    def respond(self, request: RemotingCommand, response: Response) -> None:
        """Answer a request for which the handler returned None, or is about to.

        Nothing happens if the connection is closed or the request was answered before; one-way requests are
        settled without an answer.
        """
        if not self.channel.is_open:
            return
        if self._account.is_pending(request):
            self.go_on()
            self._account.settle(self, request)
        elif request is self._serving:
            self._serving = None
        else:
            return
        self._write(self._encode(request, response))

    def respond_failure(self, request: RemotingCommand, error: Exception) -> None:
        """Answer a request whose later work failed, as if its handler had raised `error`."""
        self.respond(request, self._context.failure_response(request, error, self.channel))

    def close(self, why: ClosedBy = ClosedBy.SERVER) -> None:
        """Close after the output has gone out; may be called twice."""
        if self.channel.is_open:
            self._end(CLOSING, why)
            self._transport.close()
            self._flush_timer = self._loop.call_later(FLUSH_SECONDS, self._transport.abort)
            self._loop.call_soon(self._announce_close)

    def close_overdue(self) -> None:
        """Close because a large frame did not arrive in time."""
        self._context.counters.overdue_closes += 1
        self._context.log_limit.log(
            logging.WARNING,
            "closing %r: a frame of %d bytes did not arrive in %g s, or too slowly while others waited",
            self.channel, self._frames.announced, self._context.limits.large_frame_seconds,
        )  # fmt: skip
        self.close(ClosedBy.LIMIT)

    def abort(self, why: ClosedBy = ClosedBy.LIMIT) -> None:
        """Close at once; output may be lost."""
        self.close(why)
        self._transport.abort()

    def reset_access(self) -> None:
        """Apply other access rules: check the peer again at its next request, before cached answers."""
        self.channel.access = None
        self.reader.use_cache(None)

    # Called by the transport.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start; from here on the application knows the channel."""
        self._loop = asyncio.get_running_loop()
        self._transport = cast("asyncio.Transport", transport)
        is_known = self._context.takes_certificate(self.channel, transport.get_extra_info("peercert"))
        self._transport.set_write_buffer_limits(**self._context.write_buffer_limits())
        self._context.connections.add(self)
        self._context.counters.connections_total += 1
        self._context.hooks.on_connect(self.channel)
        if not is_known:
            self.abort()

    def data_received(self, data: bytes) -> None:
        """Process the complete requests; the hot path."""
        self.bytes_in += len(data)
        unread = self._context.unread
        if (
            self._state is not FLOWING
            or unread.is_full
            or (
                len(data) > SHORT_READ_BYTES
                and (len(data) > SIMPLE_READ_BYTES or unread.grows_fast or self._context.scheduler.is_late)
            )
        ):
            self._receive_carefully(data)
            return
        requests = self.read(data)
        frames = self._frames
        if frames.buffered or frames.failure:
            self._queue += requests
            self._turn(is_due=False)
            return
        if len(requests) == 1:
            request = requests[0]
            if isinstance(request, bytes):
                self._write(request)
            elif isinstance(request, RemotingCommand) and not self._must_wait(request):
                self._write(self._answer(request))
            else:
                self._queue.append(request)
        else:
            self._queue += requests[self._serve(requests, is_due=False) :]
        if self._account.pending_bytes or self._queue or self._account.counted:
            self._settle()

    def eof_received(self) -> None:
        """Close: as in Java, half a connection is none (trap T39)."""
        self.close(ClosedBy.PEER)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection, and inform the application if it does not know yet."""
        is_known, context = self._state is FLUSHING, self._context
        self._end(CLOSED, closed_by(exc))
        if self._flush_timer is not None:
            self._flush_timer.cancel()
            self._flush_timer = None
        self.read = self.reader.feed  # another function would keep this object and its frame alive
        context.unread.let_go(self)
        context.connections.discard(self)
        context.counters.bytes_in += self.bytes_in
        context.counters.bytes_out += self.bytes_out
        if not is_known:
            context.hooks.on_close(self.channel)

    def pause_writing(self) -> None:
        """Stop reading and processing: the peer doesn't read its answers."""
        self._context.unread.keep(self, self._transport.get_write_buffer_size, self._queue, self._unread)
        if self.channel.is_open:
            self._enter(UNREAD)

    def resume_writing(self) -> None:
        """Read and process again."""
        self._context.unread.let_go(self)
        if self._state is UNREAD:
            self._enter(HELD_UP)
            self.go_on()

    # Serving.

    # `_answer` and the loop of `_serve` do the same: a call for each request of a pipeline, or a list for
    # each single request, would cost a tenth of the time. The tests go through both.

    def _answer(self, request: RemotingCommand) -> bytes:
        """Pass one request to the handler; return its answer as a frame, or nothing if none goes out now."""
        if request.flag & RESPONSE_FLAG:  # no request of this server has it: ignored
            return b""
        self._serving = request
        try:
            response = self._context.handler(request, self)
            if response is None:
                return self._defer(request)
            if self._is_json and not request.flag:  # `_encode` without the call
                return encode_response(response, opaque=request.opaque)
            return self._encode(request, response)
        except Exception as error:  # noqa: BLE001 - a bug in a handler must not end the connection
            return self._encode_failure(request, error)
        finally:
            self._serving = None

    def _serve(self, requests: list[Item], *, is_due: bool) -> int:
        """Pass requests to the handler until one of the limits of a turn; return their number.

        Args:
            requests: in their order.
            is_due: whether this is the connection's turn: then the first request goes to the handler in any
                case.
        """
        handler, is_json, account = self._context.handler, self._is_json, self._account
        answers: list[bytes] = []
        size = 0
        for request in requests:
            if not isinstance(request, RemotingCommand):
                found = request if isinstance(request, bytes) else self.reader.answer(request)
                if found is None:
                    break  # it is decoded when it becomes the first
                answer = found
            elif self._must_wait(request, is_due=is_due and not answers):
                break
            elif is_json and not request.flag and is_lookup(request):
                self._serving = request
                try:
                    response = handler(request, self)
                    answer = (
                        self._defer(request)
                        if response is None
                        else encode_response(response, opaque=request.opaque)
                    )
                except Exception as error:  # noqa: BLE001 - as above
                    answer = self._encode_failure(request, error)
            else:
                answer = self._answer(request)
            answers.append(answer)
            size += len(answer)
            if size > ANSWER_BYTES_PER_TURN or (account.pending_bytes and self._is_full):
                break
        self._serving = None
        self._write(b"".join(answers))
        return len(answers)

    def _encode(self, request: RemotingCommand, response: Response) -> bytes:
        """Encode an answer; one-way requests get none (trap T19)."""
        if request.flag & ONEWAY_FLAG:
            return b""
        if self._is_json or request.language == "CPP":
            return encode_response(response, opaque=request.opaque)
        return encode_response(response, opaque=request.opaque, serialize_type=SerializeType.ROCKETMQ)

    def _defer(self, request: RemotingCommand) -> bytes:
        """Note that the answer comes later, unless `respond` was called already."""
        if self._serving is not None:
            self._account.add_pending(request)
        return b""

    def _encode_failure(self, request: RemotingCommand, error: Exception) -> bytes:
        if self._serving is None:  # answered before the handler failed
            return b""
        return self._encode(request, self._context.failure_response(request, error, self.channel))

    def _write(self, data: bytes) -> None:
        if data and self.channel.is_open:
            self.bytes_out += len(data)
            self._transport.write(data)
            if self._state is UNREAD:
                self._context.unread.add(self, len(data))

    # When serving is held up.

    def _receive_carefully(self, data: bytes) -> None:
        if not self.channel.is_open:
            return
        self._unread.append(data)
        if self._context.scheduler.has_time() and not self._context.unread.grows_fast:
            self._turn()
        else:
            self._note_held()
            self._stop_reading()
            self.go_on()

    def go_on(self) -> None:
        """Schedule one more turn if requests wait, never from inside a handler, and only one at a time."""
        if self._state is HELD_UP and not self._account.has_turn:
            self._account.has_turn = True
            first = self._queue[0] if self._queue else b""
            is_long, is_miss = self._is_next(LARGE_ANSWERS), False
            if isinstance(first, RemotingCommand) and is_lookup(first):
                is_long, is_miss = self._context.hooks.takes_long(first), True
            self._context.scheduler.wait(
                self._take_turn,
                peer=self.peer,
                is_long=is_long,
                is_miss=is_miss,
            )

    def _take_turn(self) -> None:
        self._account.has_turn = False
        if self._state.is_paused:  # else it went on, or was closed, before its turn
            self._turn()

    def _turn(self, *, is_due: bool = True) -> None:
        if self._unread and not self._queue:
            self._read_on()
        batch = self._servable(is_due=is_due)
        if batch:
            served = self._serve(batch, is_due=is_due)
            del self._queue[:served]
            self._account.release_answered(batch[:served])
        self._settle()

    def _read_on(self) -> None:
        requests, rest = self.reader.feed_part(b"".join(self._unread), REQUESTS_PER_TURN)
        self._unread[:] = (rest,) if rest else ()
        if requests:  # a frame that was arriving is the first of them
            self._account.complete(requests[0])
        self._queue += requests

    def _servable(self, *, is_due: bool) -> list[Item]:
        """Requests at the front of the queue that nothing holds up."""
        if self._is_full:
            return []
        if self._queue and not isinstance(self._queue[0], (bytes, RemotingCommand)):
            if not is_due and not self._context.scheduler.has_time():
                return []
            self._decode_first(self._queue[0])
        batch = self._queue[:REQUESTS_PER_TURN]
        for index, request in enumerate(batch):
            if isinstance(request, RemotingCommand) and not self._account.admits(self, request):
                return batch[:index]
        return batch

    def _decode_first(self, frame: Frame) -> None:
        """Decode the first frame, which the reader left undecoded; if it is broken, drop the rest."""
        try:
            self._queue[0] = request = self.reader.take(frame)
            self._account.replace(frame, request)
        except ProtocolError as failure:
            self._frames.failure = str(failure)
            self._unread.clear()
            self._queue.clear()

    def _settle(self) -> None:
        """Select the next step: end, read on, come back soon, or wait for a call."""
        if not self.channel.is_open:
            return
        is_full = self._is_full
        if self._queue or self._unread or is_full:
            self._stop_reading()
            if not is_full and self._is_next(LARGE_ANSWERS) and not self.has_room:
                self._loop.call_later(ROOM_LOOK_SECONDS, self.go_on)
            elif not is_full and not (self._queue and self._account.keeps_waiting(self._queue[0])):
                self.go_on()
        elif self._frames.failure:
            self._fail(self._frames.failure)
            return
        else:
            seconds = self._context.limits.large_frame_seconds
            self._enter(self._account.arrive(self, self._frames.announced, seconds))
        self._note_held()

    def _is_next(self, codes: Container[int]) -> bool:
        return bool(self._queue) and getattr(self._queue[0], "code", None) in codes

    def _must_wait(self, request: RemotingCommand, *, is_due: bool = False) -> bool:
        """Whether a request has to wait for time or space; one that is due waits for space only."""
        scheduler = self._context.scheduler
        if is_lookup(request):
            return not is_due and not scheduler.has_time_for_miss()
        return self._lacks_space(request) or (not is_due and not scheduler.has_time())

    def _lacks_space(self, request: RemotingCommand) -> bool:
        """Whether a request with a large answer has to wait: for room, or for the list before it."""
        code = request.code
        return (code in LARGE_ANSWERS and not self.has_room) or (code in LISTS and self._account.has_list)

    @property
    def _is_full(self) -> bool:
        account = self._account
        return self._state is UNREAD or account.is_much or (account.has_list and self._is_next(LISTS))

    def _note_held(self) -> None:
        """Report the buffered bytes of this connection that no claim counts."""
        account = self._account
        held = account.pending_bytes
        if not account.is_admitted:
            held += self._frames.buffered
        if self._state is not UNREAD:  # else the waiting bytes are counted with the answers
            held += sum(map(len, self._unread)) + account.bytes_of(self._queue)
        account.count(self, held)

    # The state.

    def _enter(self, state: ConnectionState) -> None:
        """Change the state: the only place, so that socket and channel always agree with it.

        While the server doesn't read from a channel, its brokers don't expire.
        """
        before = self._state
        if state is before:
            return
        self._state = next_state(before, state)
        self.channel.is_open = state.is_open
        if state.is_read and not before.is_read:
            self.channel.resume()
            self._transport.resume_reading()
        elif state.is_paused and before.is_read:
            self.channel.pause()
            self._context.counters.reading_pauses += 1
            self._transport.pause_reading()
        elif state is HANDED_OFF:
            self._transport.pause_reading()

    def _stop_reading(self) -> None:
        """Stop reading, because requests wait; the peer may have stopped it already, by not reading."""
        if self._state.is_read:
            self._enter(HELD_UP)

    # Endings.

    def _fail(self, failure: str) -> None:
        self._context.counters.protocol_errors += 1
        self._context.log_limit.log(
            logging.WARNING, "closing %r: %s", self.channel, failure, is_frequent=failure == HTTP_SPOKEN
        )
        self.close(ClosedBy.PROTOCOL_ERROR)

    def _end(self, state: ConnectionState, why: ClosedBy) -> None:
        """Give everything back; the handler gets no more requests of this connection."""
        if self.channel.is_open:
            self.channel.closed_by = why
        self._enter(state)
        self._unread.clear()
        self._queue.clear()
        self._account.give_back(self)

    def _announce_close(self) -> None:
        if self._state is CLOSING:  # else the connection was lost meanwhile
            self._enter(FLUSHING)
            self._context.hooks.on_close(self.channel)
