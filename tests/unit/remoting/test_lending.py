"""When a connection lends its socket, and how it goes on."""

import gc

import pytest

from namekeeper.lookup_cache.cache import LookupCache
from namekeeper.remoting.connection import SIMPLE_READ_BYTES
from namekeeper.remoting.connection_context import ConnectionContext
from namekeeper.remoting.front import Front
from namekeeper.remoting.lending import (
    MAX_READS_BETWEEN,
    MIN_LOOKUP_READS,
    WORTHWHILE_BYTES,
    LendingConnection,
)
from namekeeper.wire.codec import encode_command
from namekeeper.wire.codes import SerializeType
from namekeeper.wire.command import RemotingCommand, Response, request
from tests.support.system.waiting import eventually, turns
from tests.support.wire.transport import DESCRIPTOR
from tests.unit.remoting.fake_front import FakeNative
from tests.unit.remoting.joined import Joined, frame

KNOWN = frame(7)
OTHER = frame(8, code=106)


class Lending(Joined):
    """A joined connection of a server that has a front."""

    def __init__(self) -> None:
        self.native = FakeNative()
        self.front = Front(self.native)
        self.descriptors = 1
        self.front.start(lambda: self.descriptors)
        self.cache = LookupCache(100_000)
        super().__init__(self.answer, lookup_cache=self.cache)

    def answer(self, request: RemotingCommand, _connection: object) -> Response | None:
        """Answer, and let the cache learn it; 322 is answered later."""
        if request.code == 322:
            return None
        if request.header and request.code == 105:
            self.cache.learn(
                request.header, request.opaque, topic="T", body=b"", revision=self.cache.revision
            )
        return Response()

    def make(self, context: ConnectionContext) -> LendingConnection:
        return LendingConnection(self.channel, context, self.front)

    def lend(self, reads: int = MIN_LOOKUP_READS) -> int:
        """Have as many reads of look-ups; return the loan, 0 if there is none."""
        for _ in range(reads):
            self.deliver(KNOWN)
        return next(iter(self.native.lent), 0)


@pytest.fixture
async def joined():
    lent = Lending()
    yield lent
    lent.front.close()


async def test_a_socket_is_lent_after_some_look_ups_in_a_row(joined):
    assert not joined.lend(MIN_LOOKUP_READS - 1)
    joined.deliver(KNOWN + KNOWN)
    assert joined.connection.is_lent
    assert list(joined.native.lent.values()) == [DESCRIPTOR]
    assert not joined.transport.is_reading_now
    assert joined.answered == [7] * (MIN_LOOKUP_READS + 1)


async def test_look_ups_that_nobody_sent_before_are_lent_as_well(joined):
    for number in range(MIN_LOOKUP_READS):
        joined.deliver(frame(7, client=str(number)))
    assert joined.connection.is_lent


async def test_look_ups_with_binary_headers_are_lent_as_well(joined):
    for number in range(MIN_LOOKUP_READS):
        joined.deliver(
            encode_command(request(105, {"topic": "T"}, opaque=7 + number), SerializeType.ROCKETMQ)
        )
    assert joined.connection.is_lent


@pytest.mark.parametrize(
    "other", [OTHER, frame(9, flag=2), frame(1, body=b"x")], ids=["code", "flag", "body"]
)
async def test_anything_else_begins_the_row_anew(joined, other):
    joined.lend(MIN_LOOKUP_READS - 1)
    joined.deliver(KNOWN + other)
    assert not joined.lend(MIN_LOOKUP_READS - 1)
    assert joined.lend(1)


async def test_a_large_read_begins_the_row_anew_too(joined):
    joined.lend(MIN_LOOKUP_READS - 1)
    joined.deliver(frame(8, code=106, body=bytes(SIMPLE_READ_BYTES)))
    assert joined.answered[-1] == 8
    assert not joined.lend(MIN_LOOKUP_READS - 1)
    assert joined.lend(1)


async def test_a_connection_that_is_lost_is_free_at_once_with_what_was_arriving(joined):
    """The collector comes late to old objects: 10,000 half frames would stay for hours."""
    joined.deliver(frame(1, body=bytes(1_000))[:-1])
    gc.collect()
    gc.disable()
    try:
        ours = joined.connection.channel
        joined.transport.protocol = None
        joined.connection.connection_lost(None)
        joined.connection = None
        await turns(5)
        alive = [each for each in gc.get_objects() if type(each) is LendingConnection]
        assert not [each for each in alive if each.channel is ours]
    finally:
        gc.enable()


async def test_what_comes_back_is_served_here(joined):
    loan = joined.lend()
    joined.native.give_back(loan, OTHER + KNOWN[:5])
    await eventually(lambda: joined.answered[-1] == 8)
    assert joined.transport.is_reading_now
    joined.deliver(KNOWN[5:])
    assert joined.answered[-1] == 7


async def test_answers_that_the_front_could_not_write_go_out_first(joined):
    loan = joined.lend()
    before = joined.transport.written
    unsent = b"\0" * 10
    joined.native.give_back(loan, OTHER, unsent)
    await eventually(lambda: joined.transport.written != before)
    assert joined.transport.written.startswith(before + unsent)


async def test_a_peer_that_does_not_read_is_not_read_from(joined):
    loan = joined.lend()
    joined.transport.peer_reads = False
    joined.native.give_back(loan, OTHER, bytes(1_000_000))
    await eventually(lambda: joined.channel.is_paused)
    assert not joined.transport.is_reading_now
    joined.transport.read_everything()
    await eventually(lambda: joined.transport.is_reading_now)
    assert len(joined.transport.writes) == MIN_LOOKUP_READS + 2


@pytest.mark.parametrize("why", ["later", "unread", "tls"])
async def test_nothing_is_lent_while_something_is_owed(joined, why, monkeypatch):
    if why == "later":
        joined.deliver(frame(3, code=322))
    if why == "unread":
        joined.transport.peer_reads = False
    if why == "tls":
        monkeypatch.setattr(joined.transport, "get_extra_info", lambda name: object())
    assert not joined.lend(3 * MIN_LOOKUP_READS)


async def test_nothing_is_lent_in_the_middle_of_a_frame(joined):
    joined.lend(MIN_LOOKUP_READS - 1)
    joined.deliver(KNOWN + KNOWN[:9])
    assert not joined.connection.is_lent
    joined.deliver(KNOWN[9:])
    assert joined.connection.is_lent


async def test_bytes_are_counted_once(joined):
    loan = joined.lend()
    before_in, before_out = joined.connection.bytes_in, joined.connection.bytes_out
    joined.native.moved = [(loan, 500, 900)]
    joined.front.note_moved()
    assert (joined.connection.bytes_in - before_in, joined.connection.bytes_out - before_out) == (500, 900)
    joined.native.give_back(loan, OTHER, b"unsent", bytes_in=1_000, bytes_out=1_900)
    await eventually(lambda: not joined.connection.is_lent)
    answer = len(joined.transport.writes[-1])
    assert joined.connection.bytes_in - before_in == 1_000
    assert joined.connection.bytes_out - before_out == 1_900 + len(b"unsent") + answer


async def test_loans_that_served_little_are_made_less_often(joined):
    joined.native.give_back(joined.lend(), bytes_in=WORTHWHILE_BYTES - 1)
    await eventually(lambda: not joined.connection.is_lent)
    assert not joined.lend(2 * MIN_LOOKUP_READS - 1)
    joined.native.give_back(joined.lend(1), bytes_in=WORTHWHILE_BYTES)
    await eventually(lambda: not joined.connection.is_lent)
    assert joined.lend(MIN_LOOKUP_READS)


async def test_a_connection_without_loan_goes_on_here(joined):
    joined.native.is_full = True
    assert not joined.lend()
    assert joined.transport.is_reading_now
    joined.native.is_full = False
    assert not joined.lend(MAX_READS_BETWEEN - 1)
    assert joined.lend(1)


async def test_a_connection_whose_descriptor_is_needed_goes_on_here(joined):
    joined.lend()
    joined.descriptors = 0
    assert not joined.front.keep_descriptors_free()
    await eventually(lambda: not joined.connection.is_lent)
    assert (joined.native.lent, joined.transport.is_reading_now) == ({}, True)
    assert not joined.lend(2 * MIN_LOOKUP_READS)
    assert joined.answered == [7] * (3 * MIN_LOOKUP_READS)


async def test_a_connection_is_closed_with_what_the_front_could_not_write(joined):
    loan = joined.lend()
    joined.native.give_back(loan, OTHER, b"unsent")
    joined.connection.close()
    await turns(3)
    assert joined.transport.is_closed
    assert joined.transport.writes[-1] == b"unsent"
    assert joined.closed == [joined.channel]
    assert len(joined.front) == 0


async def test_what_the_front_could_not_write_goes_out_if_a_close_follows_other_rules(joined):
    joined.native.give_back(joined.lend(), OTHER, b"unsent", bytes_out=100)
    before = joined.connection.bytes_out
    joined.connection.reset_access()
    joined.connection.close()
    await turns(3)
    assert joined.transport.is_closed
    assert joined.transport.writes[-1] == b"unsent"
    assert joined.connection.bytes_out == before + 100 + len(b"unsent")
    assert joined.closed == [joined.channel]


async def test_a_connection_that_was_lost_is_not_lent_any_more(joined):
    joined.lend()
    joined.connection.connection_lost(None)
    assert (joined.native.lent, len(joined.front), joined.connection.is_lent) == ({}, 0, False)


async def test_what_the_front_broke_is_closed_and_told(joined, caplog):
    joined.native.give_back(joined.lend(), is_broken=True)
    await eventually(lambda: joined.transport.is_aborted)
    assert joined.closed == [joined.channel]
    assert "the native front failed with it" in caplog.text


async def test_a_turn_that_comes_late_leaves_the_socket_with_the_front(joined):
    joined.connection._account.has_turn = True
    assert joined.lend()
    joined.connection._take_turn()
    assert joined.connection.is_lent
    assert not joined.transport.is_reading_now
