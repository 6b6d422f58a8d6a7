"""Loads the HTTP server once the data port answers: its libraries take a fifth of a second to import."""

import asyncio
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from namekeeper.http.console_process import ConsoleProcess
    from namekeeper.http.server import OperatorHttpServer

__all__ = ["load_operator_http_server"]


async def load_operator_http_server() -> "tuple[type[OperatorHttpServer], type[ConsoleProcess]]":
    """Import the server's class, and that of the console, in a thread, so that the loop goes on meanwhile."""
    module = await asyncio.to_thread(import_module, "namekeeper.http.server")
    server: type[OperatorHttpServer] = module.OperatorHttpServer
    console: type[ConsoleProcess] = module.ConsoleProcess
    return server, console
