"""Loads the HTTP server once the data port answers: its libraries take a fifth of a second to import."""

import asyncio
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from namekeeper.http.server import OperatorHttpServer

__all__ = ["load_operator_http_server"]


async def load_operator_http_server() -> "type[OperatorHttpServer]":
    """Import the server's class in a thread, so that the loop goes on meanwhile."""
    module = await asyncio.to_thread(import_module, "namekeeper.http.server")
    server: type[OperatorHttpServer] = module.OperatorHttpServer
    return server
