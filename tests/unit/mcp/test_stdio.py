"""Lines of the standard input, and the answers to those that are no messages."""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from mcp.shared.message import SessionMessage

from namekeeper.mcp.stdio import LINE_BYTES, lines_of, readable_lines

PING = '{"jsonrpc":"2.0","id":1,"method":"ping"}'
NOTICE = '{"jsonrpc":"2.0","method":"notifications/initialized"}'
PARSE_ERROR, INVALID_REQUEST = -32700, -32600


async def test_lines_are_read_as_they_come_and_the_end_ends_them():
    assert await _lines(lambda pipe: os.write(pipe, b'{"a":1}\n\xff\n{"b"')) == ['{"a":1}', "\ufffd"]


async def test_a_line_without_an_end_is_not_kept(caplog: pytest.LogCaptureFixture):
    def flood(pipe: int) -> None:
        piece = b"x" * 65_536
        try:
            for _ in range(2 * LINE_BYTES // len(piece)):
                os.write(pipe, piece)
        except BrokenPipeError:
            pass

    assert await _lines(flood) == []
    assert "a message has more than 1,048,576 bytes" in caplog.text


async def _lines(send: Callable[[int], object]) -> list[str]:
    receiving, sending = os.pipe()

    def write_all() -> None:
        send(sending)
        os.close(sending)

    writing = asyncio.create_task(asyncio.to_thread(write_all))
    found = [line async for line in lines_of(receiving)]
    os.close(receiving)
    await writing
    return found


class Answers:
    """Keeps the messages that are written."""

    def __init__(self) -> None:
        self.errors: list[dict[str, Any]] = []

    async def send(self, answer: SessionMessage) -> None:
        self.errors.append(json.loads(answer.message.model_dump_json()))


async def _readable(*sent: str) -> tuple[list[str], list[dict[str, Any]]]:
    async def lines() -> AsyncIterator[str]:
        for line in sent:
            yield line

    answers = asyncio.get_running_loop().create_future()
    answers.set_result(Answers())
    found = [line async for line in readable_lines(lines(), answers)]
    return found, answers.result().errors


@pytest.mark.parametrize(
    ("line", "number", "code"),
    [
        ("not json", None, PARSE_ERROR),
        ("[" * 100_000, None, PARSE_ERROR),
        ('{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"\\ud800"}}', 2, PARSE_ERROR),
        ('{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}', None, PARSE_ERROR),
        ('{"jsonrpc":"2.0","id":' + "9" * 5_000 + ',"method":"ping"}', None, PARSE_ERROR),
        ('{"jsonrpc":"2.0","id":"a","method":"tools/call","params":[]}', "a", INVALID_REQUEST),
        ('{"jsonrpc":"2.0","id":1.5,"method":"ping"}', None, INVALID_REQUEST),
        ('{"jsonrpc":"1.0","id":12,"method":"ping"}', 12, INVALID_REQUEST),
        ("[1]", None, INVALID_REQUEST),
    ],
)
async def test_a_message_that_cannot_be_read_is_answered(line: str, number: str | int | None, code: int):
    found, ((error,)) = await _readable(line, PING)
    assert found == [PING]
    assert (error["jsonrpc"], error["id"], error["error"]["code"]) == ("2.0", number, code)
    assert error["error"]["message"].isprintable()


async def test_messages_are_passed_on_and_empty_lines_are_left_out():
    assert await _readable("", "\r", PING, NOTICE) == ([PING, NOTICE], [])
