import asyncio
from collections.abc import Callable

import pytest

from namekeeper.errors import RemotingClosedError
from namekeeper.remoting import client_connection as module
from namekeeper.remoting.client_connection import ClientConnection, RequestCallback
from namekeeper.wire.codec import encode_command, encode_response
from namekeeper.wire.command import RemotingCommand, Response, request
from tests.support.system.waiting import turns
from tests.support.wire.transport import MemoryTransport
from tests.unit.remoting.joined import decoded


class Joined:
    """A client's connection and its transport."""

    def __init__(self, on_request: RequestCallback | Callable[..., object] | None = None) -> None:
        self.lost: list[ClientConnection] = []
        self.connection = ClientConnection(
            "10.0.0.1:9876", max_frame_bytes=1 << 24, on_request=on_request, on_lost=self.lost.append  # type: ignore[arg-type]
        )  # fmt: skip
        self.transport = MemoryTransport(self.connection)

    def ask(self, opaque: int) -> asyncio.Task[RemotingCommand]:
        return asyncio.create_task(self.connection.exchange(opaque, b"request"))

    def answer(self, *opaques: int) -> None:
        self.transport.deliver(b"".join(encode_response(Response(remark=str(n)), opaque=n) for n in opaques))


async def test_answers_find_who_waits_in_any_order():
    joined = Joined()
    tasks = [joined.ask(n) for n in range(3)]
    await turns()
    assert joined.connection.pending == 3
    joined.answer(2, 0, 1)
    assert [(await task).remark for task in tasks] == ["0", "1", "2"]
    assert joined.connection.pending == 0


async def test_answers_that_nobody_waits_for_are_ignored():
    joined = Joined()
    task = joined.ask(1)
    await turns()
    joined.answer(7)
    joined.answer(1)
    joined.answer(1)
    assert (await task).remark == "1"
    assert joined.connection.is_open


async def test_frames_that_nobody_asked_for_end_it_soon():
    joined = Joined()
    task = joined.ask(1)
    await turns()
    joined.answer(*[7] * (module.UNASKED_LIMIT + 2))  # one may be late
    with pytest.raises(RemotingClosedError, match="nobody asked for"):
        await task
    assert joined.transport.is_aborted


async def test_requests_to_a_client_that_takes_none_end_it_soon():
    joined = Joined()
    joined.transport.deliver(encode_command(request(40)) * (module.UNASKED_LIMIT + 1))
    assert joined.transport.is_aborted


async def test_a_long_read_is_given_up_before_all_of_it_is_decoded(monkeypatch):
    joined = Joined()
    fed = []
    feed = joined.connection._decoder.feed
    monkeypatch.setattr(joined.connection._decoder, "feed", lambda data: fed.append(len(data)) or feed(data))
    joined.answer(*range(10_000))
    assert joined.transport.is_aborted
    assert sum(fed) == module.SLICE_BYTES


async def test_answers_that_are_late_and_requests_to_who_takes_them_are_no_reason_to_end():
    joined = Joined(lambda *_: None)
    count = 3 * module.UNASKED_LIMIT
    tasks = [joined.ask(n) for n in range(count)]
    await turns()
    for task in tasks:
        task.cancel()
    await turns()
    joined.answer(*range(count))
    joined.transport.deliver(encode_command(request(40)) * count)
    assert joined.connection.is_open


async def test_the_end_fails_all_who_wait():
    joined = Joined()
    tasks = [joined.ask(n) for n in range(2)]
    await turns()
    joined.connection.connection_lost(ConnectionResetError("reset"))
    for task in tasks:
        with pytest.raises(RemotingClosedError, match=r"10\.0\.0\.1:9876.*reset"):
            await task
    assert joined.lost == [joined.connection]
    assert joined.connection.gone.is_set()


async def test_broken_frames_end_it():
    joined = Joined()
    task = joined.ask(1)
    await turns()
    joined.transport.deliver(b"HTTP/1.1 400\r\n")
    with pytest.raises(RemotingClosedError, match="is it RocketMQ"):
        await task
    assert joined.transport.is_aborted


async def test_senders_wait_while_the_peer_does_not_read():
    joined = Joined()
    joined.transport.peer_reads = False
    joined.connection.write(b"x" * 1_000_000)
    waiting = asyncio.create_task(joined.connection.ready())
    await turns()
    assert not waiting.done()
    joined.transport.read_everything()
    await waiting


async def test_senders_that_wait_hear_of_the_end():
    joined = Joined()
    joined.transport.peer_reads = False
    joined.connection.write(b"x" * 1_000_000)
    waiting = asyncio.create_task(joined.connection.ready())
    await turns()
    joined.connection.abort()
    with pytest.raises(RemotingClosedError, match="before the request was sent"):
        await waiting


async def test_a_retired_connection_closes_when_nobody_waits_any_more():
    joined = Joined()
    task = joined.ask(1)
    await turns()
    joined.connection.retire()
    assert joined.connection.is_open
    joined.answer(1)
    await task
    assert not joined.connection.is_open
    assert joined.transport.is_closed


class TestSilence:
    @staticmethod
    async def _time_out(joined: Joined, opaque: int) -> None:
        task = joined.ask(opaque)
        await turns()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    async def test_a_first_time_out_does_not_close(self):
        joined = Joined()
        await self._time_out(joined, 1)
        assert joined.connection.is_open

    async def test_long_silence_closes(self, monkeypatch):
        joined = Joined()
        await self._time_out(joined, 1)
        monkeypatch.setattr(module, "SILENCE_SECONDS", 0.0)
        await self._time_out(joined, 2)
        assert joined.transport.is_aborted

    async def test_any_answer_breaks_the_silence(self, monkeypatch):
        joined = Joined()
        await self._time_out(joined, 1)
        waiting = joined.ask(2)
        await turns()
        before = joined.connection._unanswered_since
        joined.answer(1)
        assert joined.connection._unanswered_since > before
        joined.answer(2)
        await waiting
        assert joined.connection._unanswered_since is None


class TestRequestsOfThePeer:
    async def test_they_are_handed_over_and_answered(self):
        seen = []

        def on_request(asked: RemotingCommand, addr: str) -> Response:
            seen.append((asked.code, asked.ext_fields, addr))
            return Response(remark="thanks")

        joined = Joined(on_request)
        joined.transport.deliver(encode_command(request(905, {"minBrokerId": "0"}, opaque=77)))
        (answer,) = decoded(joined.transport.written)
        assert (answer.opaque, answer.flag, answer.remark) == (77, 1, "thanks")
        assert seen == [(905, {"minBrokerId": "0"}, "10.0.0.1:9876")]

    @pytest.mark.parametrize(("oneway", "result"), [(True, Response()), (False, None)])
    async def test_oneway_ones_and_those_without_a_result_get_no_answer(self, oneway, result):
        joined = Joined(lambda *_: result)
        joined.transport.deliver(encode_command(request(905, oneway=oneway)))
        assert joined.transport.written == b""

    async def test_without_a_callback_they_are_not_supported(self):
        joined = Joined()
        joined.transport.deliver(encode_command(request(905)))
        (answer,) = decoded(joined.transport.written)
        assert answer.code == 3

    async def test_a_bug_of_the_callback_is_logged_and_answered(self, caplog):
        joined = Joined(lambda *_: 1 / 0)
        joined.transport.deliver(encode_command(request(905)))
        (answer,) = decoded(joined.transport.written)
        assert (answer.code, answer.remark) == (1, "ZeroDivisionError: division by zero")
        assert "905" in caplog.text
