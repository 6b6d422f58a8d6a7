"""Shared by every mqadmin sub-command: options, the connection, answers of one or several name servers."""

import asyncio
import functools
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, NoReturn, TypeVar

import click

from namekeeper.admin.operations import Namesrv
from namekeeper.cli.connecting import SENDER_OPTIONS, Connector, connection_options, take_connection
from namekeeper.cli.failure import (
    BadUsage,
    CommandRefused,
    describe,
    failure_of,
    is_unreachable,
)
from namekeeper.cli.options import BadOptionError, read_options
from namekeeper.cli.output import echo, is_one_stream, json_option, note
from namekeeper.cli.render import render_json
from namekeeper.cli.shared_options import Option, namesrv_option
from namekeeper.common.near_names import did_you_mean
from namekeeper.common.printable import printable
from namekeeper.errors import ConfigError, NamekeeperError, RemotingError, ResponseError
from namekeeper.remoting.address import parse_addresses
from namekeeper.remoting.request_sender import RequestSender

__all__ = [
    "JavaCommand",
    "Reply",
    "Session",
    "mqadmin_command",
    "refuse_unknown",
    "refuse_usage",
]

T = TypeVar("T")

_OURS = frozenset({*SENDER_OPTIONS, "timeout", "as_json", "form"})
"""Options that Java's commands lack."""

_CAPITAL = re.compile(r"(?<=[a-z])[A-Z]")

_NAMES_SHOWN = 10
"""Most names that are listed if none is similar."""

Action = Callable[[Namesrv], Awaitable[T]]


@dataclass(frozen=True, slots=True)
class Reply(Generic[T]):
    """The result of one of several name servers, or its error."""

    addr: str
    result: T | None = None
    error: RemotingError | None = None


class JavaCommand(click.Command):
    """A command whose options are read as commons-cli does; a bad option ends with 1, as in Java."""

    bad_usage = BadUsage
    """The error for options that can't be used."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the command line."""
        with self._own_bad_usage():
            try:
                words = args if ctx.resilient_parsing else self._as_click_reads(ctx, args)
                return super().parse_args(ctx, words)
            except BadOptionError as error:
                raise BadUsage(str(error), ctx) from None
            except click.UsageError as error:
                raise BadUsage.of(error) from None

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 - click's
        """Run the command, which may find that its options can't be used."""
        with self._own_bad_usage():
            return super().invoke(ctx)

    @contextmanager
    def _own_bad_usage(self) -> Iterator[None]:
        try:
            yield
        except BadUsage as error:
            raise self.bad_usage.of(error) from None

    def _as_click_reads(self, ctx: click.Context, args: Sequence[str]) -> list[str]:
        """The same command line with each option by its long name."""
        options = [param for param in self.get_params(ctx) if isinstance(param, click.Option)]
        switches = {name: param.opts[-1] for param in options if param.is_flag for name in _names(param)}
        values = {name: param.opts[-1] for param in options if not param.is_flag for name in _names(param)}
        kebab = {_CAPITAL.sub(_hyphened, name): key for name, key in values.items()}
        ours = [name for param in options if param.name in _OURS for name in param.opts]
        ours += kebab.keys() - values.keys()
        values = {**kebab, **values}
        found, words = read_options(args, values, switches, ours=ours)
        repeated = {param.opts[-1] for param in options if param.multiple}
        # Java takes the first value of an option that is given twice.
        first = [
            each for at, each in enumerate(found) if each[0] in repeated or each[0] not in dict(found[:at])
        ]
        return [*(f"{name}={text}" if name in values else name for name, text in first), *words]


@dataclass(frozen=True, slots=True)
class Session:
    """The name servers that a command was given, and the form its output takes."""

    addrs: tuple[str, ...]
    timeout_ms: int
    as_json: bool
    connector: Connector
    is_one_stream: bool
    """Whether the reader of the output can't tell notes from it."""

    def ask_one(self, action: Action[T], *, beside_json: bool = False) -> T:
        """Ask the first name server that can be reached; note on stderr which ones can't."""
        return asyncio.run(self._first(action, beside_json=beside_json))

    def ask_each(self, action: Action[T]) -> list[Reply[T]]:
        """Ask every name server at the same time."""
        return asyncio.run(self._all(action))

    def note(self, message: str, *, beside_json: bool = False) -> None:
        """Print a line on stderr that no tool takes for a row: those skip lines that begin with `#`.

        Args:
            message: the line.
            beside_json: whether the output is JSON without --json, too. Nothing may stand beside JSON where
                both streams are one.
        """
        if not (self.is_one_stream and (self.as_json or beside_json)):
            note(f"# {message}")

    def complain(self, message: str) -> None:
        """Print a line on stderr about what one name server could not do."""
        if self.is_one_stream:
            self.note(message)
        else:
            note(message)

    def emit(self, value: object, text: str) -> None:
        """Print a result; with --json as JSON."""
        if self.as_json:
            echo(render_json(value))
        elif text:
            echo(text)

    def emit_each(
        self, replies: Sequence[Reply[Any]], text: str | Callable[[Reply[Any]], str | None]
    ) -> None:
        """Print the reply of each name server, and end with the highest exit code of all.

        A plain `text` is printed once, if all went well; a function gives the line of each reply.
        """
        failed = [reply.error for reply in replies if reply.error]
        if self.as_json:
            echo(render_json([_reply_value(reply) for reply in replies]))
        else:
            self._print_replies(replies, text)
        for error in failed:
            self.complain(describe(error))
        if failed:
            raise click.exceptions.Exit(max(failure_of(error).exit_code for error in failed))

    def _print_replies(
        self, replies: Sequence[Reply[Any]], text: str | Callable[[Reply[Any]], str | None]
    ) -> None:
        if callable(text):
            for line in filter(None, map(text, replies)):
                echo(line)
        elif all(reply.error is None for reply in replies):
            echo(text)
        else:
            for reply in replies:
                if reply.error is None:
                    self.complain(f"name server {reply.addr}: done")

    async def _first(self, action: Action[T], *, beside_json: bool) -> T:
        async with self.connector.open() as sender:
            for addr in self.addrs[:-1]:
                try:
                    return await action(Namesrv(addr, sender, self.timeout_ms))
                except RemotingError as error:
                    if not is_unreachable(error):
                        raise
                    self.note(f"{describe(error)}; asking the next one", beside_json=beside_json)
            return await action(Namesrv(self.addrs[-1], sender, self.timeout_ms))

    async def _all(self, action: Action[T]) -> list[Reply[T]]:
        async with self.connector.open() as sender:
            return list(await asyncio.gather(*(self._reply(addr, sender, action) for addr in self.addrs)))

    async def _reply(self, addr: str, sender: RequestSender, action: Action[T]) -> Reply[T]:
        try:
            return Reply(addr, result=await action(Namesrv(addr, sender, self.timeout_ms)))
        except RemotingError as error:
            return Reply(addr, error=error)


def _names(option: click.Option) -> Sequence[str]:
    return [*option.opts, *(option.old_names if isinstance(option, Option) else ())]


def _hyphened(capital: re.Match[str]) -> str:
    return f"-{capital[0].lower()}"


def mqadmin_command(
    name: str, description: str, *, bad_usage: type[BadUsage] = BadUsage, wide: str = ""
) -> Callable[[Callable[..., None]], click.Command]:
    """Make a sub-command of a function that takes a `Session` first, and add the options that all share.

    Args:
        name: of the sub-command.
        description: one line of help.
        bad_usage: the error for options that can't be used; it has the exit code.
        wide: what `-o wide` shows; empty: there is no such form.
    """

    def decorate(function: Callable[..., None]) -> click.Command:
        @functools.wraps(function)
        def run(**options: Any) -> None:  # noqa: ANN401 - click's
            try:
                function(_take_session(options), **options)
            except NamekeeperError as error:
                raise failure_of(error) from error

        settings = {"help_option_names": ["-h", "--help"]}
        command = click.command(name, cls=JavaCommand, help=description, context_settings=settings)(
            _shared_options(run, wide)
        )
        command.bad_usage = bad_usage
        return command

    return decorate


def refuse_usage(message: str) -> NoReturn:
    """End with a usage error, as a bad option does."""
    raise BadUsage(message, click.get_current_context(silent=True))


def refuse_unknown(kind: str, name: str, known: Iterable[str]) -> NoReturn:
    """End with exit code 2: a name server answered that it has nothing with this name."""
    names = sorted(known)
    shown = f"; there is {', '.join(names[:_NAMES_SHOWN])}" if names else f": the name server has no {kind}"
    more = f" and {len(names) - _NAMES_SHOWN} more" if len(names) > _NAMES_SHOWN else ""
    raise CommandRefused(
        f"there is no {kind} {printable(name)}{did_you_mean(name, names) or printable(shown + more)}"
    )


def _shared_options(function: Callable[..., None], wide: str) -> Callable[..., None]:
    """Add the options that all sub-commands have, behind the function's own."""
    own = function.__dict__.pop("__click_params__", [])
    function = connection_options(function)
    function = json_option(wide=wide)(function)
    function = namesrv_option("Name server address list, eg: '192.168.0.1:9876;192.168.0.2:9876'")(function)
    function.__dict__["__click_params__"] += own  # click takes them from the last to the first
    return function


def _take_session(options: dict[str, Any]) -> Session:
    """Take the values of the shared options out of `options`."""
    namesrv_addr = options.pop("namesrv_addr").strip()
    if not namesrv_addr:
        refuse_usage("no name server to ask: give -n host:port;host:port or set NAMESRV_ADDR")
    try:
        addrs = tuple(dict.fromkeys(map(str, parse_addresses(namesrv_addr))))
        connector, timeout_ms = take_connection(click.get_current_context(), options)
    except ConfigError as error:
        refuse_usage(str(error))
    return Session(addrs, timeout_ms, options.pop("as_json"), connector, is_one_stream())


def _reply_value(reply: Reply[Any]) -> dict[str, Any]:
    if reply.error is None:
        return {"namesrv": reply.addr, "ok": True, "result": reply.result}
    code = reply.error.code if isinstance(reply.error, ResponseError) else None
    return {"namesrv": reply.addr, "ok": False, "code": code, "error": describe(reply.error)}
