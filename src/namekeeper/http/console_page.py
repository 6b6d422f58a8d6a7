"""`/` in a browser: the page of `namekeeper console` over this name server alone.

What the page asks is answered by a console beside (`console_process`); its files are given here, and so is
who has asked for a topic, which only the name server itself knows. Nothing is changed by a GET.
"""

from collections.abc import Awaitable, Callable

import aiohttp
import msgspec
from aiohttp import web

from namekeeper.access.peer import Peer
from namekeeper.http.console_process import ConsoleProcess, NoConsoleError
from namekeeper.http.doors import COOKIE, Doors
from namekeeper.http.page_clients import client_of, token_of
from namekeeper.http.page_files import PAGE_FILES, PAGE_HEADERS, problem, send_page_file
from namekeeper.http.watchers import WhoKnows

__all__ = ["ConsolePage"]

PAGE_PATHS = frozenset(PAGE_FILES)
API = "/api/"
_STREAM = "text/event-stream"
_LASTING = frozenset({"events", "why"})
"""Views that take long: the gate ends other connections after a while."""
LASTING_LIMIT = 64
"""So many of them at once; each costs a descriptor."""
_UNREMEMBERED = "look-ups are not remembered: set rememberLookups=true"

_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
Keep = Callable[[web.Request], Callable[[], None]]
"""Lets the connection of a request last; returns what ends that."""
Refuse = Callable[[Peer, str | None], str | None]
"""Why a client may not read a page, from what its connection proves and its token; None if it may."""


class ConsolePage:
    """Answers what a browser asks for.

    Args:
        process: the console.
        doors: which names of this host browsers may have.
        refuse: who may look.
        keep: lets a connection last.
        who_knows: gives the connections that have asked for a topic; None if they are not remembered.
    """

    def __init__(
        self,
        process: ConsoleProcess,
        doors: Doors,
        refuse: Refuse,
        keep: Keep,
        who_knows: Callable[[str], WhoKnows] | None,
    ) -> None:
        self._process = process
        self._doors = doors
        self._refuse = refuse
        self._keep = keep
        self._who_knows = who_knows
        self._session: aiohttp.ClientSession | None = None
        self._lasting_count = 0

    def add_routes(self, router: web.UrlDispatcher) -> None:
        """Answer the paths of the page, but for `/`, which is the list of pages for who is no browser."""
        for path in PAGE_PATHS - {"/"}:
            router.add_get(path, send_page_file)
        router.add_post(f"{API}login", self._guarded(self._login))
        router.add_get(f"{API}who_knows", self._guarded(self._judged(self._who_has_asked)))
        router.add_get(f"{API}{{view}}", self._guarded(self._judged(self._view)), allow_head=False)

    @staticmethod
    def is_open(path: str) -> bool:
        """Whether anybody may read a path, or who may is asked here: a browser shows the page first."""
        return path in PAGE_PATHS - {"/"} or path.startswith(API)

    async def close(self) -> None:
        """End the console; may be called twice."""
        self._process.stop()
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    def _guarded(self, handler: _Handler) -> _Handler:
        async def handle(request: web.Request) -> web.StreamResponse:
            reason = self._doors.refuse_host(request.headers.get("Host"))
            return await handler(request) if reason is None else problem(421, reason)

        return handle

    def _judged(self, handler: _Handler) -> _Handler:
        async def handle(request: web.Request) -> web.StreamResponse:
            token = token_of(request) or request.cookies.get(COOKIE, "")
            reason = self._refuse(client_of(request), token or None)
            return await handler(request) if reason is None else problem(401, reason)

        return handle

    async def _login(self, request: web.Request) -> web.StreamResponse:
        token = (await request.text()).strip()
        reason = self._refuse(client_of(request), token or None)
        if reason is not None:
            return problem(401, reason)
        response = web.Response(status=204, headers=PAGE_HEADERS)
        response.set_cookie(COOKIE, token, httponly=True, samesite="Strict", path="/", secure=request.secure)
        return response

    async def _who_has_asked(self, request: web.Request) -> web.StreamResponse:
        name = request.query.get("name", "")
        if not name:
            return problem(400, "say which: name=...")
        answer = None if self._who_knows is None else self._who_knows(name)
        row = {"namesrv": "", "problem": "" if answer else _UNREMEMBERED, "answer": answer}
        return web.Response(
            body=msgspec.json.encode({"rows": [row]}), content_type="application/json", headers=PAGE_HEADERS
        )

    async def _view(self, request: web.Request) -> web.StreamResponse:
        if request.match_info["view"] not in _LASTING:
            return await self._asked(request)
        if self._lasting_count >= LASTING_LIMIT:
            return problem(503, "too many pages are open: close some, and try again")
        self._lasting_count += 1
        release = self._keep(request)
        try:
            return await self._asked(request)
        finally:
            release()
            self._lasting_count -= 1

    async def _asked(self, request: web.Request) -> web.StreamResponse:
        """What the console says."""
        try:
            async with self._process.used() as console:
                if self._session is None:
                    self._session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=None))
                headers = {"Authorization": f"Bearer {console.token}"}
                async with self._session.get(f"{console.url}{request.path_qs}", headers=headers) as answer:
                    return await _passed_on(request, answer)
        except NoConsoleError as error:
            return problem(503, str(error))
        except aiohttp.ClientError:
            return problem(503, "the console is gone; it is started again when the page asks again")


async def _passed_on(request: web.Request, answer: aiohttp.ClientResponse) -> web.StreamResponse:
    """The answer of the console: whole, or as it comes if it is a stream."""
    if answer.content_type != _STREAM:
        body = await answer.read()
        return web.Response(
            status=answer.status, body=body, content_type=answer.content_type, headers=PAGE_HEADERS
        )
    response = web.StreamResponse(headers={**PAGE_HEADERS, "Content-Type": _STREAM})
    await response.prepare(request)
    async for chunk in answer.content.iter_any():
        try:
            await response.write(chunk)
        except ConnectionError:  # the page was closed
            break
    return response
