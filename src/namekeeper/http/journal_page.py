"""`/journal`: the files of the journal, for tools on other hosts that answer questions about the past.

The files are sent as they are on disk; the client does the work of reading them. Only listed files can be
requested: no name from a peer becomes a path.
"""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from aiohttp import web
from msgspec import json

from namekeeper.http.page_table import stream_answer

__all__ = ["JournalFiles", "JournalPage"]

PIECE_BYTES = 128 * 1024
"""So much of a file is in memory for each reader."""


class JournalFiles(Protocol):
    """Gives the files of a running name server's journal, if it has one."""

    def __call__(self) -> tuple[Path, Callable[[], list[str]]] | None:
        """The folder, and a slow function that lists its files; None without a journal."""
        ...


class JournalPage:
    """Answers `/journal` and `/journal/NAME`."""

    def __init__(self, files: JournalFiles) -> None:
        self._files = files

    async def names(self, _request: web.BaseRequest) -> web.StreamResponse:
        """The names of the files."""
        _, found = await self._look()
        return web.Response(body=json.encode({"files": found}), content_type="application/json")

    async def file(self, request: web.BaseRequest) -> web.StreamResponse:
        """The bytes of one file."""
        folder, names = await self._look()
        name = request.path.removeprefix("/journal/")
        if name not in names:
            raise web.HTTPNotFound
        try:
            file = await asyncio.to_thread((folder / name).open, "rb")
        except FileNotFoundError:  # it is sealed, or deleted, since then
            raise web.HTTPNotFound from None
        response = stream_answer({"Content-Type": "application/octet-stream"})
        with file:
            left = os.fstat(file.fileno()).st_size
            response.content_length = left
            await response.prepare(request)
            while left and request.method != "HEAD":
                piece = await asyncio.to_thread(file.read, min(left, PIECE_BYTES))
                if not piece:
                    raise ConnectionResetError("the file has become shorter")
                left -= len(piece)
                await response.write(piece)
        return response

    async def _look(self) -> tuple[Path, list[str]]:
        found = self._files()
        if found is None:
            raise web.HTTPNotFound
        folder, names = found
        return folder, await asyncio.to_thread(names)
