"""How a command ends after an error: one line that says what to do, and an exit code."""

from typing import IO, Any

import click

from namekeeper.admin.views import first_line
from namekeeper.common.printable import printable_lines
from namekeeper.errors import (
    NamekeeperError,
    RemotingClosedError,
    RemotingConnectError,
    RemotingError,
    RemotingTimeoutError,
    ResponseError,
)
from namekeeper.wire.codes import ResponseCode

__all__ = [
    "EXIT_REFUSED",
    "EXIT_UNREACHABLE",
    "EXIT_USAGE",
    "BadUsage",
    "CommandRefused",
    "RefusedUsage",
    "Unreachable",
    "describe",
    "failure_of",
    "is_unreachable",
]

EXIT_USAGE = 1
"""A bad option, as in Java."""
EXIT_REFUSED = 2
"""The command was refused: by a name server, by the pipeline or by the disk."""
EXIT_UNREACHABLE = 3
"""A name server could not be reached, or did not answer."""

_CODE_NAMES = {int(code): code.name for code in ResponseCode}


class BadUsage(click.UsageError):
    """A command line that can't be used; ends with 1, as Java's mqadmin does."""

    exit_code = EXIT_USAGE

    @classmethod
    def of(cls, error: click.UsageError) -> "BadUsage":
        """Return the same complaint with our exit code."""
        return cls(error.format_message(), error.ctx)


class RefusedUsage(BadUsage):
    """A bad command line for a command that has 1 as an answer; ends with 2."""

    exit_code = EXIT_REFUSED


class CommandRefused(click.ClickException):
    """Ends a command with exit code 2 and one line on stderr."""

    exit_code = EXIT_REFUSED

    def __init__(self, message: str) -> None:
        super().__init__(message)
        context = click.get_current_context(silent=True)
        self.program = (context and context.find_root().info_name) or "namekeeper"

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the line."""
        click.echo(printable_lines(f"{self.program}: {self.format_message()}"), file=file, err=file is None)


class Unreachable(CommandRefused):
    """Ends a command with exit code 3 and one line on stderr: a name server did not answer."""

    exit_code = EXIT_UNREACHABLE


def failure_of(error: NamekeeperError) -> CommandRefused:
    """Return the exception that ends a command because of an error."""
    kind = Unreachable if is_unreachable(error) else CommandRefused
    return kind(describe(error))


def is_unreachable(error: Exception) -> bool:
    """Say whether there was no answer at all, so that another name server may be asked."""
    return isinstance(error, RemotingConnectError | RemotingTimeoutError | RemotingClosedError)


_QUESTION = "; is it RocketMQ?"
"""The end of some errors of connections: the advice asks it, too."""


def describe(error: NamekeeperError) -> str:
    """Return one line: which name server, why, what to do."""
    if isinstance(error, ResponseError):
        return _describe_refusal(error)
    text = " ".join(str(error).split())
    if not isinstance(error, RemotingError):
        return text
    advice = _advice(error)
    return f"name server {text.removesuffix(_QUESTION)}; {advice}" if advice else f"name server {text}"


def _advice(error: RemotingError) -> str | None:
    if isinstance(error, RemotingClosedError):
        return "is it a name server, does it insist on TLS, or is it stopping?"
    if isinstance(error, RemotingTimeoutError):
        too_old = "or it is too old to know this request"
        return f"{too_old}, or needs a larger --timeout" if _takes("--timeout") else too_old
    return None


def _takes(option: str) -> bool:
    """Whether the command that runs has an option."""
    context = click.get_current_context(silent=True)
    return context is not None and any(option in parameter.opts for parameter in context.command.params)


def _describe_refusal(error: ResponseError) -> str:
    remark = first_line(error.remark)
    name = _CODE_NAMES.get(error.code, "unknown code")
    text = f"name server {error.addr} refused: {remark} ({error.code}, {name})"
    return f"{text}; {advice}" if (advice := _refusal_advice(error)) else text


def _refusal_advice(error: ResponseError) -> str | None:
    if error.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED:
        return "it is older than this request"
    if error.remark == "disable":
        return "enableAllTopicList or enableTopicList is false there"
    return None
