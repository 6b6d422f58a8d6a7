"""The tools over stdin and stdout: each line is a message.

The SDK drops a line that it can't read, and its client would wait for the answer. Such lines are answered
here.
"""

import asyncio
import json
import logging
import os
import sys
from collections.abc import AsyncIterable, AsyncIterator, Awaitable
from typing import TYPE_CHECKING, cast

from namekeeper.common.printable import printable
from namekeeper.daemon_threads import DaemonThreads

if TYPE_CHECKING:
    import mcp_types
    from anyio import AsyncFile
    from mcp.server.lowlevel import Server
    from mcp.shared._stream_protocols import WriteStream
    from mcp.shared.message import SessionMessage

__all__ = ["lines_of", "readable_lines", "serve_stdio"]

log = logging.getLogger("namekeeper.mcp")

LINE_BYTES = 1024 * 1024
"""Longest message on the standard input."""
_PIECE_BYTES = 64 * 1024
_INVALID = "this is no request, notification or response of JSON-RPC 2.0"


async def serve_stdio(server: "Server") -> None:
    """Serve the process that started this one, until it closes the standard input."""
    from mcp.server.stdio import stdio_server

    answers: asyncio.Future[WriteStream[SessionMessage]] = asyncio.get_running_loop().create_future()
    lines = readable_lines(lines_of(sys.stdin.fileno()), answers)
    try:
        async with stdio_server(cast("AsyncFile[str]", lines)) as (reading, writing):
            answers.set_result(writing)
            await server.run(reading, writing, server.create_initialization_options())
    except* BrokenPipeError:
        log.info("the other side has closed its input")


async def lines_of(descriptor: int) -> AsyncIterator[str]:
    """The lines of a file, up to one that is too long.

    The SDK's own reader can't be cancelled while it waits for a line.
    """
    threads = DaemonThreads("stdin", 1)
    rest = b""
    while data := await threads.run(os.read, descriptor, _PIECE_BYTES):
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            yield line.decode(errors="replace")
        if len(rest) > LINE_BYTES:
            log.error("a message has more than %s bytes: this ends here", f"{LINE_BYTES:,}")
            return


async def readable_lines(
    lines: AsyncIterable[str], answers: "Awaitable[WriteStream[SessionMessage]]"
) -> AsyncIterator[str]:
    """The lines that are messages.

    Args:
        lines: of the standard input; empty ones are left out.
        answers: gets an error for each line that is no message.
    """
    from mcp.shared.message import SessionMessage

    writing = await answers
    async for line in lines:
        if not line.strip():
            continue
        error = _error_of(line)
        if error is None:
            yield line
        else:
            await writing.send(SessionMessage(error))


def _error_of(line: str) -> "mcp_types.JSONRPCError | None":
    """The answer to a line that is no message; None if it is one."""
    import mcp_types as types
    from pydantic import ValidationError

    problem = types.ErrorData(code=types.INVALID_REQUEST, message=_INVALID)
    try:
        message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValidationError as error:
        (first, *_) = error.errors(include_url=False, include_context=False, include_input=False)
        if first["type"] == "json_invalid":
            problem = types.ErrorData(code=types.PARSE_ERROR, message=printable(first["msg"]))
    else:
        # The SDK takes a request with an unusable id for a notification.
        if not isinstance(message, types.JSONRPCNotification) or "id" not in json.loads(line):
            return None
    return types.JSONRPCError(jsonrpc="2.0", id=_id_in(line), error=problem)


def _id_in(line: str) -> str | int | None:
    """The id of a message that the SDK can't read, such as one with half of a surrogate pair."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return None
    found = message.get("id") if isinstance(message, dict) else None
    if type(found) is int or (isinstance(found, str) and found.isprintable()):
        return found
    return None
