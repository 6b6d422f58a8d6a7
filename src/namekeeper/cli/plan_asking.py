"""`--http` of commands that plan: the companion is asked, and its access rules decide."""

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

import click
import msgspec
from msgspec import Struct

from namekeeper.cli.credentials import rather_set
from namekeeper.cli.failure import CommandRefused, Unreachable
from namekeeper.cli.shared_options import Option
from namekeeper.cli.tls_files import pages_tls, take_tls_files, tls_file_options
from namekeeper.errors import ConfigError
from namekeeper.foreign_json import UNREADABLE_JSON
from namekeeper.remoting.asking_pages import SentBody, ask_page
from namekeeper.remoting.page_address import PageAddress, parse_page_addresses
from namekeeper.remoting.tls_client import Tls

__all__ = ["CompanionPage", "companion_options", "take_companion"]

T = TypeVar("T")
ANSWER_SECONDS = 30.0
"""A companion takes seconds to read an expected state of megabytes."""


class CompanionPage(Struct, frozen=True):
    """The page of a process with an expected state, and how it is asked."""

    page: PageAddress
    token: str
    tls: Tls | None

    def asks(self, path: str, sent: SentBody | None = None) -> bytes:
        """Send a request; returns the body of the answer.

        Raises:
            CommandRefused: it refuses.
            Unreachable: it does not answer.
        """
        try:
            answer = asyncio.run(
                ask_page(
                    f"{self.page.url}{path}", token=self.token, tls=self.tls, sent=sent,
                    pause_seconds=ANSWER_SECONDS,
                )
            )  # fmt: skip
        except OSError as error:
            raise Unreachable(f"{self.page} can't be asked: {error}; is the page there?") from None
        if answer.status != 200:
            raise CommandRefused(f"{self.page} refuses: {_reason(answer.body)} (HTTP {answer.status})")
        return answer.body

    def asks_json(self, path: str, form: type[T], method: str = "", value: object = None) -> T:
        """Send a request, with a method also a value as JSON; returns the value of the answer.

        Raises:
            CommandRefused: it refuses, or is no companion.
            Unreachable: it does not answer.
        """
        sent = SentBody(method, msgspec.json.encode(value), "application/json") if method else None
        try:
            return msgspec.json.decode(self.asks(path, sent), type=form)
        except UNREADABLE_JSON as error:
            raise CommandRefused(f"{self.page} is no companion: {error}") from None


def _reason(body: bytes) -> str:
    try:
        return str(msgspec.json.decode(body, type=dict[str, str])["problem"])
    except (KeyError, *UNREADABLE_JSON):
        return body.decode(errors="replace").strip()


def companion_options(*, is_required: bool) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """The options that `take_companion` takes out again.

    Args:
        is_required: whether the command works only over HTTP.
    """

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        beside = "" if is_required else " It writes, by its access rules; else this command writes the files."
        for option in (
            tls_file_options,
            click.option(
                "--http-token", cls=Option, old_names=["--token"], default="", envvar="NAMEKEEPER_HTTP_TOKEN",
                help=f"Your secret key, which is sent to it. {rather_set('NAMEKEEPER_HTTP_TOKEN')}",
            ),
            click.option(
                "--http", "page", metavar="HOST:PORT", required=is_required,
                help="The page of `observe` or `console` with --expect; https://HOST:PORT behind TLS."
                + beside,
            ),
        ):  # fmt: skip
            function = option(function)
        return function

    return decorate


def take_companion(options: dict[str, Any]) -> CompanionPage | None:
    """Take the values of `companion_options` out of `options`; None: the command works on files.

    Raises:
        ConfigError: the address or a file can't be used.
    """
    text, token, files = options.pop("page"), options.pop("http_token"), take_tls_files(options)
    if text is None:
        return None
    pages = parse_page_addresses(text)
    if len(pages) > 1:
        raise ConfigError("--http is the address of one companion")
    return CompanionPage(pages[0], token, pages_tls(files, pages))
