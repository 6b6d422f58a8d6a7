"""`/` in a browser: the page of `namekeeper console` over this name server alone.

A console process (`console_process`) answers the requests of the page. The name server itself sends the
page's files, and the connections that looked up a topic, which only it has. A GET changes nothing.
"""

from collections.abc import Callable
from contextlib import nullcontext

import aiohttp
import msgspec
from aiohttp import web

from namekeeper.access.peer import Peer
from namekeeper.http.console_process import ConsoleProcess, NoConsoleError
from namekeeper.http.gate import Connection
from namekeeper.http.host_turns import HostTurns
from namekeeper.http.page_clients import client_of
from namekeeper.http.page_files import (
    PAGE_FILES,
    PAGE_HEADERS,
    STREAM_HEADERS,
    logged_in,
    problem,
    send_page_file,
)
from namekeeper.http.page_table import LOGIN_BYTES, PROBLEMS, Guard, Page, stream_answer
from namekeeper.http.slots import Slots
from namekeeper.http.watchers import WhoKnows

__all__ = ["ConsolePage"]

API = "/api/"
_STREAM = "text/event-stream"
_EVENTS = f"{API}events"
_WHY = f"{API}why"
_PAST = frozenset({"at", "a_at", "b_at", "began", "from", "to", "older"})
"""Parameters of views that the console may read a journal for."""
LASTING_LIMIT = 64
"""Most pages that listen, and slow questions, at a time: each costs two descriptors."""
VIEWS_AT_ONCE = 2
"""Views of the present that the console makes at a time, and at most one for each host. As many views of
other times, and as many causes. To the console all requests come from one host."""
_UNREMEMBERED = "look-ups are not remembered: set rememberLookups=true"

Refuse = Callable[[Peer, str | None], str | None]
"""Why a peer may not read a page, by its proved identity and its token; None if it may."""


class ConsolePage:
    """Answers the requests of a browser.

    Args:
        process: the console.
        refuse: checks whether a peer may see the page.
        who_knows: returns the connections that looked up a topic; None if the server does not remember
            lookups.
    """

    def __init__(
        self, process: ConsoleProcess, refuse: Refuse, who_knows: Callable[[str], WhoKnows] | None
    ) -> None:
        self._process = process
        self._refuse = refuse
        self._who_knows = who_knows
        self._session: aiohttp.ClientSession | None = None
        self._turns, self._past_turns, self._why_turns = (HostTurns(VIEWS_AT_ONCE) for _ in range(3))
        self.lasting = Slots[Connection](LASTING_LIMIT)
        file = Page(send_page_file, Guard.NAMED, PROBLEMS)
        lasting = Page(self._asked, style=PROBLEMS, stream=self.lasting, answers_head=False)
        self._files = dict.fromkeys(PAGE_FILES, file)
        self._views = {
            f"{API}login": Page(self._login, Guard.NAMED, PROBLEMS, "POST", LOGIN_BYTES),
            f"{API}who_knows": Page(self._who_has_asked, style=PROBLEMS),
            _EVENTS: lasting,
            _WHY: lasting,
        }
        self._view = Page(self._asked, style=PROBLEMS)

    def find(self, request: web.BaseRequest) -> Page | None:
        """The page for a request; None if it is not of the console.

        A browser gets the page at `/`; a terminal gets the list of pages.
        """
        path = request.path
        if path == "/" and "text/html" not in request.headers.get("Accept", ""):
            return None
        found = self._files.get(path) or self._views.get(path)
        return self._view if found is None and path.startswith(API) else found

    async def close(self) -> None:
        """End the console; may be called twice."""
        self._process.stop()
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def _login(self, request: web.BaseRequest) -> web.StreamResponse:
        token = (await request.text()).strip()
        reason = self._refuse(client_of(request), token or None)
        return logged_in(request, token) if reason is None else problem(401, reason)

    async def _who_has_asked(self, request: web.BaseRequest) -> web.StreamResponse:
        name = request.query.get("name", "")
        if not name:
            return problem(400, "say which: name=...")
        answer = None if self._who_knows is None else self._who_knows(name)
        row = {"namesrv": "", "problem": "" if answer else _UNREMEMBERED, "answer": answer}
        return web.Response(
            body=msgspec.json.encode({"rows": [row]}), content_type="application/json", headers=PAGE_HEADERS
        )

    async def _asked(self, request: web.BaseRequest) -> web.StreamResponse:
        """The answer of the console, in the turn of the host; events need no turn."""
        turns = self._turns_of(request)
        turn = nullcontext() if turns is None else turns.of(request.remote or "")
        try:
            async with turn, self._process.used() as console:
                if self._session is None:
                    self._session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=None))
                headers = {"Authorization": f"Bearer {console.token}"}
                async with self._session.get(f"{console.url}{request.path_qs}", headers=headers) as answer:
                    return await _passed_on(request, answer)
        except NoConsoleError as error:
            return problem(503, str(error))
        except aiohttp.ClientError:
            return problem(503, "the console is gone; it is started again when the page asks again")

    def _turns_of(self, request: web.BaseRequest) -> HostTurns | None:
        if request.path == _EVENTS:
            return None
        if request.path == _WHY:
            return self._why_turns
        return self._turns if _PAST.isdisjoint(request.query) else self._past_turns


async def _passed_on(request: web.BaseRequest, answer: aiohttp.ClientResponse) -> web.StreamResponse:
    """The answer of the console: complete, or as it comes if it is a stream."""
    if answer.content_type != _STREAM:
        body = await answer.read()
        return web.Response(
            status=answer.status, body=body, content_type=answer.content_type, headers=PAGE_HEADERS
        )
    response = stream_answer(STREAM_HEADERS)
    await response.prepare(request)
    async for chunk in answer.content.iter_any():
        try:
            await response.write(chunk)
        except ConnectionError:  # the page was closed
            break
    return response
