"""The server of the protocol: lists the tools and calls them, by the official SDK.

The SDK is in the extra `mcp`. Its import takes most of a second, so only `make_server` imports it.
"""

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from namekeeper import __version__
from namekeeper.common.printable import printable, printable_json
from namekeeper.daemon_threads import DaemonThreads
from namekeeper.errors import ConfigError, NamekeeperError
from namekeeper.mcp.answers import Sources, one_line
from namekeeper.mcp.tools import INSTRUCTIONS, TOOLS, Tool, answer_question, schema_of
from namekeeper.remoting.log_limit import LogLimit

if TYPE_CHECKING:
    import mcp_types
    from mcp.server.context import ServerRequestContext
    from mcp.server.lowlevel import Server

__all__ = ["ASKER", "make_server"]

log = logging.getLogger("namekeeper.mcp")

WAITING_LIMIT = 16
"""Questions that wait for their answers: they are answered one after the other, mostly within a second."""
_ARGUMENTS_SHOWN = 300
"""Characters of a question in the log."""
ASKER = "namekeeper.asker"
"""Member of the scope of an HTTP request: who sent it, for the log."""

NO_SDK = "the MCP SDK is not installed, or too old: pip install 'namekeeper[mcp]'"


class _ToolCalls:
    """Answers questions, one after the other: each may read a journal of gigabytes."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._threads = DaemonThreads("question", 1)
        self._waiting = 0
        self._log_limit = LogLimit(log)

    async def call(
        self, context: "ServerRequestContext[Any]", params: "mcp_types.CallToolRequestParams"
    ) -> "mcp_types.CallToolResult":
        """Call a tool. An error is a result: assistants show it, and ask otherwise."""
        import mcp_types as types
        from mcp.shared.exceptions import MCPError

        tool = TOOLS.get(params.name)
        if tool is None:
            raise MCPError(types.INVALID_PARAMS, f"there is no such tool; there are {', '.join(TOOLS)}")
        arguments = params.arguments or {}
        self._note(context, tool, arguments)
        if self._waiting >= WAITING_LIMIT:
            return _failed("too many questions wait for an answer: ask again in a few seconds")
        self._waiting += 1
        try:
            value = await self._threads.run(answer_question, tool, self._sources, arguments)
        except NamekeeperError as error:
            return _failed(one_line(error))
        except Exception as error:  # noqa: BLE001 - a bug: the limit of the log keeps its traceback
            self._log_limit.log(logging.ERROR, "the tool %s failed", tool.name, error=error)
            return _failed("this question failed; the log of namekeeper mcp says why")
        finally:
            self._waiting -= 1
        text = printable_json(msgspec.json.encode(value).decode())
        return types.CallToolResult(content=[types.TextContent(text=text)], structured_content=value)

    def _note(self, context: "ServerRequestContext[Any]", tool: Tool, arguments: Mapping[str, Any]) -> None:
        """Log the client of a question over HTTP; on stdio only the process asks that started this one."""
        if context.request is None:
            return
        asked = printable(msgspec.json.encode(arguments).decode())[:_ARGUMENTS_SHOWN]
        asker = context.request.scope[ASKER]
        self._log_limit.log(logging.INFO, "%s asks %s %s", asker, tool.name, asked)


def make_server(sources: Sources) -> "Server":
    """A server that answers from some sources.

    Args:
        sources: where the answers are.

    Raises:
        ConfigError: the SDK is not installed.
    """
    try:
        import mcp_types  # noqa: F401 - a release without it is too old
        from mcp.server.lowlevel import Server
    except ModuleNotFoundError:
        raise ConfigError(NO_SDK) from None
    return Server(
        "namekeeper",
        version=__version__,
        title="Namekeeper",
        instructions=INSTRUCTIONS,
        on_list_tools=_list_tools,
        on_call_tool=_ToolCalls(sources).call,
    )


async def _list_tools(
    _context: "ServerRequestContext[Any]", _params: "mcp_types.PaginatedRequestParams | None"
) -> "mcp_types.ListToolsResult":
    import mcp_types as types

    hints = types.ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
    return types.ListToolsResult(
        tools=[
            types.Tool(
                name=tool.name,
                title=tool.title,
                description=tool.description,
                input_schema=schema_of(tool.question),
                output_schema=schema_of(tool.answer),
                annotations=hints,
            )
            for tool in TOOLS.values()
        ]
    )


def _failed(text: str) -> "mcp_types.CallToolResult":
    import mcp_types as types

    return types.CallToolResult(content=[types.TextContent(text=printable(text))], is_error=True)
