"""One connection of a server: bytes to requests, requests to the handler, answers back, all within limits.

Rules that every path below keeps:

* Requests are handed over in the order of their frames; answers go out as they are ready.
* Reading pauses while requests are not served: the peer is slow to read, too many requests wait to be
  answered later, a large frame waits for the budget, or the turn is over. So a connection holds at most one
  read of the transport beside the frame that is arriving.
* A connection asks for the body budget in the order of its frames, and only when nothing before the frame
  waits. So waiting connections can't block each other for ever.
"""

import asyncio
import logging
from collections.abc import Container
from typing import cast

from namekeeper.access.judged import subject_of
from namekeeper.errors import ProtocolError
from namekeeper.lookup_cache.reader import Item, RequestReader
from namekeeper.remoting.address import sharing_host
from namekeeper.remoting.budget import BudgetClaim
from namekeeper.remoting.connection_context import ConnectionContext
from namekeeper.remoting.endings import closed_by
from namekeeper.remoting.large_frames import LARGE_FRAME_BYTES, LargeFrames
from namekeeper.remoting.owed import OwedAnswers, bytes_of
from namekeeper.remoting.unread import LARGE_ANSWERS, LISTS, ROOM_LOOK_SECONDS
from namekeeper.route.channel import Channel, ClosedBy
from namekeeper.wire.codec import decode_frame, encode_response
from namekeeper.wire.codes import RequestCode, SerializeType
from namekeeper.wire.command import ONEWAY_FLAG, RESPONSE_FLAG, ZONE_MODE, RemotingCommand, Response
from namekeeper.wire.frames import HTTP_SPOKEN, Frame

__all__ = ["ServerConnection"]

GET_ROUTEINFO_BY_TOPIC = int(RequestCode.GET_ROUTEINFO_BY_TOPIC)
"""Look-ups are served as they come, but those narrowed to a zone: their answers are made each time."""

SIMPLE_READ_BYTES = 16 * 1024
"""A read up to this size has no large frame, and not too many requests for one turn."""
REQUESTS_PER_TURN = 256
"""Waiting look-ups that are served before other connections have their turn: some 2 ms."""
ANSWER_BYTES_PER_TURN = 256 * 1024
"""Bytes of answers after which a turn ends: large ones must not pile up for a peer that reads nothing."""
FLUSH_SECONDS = 2.0
"""How long a closed connection may take to send what was written before."""


class ServerConnection(asyncio.Protocol):
    """Reads requests, hands them to `context.handler`, writes what it answers."""

    __slots__ = (
        "__weakref__", "_close_announced", "_context", "_flush_timer", "_frames", "_held_bytes", "_host",
        "_is_careful", "_is_json", "_large", "_loop", "_owed", "_queue", "_read_part", "_serving",
        "_transport", "_turn_is_due", "_unread", "_write_is_blocked", "bytes_in", "bytes_out", "channel",
        "read", "reader", "seen_by_sweep",
    )  # fmt: skip

    def __init__(self, channel: Channel, context: ConnectionContext) -> None:
        self.channel = channel
        self._host = sharing_host(channel.host)
        self.bytes_in = self.bytes_out = 0
        self.seen_by_sweep = (0, 0)
        """At the last idle sweep: bytes in both directions, and the number of sweeps without traffic."""
        self._context = context
        self.reader = reader = RequestReader(context.max_frame_bytes, context.first_cache)
        self.read, self._read_part = reader.feed, reader.feed_part
        self._frames = reader.frames
        self._is_json = context.serialize_type is SerializeType.JSON
        self._loop: asyncio.AbstractEventLoop
        self._transport: asyncio.Transport
        self._unread: list[bytes] = []  # received when the turn had no time left
        self._queue: list[Item] = []
        """Requests that were not handed over yet, and between them answers from the cache."""
        self._owed = OwedAnswers()
        self._held_bytes = 0  # what `context.unserved` has of this connection
        self._serving: RemotingCommand | None = None  # its handler runs, and `respond` was not called
        self._large = LargeFrames()
        self._flush_timer: asyncio.TimerHandle | None = None
        """After `close`: ends the connection if the peer doesn't read the remaining output."""
        self._is_careful = False
        """Whether something stands in the way of serving requests as they come."""
        self._turn_is_due = self._write_is_blocked = self._close_announced = False

    def __repr__(self) -> str:
        return f"ServerConnection({self.channel!r})"

    @property
    def is_held_up(self) -> bool:
        """Whether we hold up its requests, so that it is not silent by itself."""
        return self.channel.is_paused and not self._write_is_blocked

    @property
    def has_broker(self) -> bool:
        """Whether a broker is registered over it."""
        return self._context.has_broker(self.channel)

    @property
    def has_room(self) -> bool:
        """Whether one more large answer may be written, over any connection or when this one is closed."""
        return not self.channel.is_open or self._context.unread.has_room()

    @property
    def is_settled(self) -> bool:
        """Whether nothing is owed to the peer: all requests answered, all answers handed to the kernel."""
        return not (self._unread or self._queue or self._owed or self._transport.get_write_buffer_size())

    def respond(self, request: RemotingCommand, response: Response) -> None:
        """Answer a request for which the handler returned None, or is about to.

        Nothing happens if the connection is closed or the request was answered before; one-way requests
        are settled without an answer.
        """
        if not self.channel.is_open:
            return
        identity = id(request)
        if held := self._owed.remove(identity):
            self._schedule_turn()
            self._large.release(identity)
            if self._held_bytes:
                self._keep_held(self._held_bytes - held)
        elif request is self._serving:
            self._serving = None
        else:
            return
        was_blocked, answer = self._write_is_blocked, self._encode(request, response)
        self._write(answer)
        if was_blocked:
            self._context.unread.add(self, len(answer))

    def respond_failure(self, request: RemotingCommand, error: Exception) -> None:
        """Answer a request whose later work failed, as if its handler had raised `error`."""
        self.respond(request, self._context.failure_response(request, error, self.channel))

    def close(self, why: ClosedBy = ClosedBy.SERVER) -> None:
        """Close after what was written before has gone out; may be called twice."""
        if self.channel.is_open:
            self.channel.closed_by = why
            self._forget_everything()
            self._transport.close()
            self._flush_timer = self._loop.call_later(FLUSH_SECONDS, self._transport.abort)
            self._loop.call_soon(self._announce_close)

    def close_overdue(self) -> None:
        """Close because a large frame did not arrive in time."""
        self._context.counters.overdue_closes += 1
        self._context.log_limit.log(
            logging.WARNING,
            "closing %r: a frame of %d bytes did not arrive in %g s, or too slowly while others waited",
            self.channel, self._frames.announced, self._context.large_frame_seconds,
        )  # fmt: skip
        self.close(ClosedBy.LIMIT)

    def abort(self, why: ClosedBy = ClosedBy.LIMIT) -> None:
        """Close at once; what was written may be lost."""
        self.close(why)
        self._transport.abort()

    def reset_access(self) -> None:
        """Other access rules hold: judge the peer again at its next request, with no cached answer before."""
        self.channel.access = None
        self.reader.use_cache(None)

    # Called by the transport.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin; from here on the application knows the channel."""
        self._loop = asyncio.get_running_loop()
        self._transport = cast("asyncio.Transport", transport)
        self.channel.certificate = transport.get_extra_info("peercert")
        self.channel.certificate_name = subject_of(self.channel.certificate)
        low, high = self._context.write_buffer_bytes
        self._transport.set_write_buffer_limits(high, low)
        self._context.connections.add(self)
        self._context.counters.connections_total += 1
        self._context.on_connect(self.channel)

    def data_received(self, data: bytes) -> None:
        """Serve what is complete; the hot path."""
        self.bytes_in += len(data)
        if self._is_careful or len(data) > SIMPLE_READ_BYTES:
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
            elif isinstance(request, RemotingCommand) and (
                (request.code == GET_ROUTEINFO_BY_TOPIC and ZONE_MODE not in (request.ext_fields or ()))
                or (self._context.turns.has_time() and not self._lacks_space(request))
            ):
                self._write(self._answer(request))
            else:
                self._queue.append(request)
        else:
            self._queue += requests[self._serve(requests, is_due=False) :]
        if self._owed.bytes or self._queue or self._held_bytes:
            self._settle()

    def eof_received(self) -> None:
        """Close: as in Java, half a connection is none (trap T39)."""
        self.close(ClosedBy.PEER)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection and inform the application, once."""
        if self.channel.closed_by is None:
            self.channel.closed_by = closed_by(exc)
        self._forget_everything()
        self.read = self.reader.feed  # another one has the connection, and would keep it and its frame alive
        context = self._context
        context.unread.let_go(self)
        context.connections.discard(self)
        context.counters.bytes_in += self.bytes_in
        context.counters.bytes_out += self.bytes_out
        self._announce_close()

    def pause_writing(self) -> None:
        """Stop reading and serving: the peer doesn't read its answers."""
        self._write_is_blocked = True
        self._context.unread.keep(self, self._transport.get_write_buffer_size, self._queue, self._unread)
        self._set_reading(wanted=False)

    def resume_writing(self) -> None:
        """Go on."""
        self._write_is_blocked = False
        self._context.unread.let_go(self)
        self._schedule_turn()

    # Serving.

    # `_answer` and the loop of `_serve` do the same: a call for each request of a pipeline, or a list for
    # each single request, would cost a tenth of the whole. The tests go through both.

    def _answer(self, request: RemotingCommand) -> bytes:
        """Hand one request over; return its answer as a frame, or nothing if none goes out now."""
        if request.flag & RESPONSE_FLAG:  # no request of ours has it: ignored
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
        """Hand requests over until one of the limits of a turn; return how many were.

        Args:
            requests: in their order.
            is_due: whether this is the connection's turn: then the first one is handed over in any case.
        """
        handler, is_json, owed = self._context.handler, self._is_json, self._owed
        answers: list[bytes] = []
        size = 0
        for request in requests:
            if isinstance(request, bytes):
                answer = request
            elif not isinstance(request, RemotingCommand):  # decoded when it becomes the first
                break
            elif (
                request.code == GET_ROUTEINFO_BY_TOPIC
                and is_json
                and not request.flag
                and ZONE_MODE not in (request.ext_fields or ())
            ):
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
            elif self._lacks_space(request) or (
                (answers or not is_due) and not self._context.turns.has_time()
            ):
                break
            else:
                answer = self._answer(request)
            answers.append(answer)
            size += len(answer)
            if size > ANSWER_BYTES_PER_TURN or (owed.bytes and self._is_full):
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
        """Remember that the answer comes later, unless `respond` was called already."""
        if self._serving is not None:
            self._owed.add(request, self._large.claims)
        return b""

    def _encode_failure(self, request: RemotingCommand, error: Exception) -> bytes:
        if self._serving is None:  # answered before the handler failed
            return b""
        return self._encode(request, self._context.failure_response(request, error, self.channel))

    def _write(self, data: bytes) -> None:
        if data and self.channel.is_open:
            self.bytes_out += len(data)
            self._transport.write(data)

    # When serving is held up.

    def _receive_carefully(self, data: bytes) -> None:
        self._unread.append(data)
        if self._context.turns.has_time():
            self._turn()
        else:
            self._note_held()
            self._set_reading(wanted=False)
            self._schedule_turn()

    def _schedule_turn(self) -> None:
        """Schedule one more turn, never from inside a handler, and only one at a time."""
        if self._is_careful and not self._turn_is_due:
            self._turn_is_due = True
            peer = self._host, self.has_broker
            self._context.turns.wait(self._turn, peer=peer, is_long=self._is_next(LARGE_ANSWERS))

    def _turn(self, *, is_due: bool = True) -> None:
        if is_due:
            self._turn_is_due = False
        if not self.channel.is_open:
            return
        if self._unread and not self._queue:
            self._read_on()
        batch = self._servable()
        if batch:
            served = self._serve(batch, is_due=is_due)
            del self._queue[:served]
            if self._large.claims:
                self._large.release_answered(batch[:served], self._owed)
        if self.channel.is_open:
            self._settle()

    def _read_on(self) -> None:
        requests, rest = self._read_part(b"".join(self._unread), REQUESTS_PER_TURN)
        self._unread[:] = (rest,) if rest else ()
        if requests:  # a frame that was arriving is the first of them
            self._large.complete(requests[0])
        self._queue += requests

    def _servable(self) -> list[Item]:
        """Requests at the front of the queue that nothing holds up."""
        if self._is_full:
            return []
        if self._queue and not isinstance(self._queue[0], (bytes, RemotingCommand)):
            self._decode_first(self._queue[0])
        batch = self._queue[:REQUESTS_PER_TURN]
        for index, request in enumerate(batch):
            if not isinstance(request, RemotingCommand) or len(request.body) <= LARGE_FRAME_BYTES:
                continue
            if not self._is_admitted(request):
                return batch[:index]
        return batch

    def _decode_first(self, frame: Frame) -> None:
        """Decode the first of the queue, which the reader left undecoded; if it is broken, end serving."""
        try:
            self._queue[0] = decode_frame(frame)
        except ProtocolError as failure:
            self._frames.failure = str(failure)
            self._unread.clear()
            self._queue.clear()

    def _is_admitted(self, request: RemotingCommand) -> bool:
        claims, identity = self._large.claims, id(request)
        if identity not in claims:
            claims[identity] = self._claim(len(request.body))
        return claims[identity].is_granted

    def _settle(self) -> None:
        """Decide how to go on: end, read on, come back soon, or wait to be called."""
        is_full = self._is_full
        if self._queue or self._unread or is_full:
            self._set_reading(wanted=False)
            if not is_full and self._is_next(LARGE_ANSWERS) and not self.has_room:
                self._loop.call_later(ROOM_LOOK_SECONDS, self._schedule_turn)
            elif not is_full and not self._waits_for_budget():
                self._schedule_turn()
        elif self._frames.failure:
            self._fail(self._frames.failure)
            return
        else:
            self._await_next_frame()
        self._note_held()

    def _is_next(self, codes: Container[int]) -> bool:
        return bool(self._queue) and getattr(self._queue[0], "code", None) in codes

    def _lacks_space(self, request: RemotingCommand) -> bool:
        """Whether a request with a large answer has to wait: for room, or for the list before."""
        code = request.code
        return (code in LARGE_ANSWERS and not self.has_room) or (code in LISTS and self._owed.has_list)

    def _waits_for_budget(self) -> bool:
        return bool(self._queue) and self._large.keeps_waiting(self._queue[0])

    def _await_next_frame(self) -> None:
        large, announced = self._large, self._frames.announced
        if announced > LARGE_FRAME_BYTES and large.arriving is None:
            large.arriving = self._claim(announced)
        large.watch(self, self._context.large_frame_seconds)
        is_arriving = large.arriving is not None
        self._set_reading(wanted=not is_arriving or large.is_admitted)
        self._is_careful = is_arriving

    def _claim(self, size: int) -> BudgetClaim:
        ask = self._context.budget.ask
        return ask(size, self._schedule_turn, peer=self._host, has_broker=self.has_broker)

    @property
    def _is_full(self) -> bool:
        owed = self._owed
        return (
            self._write_is_blocked
            or owed.is_much(is_tight=self._context.unserved.is_tight)
            or (owed.has_list and self._is_next(LISTS))
        )

    def _note_held(self) -> None:
        """Have all connections' account know what this one holds that no claim counts."""
        held = self._owed.bytes
        if not self._large.is_admitted:
            held += self._frames.buffered
        if not self._write_is_blocked:  # else what waits is counted with the answers
            held += sum(map(len, self._unread)) + bytes_of(self._queue, self._large.claims)
        self._keep_held(held)

    def _keep_held(self, size: int) -> None:
        self._held_bytes = self._context.unserved.keep(self, self._host, size)

    def _set_reading(self, *, wanted: bool) -> None:
        """Start or pause reading; while we don't read from a channel, its brokers don't expire."""
        self._is_careful = self._is_careful or not wanted
        if wanted != self.channel.is_paused or not self.channel.is_open:
            return
        if wanted:
            self.channel.resume()
            self._transport.resume_reading()
        else:
            self.channel.pause()
            self._context.counters.reading_pauses += 1
            self._transport.pause_reading()

    # Endings.

    def _fail(self, failure: str) -> None:
        self._context.counters.protocol_errors += 1
        self._context.log_limit.log(
            logging.WARNING, "closing %r: %s", self.channel, failure, is_frequent=failure == HTTP_SPOKEN
        )
        self.close(ClosedBy.PROTOCOL_ERROR)

    def _forget_everything(self) -> None:
        """Release everything that this connection holds; none of its requests is served any more."""
        self.channel.is_open = False
        if self._flush_timer is not None:
            self._flush_timer.cancel()
            self._flush_timer = None
        self._unread.clear()
        self._queue.clear()
        self._owed.clear()
        self._held_bytes = 0
        self._context.unserved.let_go(self, self._host)
        self._large.release_all()

    def _announce_close(self) -> None:
        if not self._close_announced:
            self._close_announced = True
            self._context.on_close(self.channel)
