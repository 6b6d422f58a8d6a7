"""The table of pages: the answer to a path, and the guards in front of it.

A path that is in no table has the strictest guards, so that a new page is never open by accident.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from enum import Enum

import msgspec
from aiohttp import web
from msgspec import Struct

from namekeeper.http.gate import Connection
from namekeeper.http.page_files import problem
from namekeeper.http.slots import Slots

__all__ = [
    "LOGIN_BYTES",
    "PROBLEMS",
    "TEXTS",
    "UNASKED_BYTES",
    "Answer",
    "Guard",
    "Page",
    "Refuse",
    "Style",
    "json_answer",
    "stream_answer",
    "text_answer",
]

Answer = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]
Refuse = Callable[[web.BaseRequest, list[str]], str | None]
"""Why a peer may not have a page, from its request and the tokens in it; None if it may."""
LOGIN_BYTES = 1_024
"""Most bytes of a token in a login."""
UNASKED_BYTES = 48 * 1_024
"""Longest body that a client may send before the server asks for it by `100 Continue`: with its head it fits
into the bytes that a connection keeps of a request."""
_TEXT = "text/plain; charset=utf-8"


class Guard(Enum):
    """The access to a page."""

    OPEN = "open"
    """Every client, by any name of this host: probes, and clients that look for name servers."""
    NAMED = "named"
    """Every client that knows the name of this host: the files of the page that asks for a token."""
    JUDGED = "judged"
    """Clients that the access rules allow, and that know the name of this host or show a valid token."""


def text_answer(status: int, text: str) -> web.Response:
    """A line of text, for terminals and scripts."""
    return web.Response(status=status, text=text + "\n", headers={"Content-Type": _TEXT})


def json_answer(status: int, value: object) -> web.Response:
    """A value for programs."""
    return web.Response(status=status, body=msgspec.json.encode(value), content_type="application/json")


def stream_answer(headers: Mapping[str, str]) -> web.StreamResponse:
    """An answer that is sent in parts.

    Its header closes the connection after it: the server reads one request of a connection, so a client that
    kept the connection would wait for ever for its next answer.
    """
    response = web.StreamResponse(headers=headers)
    response.force_close()
    return response


class Style(Struct, frozen=True):
    """The form in which a page reports a problem."""

    answer: Callable[[int, str], web.Response]
    """Makes an answer of a status and a sentence."""
    refused: int
    """The status for peers that the access rules refuse."""


TEXTS = Style(text_answer, 403)
PROBLEMS = Style(problem, 401)


class Page(Struct, frozen=True):
    """The answer to requests for a path, and the access to it."""

    answer: Answer
    guard: Guard = Guard.JUDGED
    style: Style = TEXTS
    method: str = "GET"
    """The method of its requests; another than GET changes something, so pages of strangers must not send it.
    """
    body_bytes: int = 0
    """Most bytes of the body of a request; 0: a request has none."""
    content_type: str = ""
    """The type that a body must have; empty: any."""
    refuse: Refuse | None = None
    """Checks the peers of this page; None: those whom the rules about the pages allow."""
    turn: asyncio.Lock | None = None
    """Held from before the body is read until the answer is made; the next request gets 503 meanwhile."""
    stream: Slots[Connection] | None = None
    """The streams among which an answer counts; None: an answer that takes milliseconds."""
    full: str = "too many requests of this host or in all: try again later"
    """The text for a peer that finds no slot."""
    answers_head: bool = True
    """Whether HEAD gets the headers of the answer; else it gets those of an empty one."""
    writing: "Page | None" = None
    """The page for requests for the same path that change something."""

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods that it takes."""
        own = ("GET", "HEAD", "OPTIONS") if self.method == "GET" else ("OPTIONS", self.method)
        return own if self.writing is None else (*own, self.writing.method)

    def page_for(self, method: str) -> "Page":
        """This page, or the one that is for requests with another method."""
        return self if self.writing is None or self.writing.method != method else self.writing
