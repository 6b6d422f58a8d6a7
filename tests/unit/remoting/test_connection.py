import asyncio
import gc
import itertools
import logging
import weakref
from collections.abc import Callable
from struct import pack
from sys import getsizeof

import pytest
from hypothesis import given
from hypothesis import strategies as st

from namekeeper.errors import RequestError
from namekeeper.lookup_cache.cache import LookupCache
from namekeeper.processor.dispatch import LISTERS
from namekeeper.remoting import account
from namekeeper.remoting import connection as module
from namekeeper.remoting.account import LARGE_FRAME_BYTES, MAX_PENDING, PENDING_BYTES, Account
from namekeeper.remoting.budget import BodyBudget
from namekeeper.remoting.connection import SIMPLE_READ_BYTES, ServerConnection
from namekeeper.remoting.connection_context import WRITE_BUFFER_BYTES
from namekeeper.remoting.scheduler import ITERATION_SECONDS, MISS_SECONDS, Scheduler
from namekeeper.remoting.unread import LISTS, QUEUED_BYTES
from namekeeper.remoting.unserved import UnservedRequests
from namekeeper.wire.codec import encode_command
from namekeeper.wire.codes import SerializeType
from namekeeper.wire.command import RemotingCommand, Response, request
from tests.support.system.waiting import eventually, turns
from tests.unit.remoting.joined import Joined, decoded, echo, frame

both_paths = pytest.mark.parametrize("at_once", [True, False], ids=["pipelined", "single"])

LARGE = b"x" * (LARGE_FRAME_BYTES + 1)


class Later:
    """A handler that answers everything later, when told to."""

    def __init__(self) -> None:
        self.waiting: list[tuple[RemotingCommand, ServerConnection]] = []

    def __call__(self, request: RemotingCommand, connection: ServerConnection) -> None:
        self.waiting.append((request, connection))

    def answer(self, count: int = 1_000_000) -> None:
        ready, self.waiting = self.waiting[:count], self.waiting[count:]
        for waiting, connection in ready:
            connection.respond(waiting, Response())


async def test_requests_of_one_read_are_answered_in_one_write():
    joined = Joined()
    joined.deliver(frame(1, body=b"a") + frame(2, body=b"b"))
    (written,) = joined.transport.writes
    assert [(answer.opaque, answer.flag, answer.body) for answer in decoded(written)] == [
        (1, 1, b"a"),
        (2, 1, b"b"),
    ]


async def test_the_application_hears_of_a_connection_when_it_is_made():
    joined = Joined()
    assert joined.connected == [joined.channel]
    assert joined.context.connections == {joined.connection}
    assert joined.context.counters.connections_total == 1


@given(cuts=st.lists(st.integers(min_value=0), max_size=6))
async def test_however_the_stream_is_cut_the_answers_are_the_same(cuts: list[int]):
    joined = Joined()
    stream = b"".join(frame(opaque, body=b"x" * opaque) for opaque in range(5))
    edges = [0, *sorted(cut % (len(stream) + 1) for cut in cuts), len(stream)]
    for start, end in itertools.pairwise(edges):
        joined.deliver(stream[start:end])
    assert [(answer.opaque, len(answer.body)) for answer in joined.answers] == [(n, n) for n in range(5)]
    assert joined.connection.bytes_in == len(stream)
    assert joined.connection.bytes_out == len(joined.transport.written)


async def test_a_large_frame_for_the_slow_reader_gives_its_room_back_with_its_answer():
    budget = BodyBudget(1 << 28)
    joined = Joined(budget=budget)
    header = b"{'code':1,'opaque':7,'extFields':{'filler':'%b'}}" % (b"x" * 8_000)
    body = LARGE[:-8_000]  # a longer body would be decoded at once
    large = pack(">II", 4 + len(header) + len(body), len(header)) + header + body
    joined.deliver(large[:100])
    joined.deliver(large[100:])
    await eventually(lambda: joined.answered == [7])
    assert budget.in_flight == 0


STEPS = ("lookup", "later", "large", "part", "answer", "stop", "read", "close", "lose")
"""What peers, handlers and the server can do to a connection; `part`: half a large frame, then its rest."""


@given(steps=st.lists(st.sampled_from(STEPS), max_size=25), room=st.sampled_from([1, 3]))
async def test_whatever_happens_state_socket_and_channel_agree_and_the_end_gives_everything_back(
    steps: list[str], room: int
):
    later = Later()
    data = frame(1, code=103, body=LARGE)
    budget = BodyBudget(room * len(LARGE))
    joined = Joined(lambda request, each: Response() if request.code == 105 else later(request, each),
                    budget=budget, write_buffer_bytes=(0, 1))  # fmt: skip
    other = Joined(context=joined.context)
    other.deliver(data[:100])  # takes the room for one
    connection, transport, rest = joined.connection, joined.transport, b""

    def step(name: str) -> None:
        nonlocal rest
        if name == "answer":
            later.answer(1)
        elif name == "stop":
            transport.peer_reads = False
        elif name == "read":
            transport.read_everything()
        elif name == "close":
            connection.close()
        elif name == "lose":
            transport.abort()
        elif transport.is_reading_now and not transport.is_closed:
            kinds = {"lookup": frame(2), "later": frame(3, code=103), "large": data, "part": data[:100]}
            sent, rest = (rest, b"") if rest else (kinds[name], data[100:] if name == "part" else b"")
            joined.deliver(sent)

    for name in steps:
        step(name)
        await turns(1)
        state = connection._state
        assert joined.channel.is_open is state.is_open
        assert (joined.channel.closed_by is None) is state.is_open
        if state.is_open:
            assert (transport.is_reading_now, joined.channel.is_paused) == (state.is_read, state.is_paused)
            assert not state.is_read or not (connection._queue or connection._unread)
    for each in (joined, other):
        each.transport.abort()
    await turns(3)
    assert (joined.closed, joined.context.connections) == ([joined.channel, other.channel], set())
    assert (budget.in_flight, budget.waiting) == (0, 0)
    assert (joined.context.unserved.bytes, joined.context.unread.bytes) == (0, 0)


@pytest.mark.parametrize("size", [1, SIMPLE_READ_BYTES])
async def test_bytes_that_a_transport_delivers_after_the_close_reach_no_handler(size: int):
    seen = []
    joined = Joined(lambda request, _: seen.append(request.opaque) or Response())
    joined.connection.close()
    joined.connection.data_received(frame(1, body=b"x" * size))
    await turns(3)
    assert (seen, joined.transport.written) == ([], b"")


class TestWhoGetsAnAnswer:
    @both_paths
    async def test_oneway_requests_are_handled_and_never_answered(self, at_once: bool):
        seen = []
        joined = Joined(lambda request, _: seen.append(request.opaque) or Response())
        joined.deliver_frames([frame(1, oneway=True), frame(2)], at_once=at_once)
        assert seen == [1, 2]
        assert joined.answered == [2]

    @both_paths
    async def test_errors_of_oneway_requests_are_not_answered_either(self, at_once: bool):
        joined = Joined(_raise(RuntimeError("bug")))
        joined.deliver_frames([frame(1, oneway=True), frame(2, flag=2 | 8)], at_once=at_once)
        assert joined.transport.written == b""
        assert joined.context.counters.handler_errors == 2

    @both_paths
    async def test_response_frames_that_nobody_waits_for_are_ignored(self, at_once: bool):
        seen = []
        joined = Joined(lambda request, _: seen.append(request.opaque) or Response())
        joined.deliver_frames([frame(1, flag=1), frame(2, flag=3), frame(3, flag=4)], at_once=at_once)
        assert seen == [3]
        assert joined.answered == [3]
        assert joined.channel.is_open

    async def test_equal_opaques_are_answered_each(self):
        joined = Joined()
        joined.deliver(frame(7, body=b"a") + frame(7, body=b"b"))
        assert [answer.body for answer in joined.answers] == [b"a", b"b"]


class TestFailures:
    @both_paths
    async def test_a_bug_is_answered_logged_with_its_connection_and_survived(self, caplog, at_once: bool):
        joined = Joined(lambda request, _: Response() if request.code == 105 else 1 / 0)
        joined.deliver_frames([frame(1, code=99), frame(2)], at_once=at_once)
        assert [(it.opaque, it.code, it.remark) for it in joined.answers] == [
            (1, 1, "ZeroDivisionError: division by zero"), (2, 0, None),
        ]  # fmt: skip
        (line,) = caplog.records
        assert line.name == "namekeeper.remoting"
        assert line.exc_info
        assert "192.0.2.1:5" in line.getMessage()
        assert joined.context.counters.handler_errors == 1

    async def test_a_flood_of_bugs_is_no_flood_of_log_lines(self, caplog):
        joined = Joined(_raise(RuntimeError("bug")))
        joined.deliver(frame() * 100)
        assert len(joined.answers) == 100
        assert len(caplog.records) <= 20

    async def test_a_request_that_can_not_be_served_gets_its_code_and_remark(self, caplog):
        joined = Joined(_raise(RequestError(17, "No topic route info")))
        joined.deliver(frame(1))
        assert [(it.opaque, it.code, it.remark) for it in joined.answers] == [(1, 17, "No topic route info")]
        assert not caplog.records

    async def test_an_answer_that_can_not_be_encoded_is_a_bug_too(self):
        joined = Joined(lambda *_: Response(body="text"))
        joined.deliver(frame(1))
        assert [it.code for it in joined.answers] == [1]

    async def test_later_failures_are_answered_in_the_same_way(self):
        later = Later()
        joined = Joined(later)
        joined.deliver(frame(1) + frame(2))
        (first, connection), (second, _) = later.waiting
        connection.respond_failure(first, RequestError(2, "busy"))
        connection.respond_failure(second, KeyError("x"))
        assert [(it.code, it.remark) for it in joined.answers] == [(2, "busy"), (1, "KeyError: 'x'")]

    async def test_broken_frames_close_after_what_came_before_was_answered(self, caplog):
        joined = Joined()
        joined.deliver(frame(1) + b"\0\0\0\1garbage" + frame(2))
        assert joined.answered == [1]
        assert joined.transport.is_closed
        assert not joined.channel.is_open
        assert joined.context.counters.protocol_errors == 1
        assert "192.0.2.1:5" in caplog.text


class TestAnswersGivenLater:
    @both_paths
    async def test_later_answers_go_out_in_any_order(self, at_once: bool):
        later = Later()
        joined = Joined(later)
        joined.deliver_frames([frame(1), frame(2)], at_once=at_once)
        assert joined.transport.written == b""
        assert not joined.connection.is_settled
        for waiting, connection in reversed(later.waiting):
            connection.respond(waiting, Response())
        assert joined.answered == [2, 1]
        assert joined.connection.is_settled

    async def test_only_the_first_of_two_answers_goes_out(self):
        later = Later()
        joined = Joined(later)
        joined.deliver(frame(1))
        ((request, connection),) = later.waiting
        connection.respond(request, Response())
        connection.respond(request, Response())
        assert joined.answered == [1]

    async def test_answers_to_unknown_requests_go_nowhere(self):
        joined = Joined()
        joined.connection.respond(request(105), Response())
        assert joined.transport.written == b""

    async def test_oneway_requests_are_settled_without_an_answer(self):
        later = Later()
        joined = Joined(later)
        joined.deliver(frame(1, oneway=True))
        later.answer()
        assert joined.transport.written == b""
        assert joined.connection.is_settled

    async def test_answers_after_the_end_go_nowhere(self):
        later = Later()
        joined = Joined(later)
        joined.deliver(frame(1))
        joined.connection.close()
        later.answer()
        assert joined.transport.written == b""

    @both_paths
    @pytest.mark.parametrize("ending", [None, RuntimeError("bug")])
    async def test_an_answer_from_within_the_handler_is_the_only_one(
        self, ending: Exception | None, at_once: bool
    ):
        def handler(request: RemotingCommand, connection: ServerConnection) -> None:
            connection.respond(request, Response(remark="early"))
            if ending is not None:
                raise ending

        joined = Joined(handler)
        joined.deliver_frames([frame(1), frame(2)], at_once=at_once)
        assert [answer.remark for answer in joined.answers] == ["early", "early"]
        assert joined.connection.is_settled

    async def test_a_handler_may_answer_an_earlier_request(self):
        kept: list[RemotingCommand] = []

        def handler(request: RemotingCommand, connection: ServerConnection) -> Response | None:
            if not kept:
                kept.append(request)
                return None
            connection.respond(kept[0], Response())
            return Response()

        joined = Joined(handler)
        joined.deliver(frame(1) + frame(2))
        assert sorted(joined.answered) == [1, 2]
        assert joined.connection.is_settled

    @both_paths
    async def test_only_so_many_requests_of_a_connection_wait(self, at_once: bool):
        later = Later()
        joined = Joined(later)
        frames = [frame(n) for n in range(100)]
        for data in [b"".join(frames)] if at_once else frames:
            if joined.transport.is_reading():
                joined.deliver(data)
        assert len(later.waiting) == MAX_PENDING
        assert joined.channel.is_paused
        assert joined.connection.is_held_up
        assert not joined.transport.is_reading()
        later.answer(1)
        await turns()
        assert len(later.waiting) == MAX_PENDING - (not at_once)
        later.answer()
        await turns()
        later.answer()
        await turns()
        assert joined.transport.is_reading()
        assert not joined.channel.is_paused
        assert len(joined.answers) == (100 if at_once else MAX_PENDING)

    async def test_large_requests_that_wait_are_few(self):
        """64 of 60 KB over a thousand connections once took 3 GB."""
        later = Later()
        joined = Joined(later)
        body = b"x" * 60_000
        for number in range(64):
            if joined.transport.is_reading():
                joined.deliver(frame(number, body=body))
        assert len(later.waiting) == 5
        assert not joined.transport.is_reading()
        later.answer(1)
        await turns()
        assert joined.transport.is_reading()


class TestOneLimitForAllConnections:
    """Beside what claims on the budget count, all connections have one account of requests that are held."""

    @pytest.mark.parametrize("end", ["served", "closed"])
    async def test_half_a_frame_counts_until_the_rest_comes(self, end: str):
        joined = Joined()
        data = frame(1, body=b"x" * 50_000)
        joined.deliver(data[:40_000])
        assert joined.context.unserved.bytes == 40_000
        if end == "served":
            joined.deliver(data[40_000:])
        else:
            joined.transport.abort()
            await turns()
        assert joined.context.unserved.bytes == 0

    async def test_a_large_frame_counts_until_its_claim_is_granted(self):
        context = Joined(budget=BodyBudget(len(LARGE) + 1_000)).context
        first, second = (Joined(context=context) for _ in range(2))
        data = frame(1, body=LARGE)
        first.deliver(data[:20_000])
        assert context.unserved.bytes == 0
        second.deliver(data[:30_000])
        assert context.unserved.bytes == 30_000
        first.transport.abort()
        await turns()
        assert context.unserved.bytes == 0

    async def test_a_request_that_waits_for_its_answer_counts_with_its_header_and_its_body(self):
        later = Later()
        joined = Joined(later)
        joined.deliver(frame(1, body=b"x" * 5_000))
        wanted = PENDING_BYTES + QUEUED_BYTES + 5_000
        wanted += sum(map(getsizeof, ({"topic": "T"}, "topic", "T")))
        assert joined.context.unserved.bytes == wanted
        later.answer()
        await turns()
        assert joined.context.unserved.bytes == 0

    async def test_what_waits_for_its_turn_counts(self):
        slow = Slow()
        one = Joined(slow, scheduler=slow.scheduler)
        other = Joined(context=one.context)
        one.deliver(frame(1, code=206))
        other.deliver(b"".join(frame(number, code=206, body=b"x" * 1_000) for number in range(20)))
        assert one.context.unserved.bytes > 20_000
        await eventually(lambda: len(other.answers) == 20)
        await turns()
        assert one.context.unserved.bytes == 0

    async def test_beyond_the_limit_a_connection_is_closed(self):
        one = Joined(unserved=UnservedRequests(100_000))
        others = [Joined(context=one.context) for _ in range(4)]
        data = frame(1, body=b"x" * 50_000)[:30_000]
        for joined in (one, *others):
            joined.deliver(data)
        assert [joined.channel.is_open for joined in (one, *others)] == [False, False, True, True, True]
        assert one.context.unserved.bytes == 90_000

    async def test_when_it_is_tight_who_waits_for_an_answer_is_not_read_from(self):
        later = Later()
        one = Joined(later, unserved=UnservedRequests(100_000))
        other = Joined(context=one.context)
        one.deliver(frame(1, body=b"x" * 60_000)[:55_000])
        other.deliver(frame(1) + frame(2))
        assert len(later.waiting) == 1
        assert not other.transport.is_reading()
        later.answer()
        await turns()
        assert [request.opaque for request, _ in later.waiting] == [2]


class TestTurns:
    async def test_a_long_read_is_served_in_turns_and_reading_stops_meanwhile(self):
        joined = Joined()
        joined.deliver(b"".join(frame(n) for n in range(1_000)))
        assert len(joined.answers) == module.REQUESTS_PER_TURN
        assert not joined.transport.is_reading()
        await turns(10)
        assert joined.answered == list(range(1_000))
        assert joined.transport.is_reading()

    async def test_what_a_turn_does_not_serve_stays_bytes(self):
        """Requests take several times the memory of their bytes, and thousands of connections may hold a read."""
        joined = Joined(Later())
        joined.deliver(b"".join(frame(n, code=103) for n in range(2_000)))
        assert 0 < len(joined.connection._queue) < 2 * module.REQUESTS_PER_TURN

    async def test_large_answers_make_short_turns(self):
        joined = Joined(lambda *_: Response(body=b"x" * module.ANSWER_BYTES_PER_TURN))
        joined.deliver(frame(1) + frame(2) + frame(3))
        assert joined.answered == [1]
        await turns()
        assert joined.answered == [1, 2, 3]


class TestSlowReaders:
    @pytest.mark.parametrize(("is_full", "requests"), [(True, 1), (False, 20)])
    async def test_while_answers_that_nobody_reads_take_too_much_reads_wait(
        self, is_full: bool, requests: int
    ):
        joined = Joined()
        unread = joined.context.unread
        unread.is_full, unread.grows_fast = is_full, True
        joined.deliver(b"".join(map(frame, range(requests))))
        assert joined.answers == []
        assert not joined.transport.is_reading()
        unread.is_full = unread.grows_fast = False
        await eventually(lambda: joined.answered == list(range(requests)))
        await eventually(joined.transport.is_reading)

    async def test_a_single_request_does_not_wait_for_others_that_read_nothing(self):
        joined = Joined()
        joined.context.unread.grows_fast = True
        joined.deliver(frame(1))
        assert joined.answered == [1]

    async def test_a_peer_that_does_not_read_is_not_read_from(self):
        joined = Joined(lambda *_: Response(body=b"x" * 100_000))
        joined.transport.peer_reads = False
        for n in range(1_000):
            if joined.transport.is_reading():
                joined.deliver(frame(n))
                await turns(1)
        assert joined.transport.get_write_buffer_size() < 2 * WRITE_BUFFER_BYTES[1]
        assert joined.channel.is_paused
        assert not joined.connection.is_held_up  # its own fault: it may be closed as idle
        joined.transport.read_everything()
        await turns()
        assert joined.transport.is_reading()
        assert joined.context.counters.reading_pauses == 1

    async def test_what_was_decoded_already_waits_too(self):
        handled = []
        joined = Joined(lambda request, _: handled.append(request.opaque) or Response(body=b"x" * 100_000))
        joined.transport.peer_reads = False
        joined.deliver(b"".join(frame(n) for n in range(100)))
        await turns(20)
        assert len(handled) < 10
        joined.transport.read_everything()
        await eventually(lambda: len(joined.answers) == 100)
        assert handled == list(range(100))

    async def test_answers_given_later_go_out_and_let_nothing_else_pass(self):
        owed: list[RemotingCommand] = []

        def handler(request: RemotingCommand, connection: ServerConnection) -> Response | None:
            if request.opaque == 1:
                owed.append(request)
                return None
            return Response(body=b"x" * 600_000)

        joined = Joined(handler)
        joined.transport.peer_reads = False
        joined.deliver(frame(1) + frame(2) + frame(3))
        joined.connection.respond(owed[0], Response())
        await turns()
        assert len(joined.transport.buffer) == 2
        joined.transport.read_everything()
        await eventually(lambda: joined.answered == [2, 1, 3])

    async def test_a_broken_frame_behind_the_queue_closes_when_the_queue_is_served(self):
        joined = Joined(lambda *_: Response(body=b"x" * 600_000))
        joined.transport.peer_reads = False
        joined.deliver(frame(1) + frame(2) + b"\xff\xff\xff\xff")
        await turns()
        assert joined.channel.is_open
        joined.transport.read_everything()
        await eventually(lambda: joined.transport.is_closed)
        assert joined.answered == [1, 2]

    async def test_a_closed_connection_is_ended_even_if_its_peer_never_reads(self, monkeypatch):
        monkeypatch.setattr(module, "FLUSH_SECONDS", 0.01)
        joined = Joined()
        joined.transport.peer_reads = False
        joined.deliver(frame(1))
        joined.connection.close()
        assert not joined.transport.is_aborted
        await eventually(lambda: joined.transport.is_aborted)
        await turns()
        assert not joined.context.connections


class TestEndings:
    @pytest.mark.parametrize("end", ["close", "abort", "eof", "lost"])
    async def test_the_channel_is_closed_at_once_and_announced_once(self, end: str):
        joined = Joined(Later())
        joined.deliver(frame(1))
        {
            "close": joined.connection.close,
            "abort": joined.connection.abort,
            "eof": joined.transport.end_of_stream,
            "lost": lambda: joined.connection.connection_lost(ConnectionResetError()),
        }[end]()
        assert not joined.channel.is_open
        joined.connection.close()
        await turns()
        assert joined.closed == [joined.channel]
        assert not joined.context.connections
        assert joined.context.counters.bytes_in == len(frame(1))

    @pytest.mark.parametrize("count", [1, 2, 1_000])
    async def test_nothing_is_answered_after_a_handler_closed_the_connection(self, count: int):
        def handler(request: RemotingCommand, connection: ServerConnection) -> Response:
            connection.close()
            return Response()

        joined = Joined(handler)
        joined.deliver(frame(1) * count)
        await turns()
        assert joined.transport.written == b""
        assert joined.closed == [joined.channel]

    async def test_what_is_queued_is_not_handled_after_a_close(self):
        handled = []
        joined = Joined(lambda request, _: handled.append(request.opaque) or Response())
        joined.deliver(frame(1) * 1_000)
        joined.connection.close()
        await turns(20)
        assert len(handled) == module.REQUESTS_PER_TURN
        assert "192.0.2.1:5" in repr(joined.connection)


class TestSerializeType:
    @both_paths
    async def test_answers_have_the_servers_own_form(self, at_once: bool):
        joined = Joined(serialize_type=SerializeType.ROCKETMQ)
        joined.deliver_frames([frame(1), frame(2)], at_once=at_once)
        assert joined.transport.written[4] == SerializeType.ROCKETMQ
        assert joined.answered == [1, 2]

    async def test_binary_requests_are_answered_in_json_by_default(self):
        joined = Joined()
        joined.deliver(encode_command(request(105, opaque=3), SerializeType.ROCKETMQ))
        assert joined.transport.written[4] == SerializeType.JSON
        assert joined.answered == [3]

    async def test_cpp_clients_never_get_a_binary_header(self):
        joined = Joined(serialize_type=SerializeType.ROCKETMQ)
        command = request(105, opaque=1)
        command.language = "CPP"
        joined.deliver(encode_command(command))
        assert joined.transport.written[4] == SerializeType.JSON


class TestLargeFrames:
    async def test_a_frame_has_its_place_in_the_budget_from_its_announcement_to_its_answer(self):
        budget, later = BodyBudget(1 << 20), Later()
        joined = Joined(later, budget=budget)
        data = frame(1, body=LARGE)
        joined.deliver(data[:100])
        assert budget.in_flight == len(data)
        joined.deliver(data[100:])
        assert budget.in_flight == len(data)
        later.answer()
        assert budget.in_flight == 0
        assert joined.answered == [1]

    @pytest.mark.parametrize("cut", [0, 3, 100])
    async def test_a_frame_answered_at_once_gives_its_place_back(self, cut: int):
        joined = Joined()
        data = frame(1, body=LARGE)
        joined.deliver(data[:cut])
        joined.deliver(data[cut:] + frame(2))
        assert joined.answered == [1, 2]
        assert joined.context.budget.in_flight == 0

    @pytest.mark.parametrize("end", ["close", "eof"])
    @pytest.mark.parametrize("is_whole", [True, False])
    async def test_a_close_gives_the_place_back(self, end: str, is_whole: bool):
        joined = Joined(Later())
        data = frame(1, body=LARGE)
        joined.deliver(data if is_whole else data[:100])
        assert joined.context.budget.in_flight > 0
        (joined.connection.close if end == "close" else joined.transport.end_of_stream)()
        assert joined.context.budget.in_flight == 0

    @pytest.mark.parametrize("is_whole", [True, False])
    async def test_reading_stops_while_there_is_no_room(self, is_whole: bool):
        budget = BodyBudget(len(frame(1, body=LARGE)))
        first, second = Joined(Later(), budget=budget), Joined(budget=budget)
        first.deliver(frame(1, body=LARGE))
        data = frame(2, body=LARGE)
        second.deliver(data if is_whole else data[:100])
        assert second.channel.is_paused
        assert second.connection.is_held_up
        assert not second.transport.is_reading()
        assert budget.waiting == 1
        assert second.transport.written == b""
        first.connection.close()
        await turns()
        if not is_whole:
            assert second.transport.is_reading()
            second.deliver(data[100:])
        assert second.answered == [2]
        assert not second.channel.is_paused
        assert budget.in_flight == 0

    async def test_small_frames_never_wait_for_large_ones_of_others(self):
        budget = BodyBudget(1)
        first, second = Joined(Later(), budget=budget), Joined(budget=budget)
        first.deliver(frame(1, body=LARGE))
        assert budget.in_flight == 1
        second.deliver(frame(2))
        assert second.answered == [2]

    async def test_a_waiter_that_leaves_loses_its_place(self):
        budget = BodyBudget(len(frame(1, body=LARGE)))
        first, second, third = (Joined(Later(), budget=budget) for _ in range(3))
        for joined in (first, second, third):
            joined.deliver(frame(1, body=LARGE))
        second.connection.close()
        first.connection.close()
        await turns()
        assert len(third.context.handler.waiting) == 1  # type: ignore[attr-defined]
        assert budget.waiting == 0

    async def test_several_large_frames_of_one_read_are_admitted_in_order(self):
        later = Later()
        joined = Joined(later, budget=BodyBudget(len(LARGE)))
        joined.deliver(frame(1, body=LARGE) + frame(2, body=LARGE) + frame(3, body=LARGE)[:100])
        for opaque in (1, 2):
            assert [request.opaque for request, _ in later.waiting] == [opaque]
            later.answer()
            await turns()
        joined.deliver(frame(3, body=LARGE)[100:])
        later.answer()
        assert joined.answered == [1, 2, 3]
        assert joined.context.budget.in_flight == 0

    async def test_an_admitted_frame_that_does_not_arrive_ends_the_connection(self, caplog):
        joined = Joined(large_frame_seconds=0.02)
        joined.deliver(frame(1, body=LARGE)[:100])
        await eventually(lambda: joined.closed)
        assert joined.context.budget.in_flight == 0
        assert joined.context.counters.overdue_closes == 1
        assert "did not arrive" in caplog.text

    async def test_the_deadline_counts_from_admission_and_ends_with_the_frame(self):
        budget = BodyBudget(len(LARGE))
        first = Joined(Later(), budget=budget)
        first.deliver(frame(1, body=LARGE))
        second = Joined(budget=budget, large_frame_seconds=1.0)
        data = frame(2, body=LARGE)
        second.deliver(data[:100])
        third = Joined(large_frame_seconds=1.0)
        third.deliver(data[:100])
        await eventually(lambda: third.closed)  # as long as this took, the second waited for admission
        assert second.channel.is_open
        first.connection.close()
        await turns()
        second.deliver(data[100:])
        third = Joined(large_frame_seconds=1.0)
        third.deliver(data[:100])
        await eventually(lambda: third.closed)
        assert second.channel.is_open

    async def test_a_large_frame_must_keep_coming_while_others_wait(self, monkeypatch):
        monkeypatch.setattr(account, "ARRIVAL_LOOK_SECONDS", 0.001)
        data = frame(1, body=LARGE)
        budget = BodyBudget(len(data))
        first = Joined(budget=budget)
        first.deliver(data[:100])
        looks = 0
        look = Account._look

        def counting(*arguments: object) -> None:
            nonlocal looks
            looks += 1
            look(*arguments)  # type: ignore[arg-type]

        monkeypatch.setattr(Account, "_look", counting)
        await eventually(lambda: looks > 3 * account.MAX_STALLS)
        assert first.channel.is_open  # nobody waits for its room
        second = Joined(budget=budget)
        second.deliver(data[:100])
        await eventually(lambda: not first.channel.is_open)
        await eventually(lambda: second.transport.is_reading_now)
        second.deliver(data[100:])
        assert second.answered == [1]

    async def test_known_brokers_pass_strangers(self):
        data = frame(1, body=LARGE)
        budget = BodyBudget(len(data))
        first, stranger = Joined(Later(), budget=budget), Joined(budget=budget)
        known = Joined(budget=budget, has_broker=lambda channel: True)
        for joined in (first, stranger, known):
            joined.deliver(data)
        first.connection.close()
        await turns(1)
        assert (known.answered, stranger.answered) == ([1], [])

    async def test_many_small_pieces_of_a_large_frame_ask_once(self):
        joined = Joined()
        data = frame(1, body=LARGE)
        for start in range(0, len(data), 1_000):
            joined.deliver(data[start : start + 1_000])
            assert joined.context.budget.in_flight in (0, len(data))
        assert joined.answered == [1]


async def test_large_answers_wait_while_others_read_nothing(monkeypatch):
    monkeypatch.setattr(module, "ROOM_LOOK_SECONDS", 0)
    joined = Joined(lambda request, _: Response(body=b"x" * 20_000_000))
    joined.transport.peer_reads = False
    others = [Joined(context=joined.context) for _ in range(5)]
    for other in others:
        other.transport.peer_reads = False
        other.deliver(frame(1, code=219))
        await turns(3)
    held = [other for other in others if other.transport.get_write_buffer_size()]
    assert len(held) == 4  # three are not enough to fill the room
    joined.deliver(frame(2, code=103))
    assert joined.transport.get_write_buffer_size() > 0  # nobody else waits
    held[0].transport.read_everything()
    held[1].transport.read_everything()
    await eventually(others[4].transport.get_write_buffer_size)


async def test_a_connection_has_one_list_at_a_time():
    """A connection that asked for ten lists of 3 MB was given all of them, whether it read or not."""
    later = Later()
    joined = Joined(later)
    joined.deliver(frame(1, code=206))
    joined.deliver(frame(2, code=206))
    assert not joined.transport.is_reading()
    later.answer()
    await eventually(lambda: [waiting.opaque for waiting, _ in later.waiting] == [2])
    later.answer()
    await eventually(joined.transport.is_reading)
    assert joined.answered == [1, 2]


async def test_lists_of_one_read_are_served_one_at_a_time():
    later = Later()
    joined = Joined(later)
    joined.deliver(b"".join(frame(opaque, code=206) for opaque in (1, 2, 3)))
    for opaque in (1, 2, 3):
        await eventually(lambda: later.waiting)
        await turns(3)
        assert [waiting.opaque for waiting, _ in later.waiting] == [opaque]
        later.answer()
    await eventually(lambda: joined.answered == [1, 2, 3])
    assert joined.transport.is_reading()


def test_what_is_made_in_slices_is_a_list():
    assert LISTERS.keys() == LISTS


async def test_a_list_waits_for_no_other_answer_and_what_is_behind_it_waits_with_it():
    later = Later()
    joined = Joined(later)
    joined.deliver(
        b"".join(frame(opaque, code=code) for opaque, code in enumerate((103, 206, 103, 206, 103)))
    )
    await turns(3)
    assert [waiting.opaque for waiting, _ in later.waiting] == [0, 1, 2]
    later.answer()
    await eventually(lambda: [waiting.opaque for waiting, _ in later.waiting] == [3, 4])


async def test_an_answer_costs_the_same_however_many_requests_wait_behind_it(monkeypatch):
    """All that waited was counted again for each answer: 18,000 registrations took a third longer."""
    counted = []
    later = Later()
    joined = Joined(later)
    joined.deliver(b"".join(frame(opaque, code=103, body=b"x" * 100) for opaque in range(2 * MAX_PENDING)))
    await turns(3)
    assert len(later.waiting) == MAX_PENDING
    before = joined.context.unserved.bytes
    monkeypatch.setattr(Account, "bytes_of", lambda _, items: counted.append(len(items)) or 0)
    later.answer(1)
    assert not counted
    assert PENDING_BYTES < before - joined.context.unserved.bytes < PENDING_BYTES + 1_000


async def test_each_answer_to_a_slow_reader_counts():
    later = Later()
    joined = Joined(later)
    joined.transport.peer_reads = False
    joined.deliver(b"".join(frame(opaque, code=103) for opaque in range(10)))
    for waiting, connection in later.waiting:
        connection.respond(waiting, Response(body=b"x" * 3_000_000))
    assert joined.context.unread.bytes > 30_000_000
    joined.transport.read_everything()
    assert joined.context.unread.bytes == 0


class Slow:
    """A clock and a handler: everything but a look-up takes a whole turn, and so does one with a zone."""

    def __init__(self) -> None:
        self.time = 1.0
        self.scheduler = Scheduler(clock=lambda: self.time)

    def __call__(self, request: RemotingCommand, connection: ServerConnection) -> Response:
        if request.code != 105 or "__ZONE_MODE" in request.ext_fields:
            self.time += ITERATION_SECONDS
        return Response()


class TestTimeOfMisses:
    """Lookups that the cache does not answer share a time of each iteration."""

    MISS = MISS_SECONDS * 0.4

    def slow(self) -> tuple[Scheduler, Callable[..., Response]]:
        time = 1.0
        scheduler = Scheduler(clock=lambda: time)

        def handler(*_: object) -> Response:
            nonlocal time
            time += self.MISS
            return Response()

        return scheduler, handler

    @both_paths
    async def test_many_connections_with_misses_hold_nobody_up(self, at_once: bool):
        """150 connections that asked for topics of 990 broker names made a lookup wait 357 ms."""
        scheduler, handler = self.slow()
        one = Joined(handler, scheduler=scheduler)
        crowd = [one, *(Joined(context=one.context) for _ in range(20))]
        for joined in crowd:
            joined.deliver_frames([frame(1), frame(2)] if at_once else [frame(1)], at_once=True)
        assert sum(len(joined.answers) for joined in crowd) == 3
        await turns(1)
        assert sum(len(joined.answers) for joined in crowd) == 6
        await eventually(lambda: all(joined.answers and joined.transport.is_reading_now for joined in crowd))
        assert all(joined.answered == [1, 2][: 1 + at_once] for joined in crowd)

    @both_paths
    async def test_cached_answers_wait_for_no_misses(self, at_once: bool):
        scheduler, handler = self.slow()
        cache = LookupCache(1 << 20)
        known = request(105, {"topic": "Known"}, opaque=1)
        header = encode_command(known)[8:]
        cache.learn(header, 1, topic="Known", body=b"route", revision=cache.revision)
        one = Joined(handler, scheduler=scheduler, lookup_cache=cache)
        for _ in range(20):
            Joined(context=one.context).deliver(frame(1))
        assert scheduler.is_late
        one.deliver_frames([encode_command(known)] * 2, at_once=at_once)
        assert [answer.body for answer in one.answers] == [b"route"] * 2

    async def test_long_cached_answers_are_made_when_they_are_written(self):
        """In the order of their requests, however many there are."""
        cache = LookupCache(1 << 20)
        known = encode_command(request(105, {"topic": "Known"}, opaque=7))
        route = b"x" * (module.ANSWER_BYTES_PER_TURN // 4)
        cache.learn(known[8:], 7, topic="Known", body=route, revision=cache.revision)
        joined = Joined(lookup_cache=cache)
        joined.transport.peer_reads = False
        joined.deliver(known * 60 + frame(8))
        queue = joined.connection._queue
        assert not any(isinstance(item, bytes) for item in queue)
        joined.transport.read_everything()
        joined.transport.peer_reads = True
        await eventually(lambda: joined.answered[-1:] == [8])
        assert joined.answered == [7] * 60 + [8]
        assert {len(answer.body) for answer in joined.answers[:-1]} == {len(route)}

    async def test_what_an_iteration_has_no_time_for_is_not_even_decoded(self):
        """Of 1,000 connections with 70 lookups each, the decoding alone took half a second."""
        scheduler, handler = self.slow()
        one = Joined(handler, scheduler=scheduler)
        for _ in range(20):
            Joined(context=one.context).deliver(frame(1))
        one.deliver(frame(1) * 20)
        other = Joined(context=one.context)
        other.deliver(frame(1) * 20)
        assert (other.answers, other.connection._queue) == ([], [])
        assert not other.transport.is_reading_now
        await eventually(lambda: len(one.answers) == len(other.answers) == 20)

    async def test_a_short_lookup_waits_for_no_crowd_of_long_ones_behind_its_address(self):
        """One lookup that had left the cache waited for 149 others of a topic of 990 broker names."""
        scheduler, handler = self.slow()
        one = Joined(handler, scheduler=scheduler, takes_long=lambda lookup: lookup.opaque == 1)
        crowd = [one, *(Joined(context=one.context) for _ in range(50))]
        short = Joined(context=one.context)
        for joined in crowd:
            joined.deliver(frame(1))
        short.deliver(frame(2))
        await turns(1)
        assert short.answered == [2]
        assert sum(len(joined.answers) for joined in crowd) < 10
        await eventually(lambda: all(joined.answered == [1] for joined in crowd))

    async def test_a_broker_waits_for_no_strangers_behind_its_address(self):
        scheduler, handler = self.slow()
        one = Joined(handler, scheduler=scheduler, has_broker=lambda channel: channel is known.channel)
        strangers = [Joined(context=one.context) for _ in range(50)]
        known = Joined(context=one.context)
        for joined in (one, *strangers, known):
            joined.deliver(frame(1))
        await turns(1)
        assert known.answered == [1]


class TestTimeOfATurn:
    """Look-ups pass; everything else shares the time of a turn."""

    @pytest.mark.parametrize("form", SerializeType)
    @pytest.mark.parametrize("more", [b"", b"\0"], ids=["alone", "and_a_part_of_the_next_frame"])
    async def test_a_long_header_is_not_even_read_without_time(self, form, more):
        slow = Slow()
        one = Joined(slow, scheduler=slow.scheduler)
        other = Joined(context=one.context)
        one.deliver(frame(1, code=206))
        filler = {"topic": "T", "filler": "x" * 3_000}
        other.deliver(encode_command(request(105, filler, opaque=2), form) + more)
        assert (one.answered, other.answered, other.transport.is_reading_now) == ([1], [], False)
        await eventually(lambda: other.answered == [2])
        assert other.transport.is_reading_now

    async def test_what_has_no_time_waits_for_its_turn_and_look_ups_do_not(self):
        slow = Slow()
        one = Joined(slow, scheduler=slow.scheduler)
        others = [Joined(context=one.context) for _ in range(3)]
        for joined in (one, *others):
            joined.deliver(frame(1, code=206))
        assert [len(joined.answers) for joined in (one, *others)] == [1, 0, 0, 0]
        one.deliver(frame(2))
        one.deliver(frame(3) + frame(4))
        assert one.answered == [1, 2, 3, 4]
        for number in range(1, 4):
            await turns(1)
            assert [len(joined.answers) for joined in others].count(1) == number
        assert all(joined.transport.is_reading_now for joined in others)

    @pytest.mark.parametrize("count", [1, 2])
    async def test_a_look_up_with_a_zone_waits_for_its_turn_too(self, count: int):
        """A hundred connections with 256 of them each held everybody up for as many milliseconds."""
        slow = Slow()
        one = Joined(slow, scheduler=slow.scheduler)
        others = [Joined(context=one.context) for _ in range(3)]
        for joined in (one, *others):
            joined.deliver(b"".join(frame(number, __ZONE_MODE="true") for number in range(count)))
        for served in range(1, 4 * count + 1):
            assert sum(len(joined.answers) for joined in (one, *others)) == served
            await turns(1)

    async def test_a_broker_does_not_wait_for_all_the_strangers_behind_its_address(self):
        slow = Slow()
        one = Joined(slow, scheduler=slow.scheduler, has_broker=lambda channel: channel is known.channel)
        strangers = [Joined(context=one.context) for _ in range(50)]
        known = Joined(context=one.context)
        for joined in (one, *strangers, known):
            joined.deliver(frame(1, code=103))
        await turns(2)
        assert known.answered == [1]

    async def test_large_answers_that_wait_hold_nobody_else_up(self):
        slow = Slow()
        one = Joined(slow, scheduler=slow.scheduler)
        large = [Joined(context=one.context) for _ in range(3)]
        late = Joined(context=one.context)
        one.deliver(frame(1, code=206))
        for joined in large:
            joined.deliver(frame(1, code=219))
        late.deliver(frame(1, code=206))
        await turns(1)
        assert (late.answered, [len(joined.answers) for joined in large]) == ([1], [1, 0, 0])
        await eventually(lambda: all(joined.answered == [1] for joined in large))

    async def test_requests_in_a_row_are_served_as_far_as_there_is_time_and_in_order(self):
        slow = Slow()
        joined = Joined(slow, scheduler=slow.scheduler)
        joined.deliver(b"".join([frame(1), frame(2, code=206), frame(3, code=206), frame(4)]))
        assert joined.answered == [1, 2]
        await eventually(lambda: len(joined.answers) == 4)
        assert joined.answered == [1, 2, 3, 4]

    async def test_a_large_read_waits_for_time_before_it_is_decoded(self):
        slow = Slow()
        one = Joined(slow, scheduler=slow.scheduler)
        other = Joined(context=one.context)
        one.deliver(frame(1, code=206))
        other.deliver(frame(2) * 1_000)
        assert other.answers == []
        assert not other.transport.is_reading_now
        await eventually(lambda: len(other.answers) == 1_000)

    async def test_a_header_for_the_slow_reader_waits_its_turn_and_keeps_the_order(self):
        joined = Joined()
        lenient = b"{'code':105,'opaque':2,'extFields':{'topic':'T'}}"
        size = len(lenient)
        odd = (4 + size).to_bytes(4, "big") + size.to_bytes(4, "big") + lenient
        joined.deliver(frame(1) + odd + frame(3))
        assert joined.answered == [1]
        await eventually(lambda: len(joined.answers) == 3)
        assert joined.answered == [1, 2, 3]

    async def test_a_broken_header_ends_the_connection_after_what_came_before_it(self):
        joined = Joined()
        joined.deliver(frame(1) + b"\0\0\0\x06\0\0\0\x02{," + frame(3))
        await eventually(lambda: joined.closed)
        assert joined.answered == [1]
        assert joined.context.counters.protocol_errors == 1

    @pytest.mark.parametrize(
        "broken",
        [b"\0\0\0\x06\0\0\0\x02{,", b"\0\0\0\1", b"\0\0\0\x06\x07\0\0\x02{}"],
        ids=["header", "length", "type of the header"],
    )
    async def test_a_connection_with_a_broken_frame_leaves_nothing_for_the_collector(self, broken):
        joined = Joined()
        read, closed = weakref.ref(joined.connection._frames), joined.closed
        gc.disable()
        try:
            joined.deliver(broken)
            await eventually(lambda: closed)
            await turns()
            joined.transport.protocol = asyncio.Protocol()  # as a transport does that lost its socket
            del joined
            assert read() is None
        finally:
            gc.enable()


async def test_logging_needs_no_configuration():
    assert logging.getLogger("namekeeper.remoting").level == logging.NOTSET
    assert echo(request(105, body=b"b"), None).body == b"b"  # type: ignore[arg-type]


def _raise(error: Exception):
    def handler(_request: RemotingCommand, _connection: ServerConnection) -> Response:
        raise error

    return handler
