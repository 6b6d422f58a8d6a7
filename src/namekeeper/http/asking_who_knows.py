"""Asks operators' pages for the connections that looked up a topic since its last change."""

import asyncio
from collections.abc import Sequence
from urllib.parse import urlencode

import msgspec

from namekeeper.errors import RemotingConnectError, RemotingError
from namekeeper.foreign_json import UNREADABLE_JSON
from namekeeper.http.watchers import WhoKnows
from namekeeper.remoting.asking_pages import ask_page
from namekeeper.remoting.page_address import PageAddress
from namekeeper.remoting.tls_client import Tls

__all__ = ["ask_who_knows"]

ANSWER_SECONDS = 10


async def ask_who_knows(
    pages: Sequence[PageAddress], topic: str, *, token: str, tls: Tls | None = None
) -> list[WhoKnows | RemotingError]:
    """Ask each name server; the answers or errors are in the order of the addresses.

    Args:
        pages: the addresses of their operators' pages.
        topic: topic that clients looked up before or after its last change.
        token: sent as bearer token; empty: none.
        tls: for pages that speak TLS; None: the authorities of the system count.
    """
    return await asyncio.gather(*(_answer(page, topic, token, tls) for page in pages))


async def _answer(page: PageAddress, topic: str, token: str, tls: Tls | None) -> WhoKnows | RemotingError:
    try:
        return await _ask(page, topic, token, tls)
    except RemotingError as error:
        return error


async def _ask(page: PageAddress, topic: str, token: str, tls: Tls | None) -> WhoKnows:
    """Ask one name server.

    Raises:
        RemotingError: it does not remember lookups, or refuses to answer.
        RemotingConnectError: it does not answer.
    """
    addr = str(page)
    url = f"{page.url}/who-knows?{urlencode({'topic': topic})}"
    try:
        answer = await ask_page(url, token=token, tls=tls, pause_seconds=ANSWER_SECONDS)
        if answer.status != 200:
            raise RemotingError(addr, f"refused: {answer.text} (HTTP {answer.status})")
        return msgspec.json.decode(answer.body, type=WhoKnows)
    except (OSError, *UNREADABLE_JSON) as error:
        raise RemotingConnectError(
            addr, f"can't be asked: {error}; is that its port for operators (httpPort)?"
        ) from None
