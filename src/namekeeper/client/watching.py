"""Watches the operators' HTTP ports of name servers, so that a changed route is looked up at once.

Polling goes on besides, so nothing depends on a watch: if it fails, routes are polled only.
"""

import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator
from functools import partial
from urllib.parse import urlencode

import msgspec
from msgspec import Struct, field

from namekeeper.client.client_config import ClientConfig
from namekeeper.client.polling import Sleep
from namekeeper.errors import RemotingError
from namekeeper.foreign_json import UNREADABLE_JSON
from namekeeper.remoting.asking_pages import ask_page
from namekeeper.remoting.page_address import PageAddress, parse_page_addresses
from namekeeper.remoting.tls_client import ClientTls, Tls
from namekeeper.remoting.tls_contexts import page_context

__all__ = ["Fetch", "RouteWatcher", "WatchAnswer", "watchers_of"]

TOPICS_LIMIT = 200
"""Most topics of one watch; the others are polled."""
QUERY_LIMIT = 3_500
"""Most characters of their names: a request line has room for 4,096."""
ANSWER_SECONDS = 40
"""Time limit of a request: a long poll is answered after 25 s."""
IDLE_SECONDS = 1.0
"""Pause while there is no topic to watch."""
RETRY_SECONDS = (1.0, 30.0)
"""The first pause after a failure, and the longest: each is twice as long as the one before."""

_log = logging.getLogger("namekeeper.client")


class WatchedTopics(Struct, frozen=True):
    """The part of a change that is read."""

    topics: list[str]


class WatchAnswer(Struct, frozen=True):
    """The part of an answer that is read."""

    revision: str
    changes: list[WatchedTopics] = field(default_factory=list)
    gone: bool = False


Fetch = Callable[[str], Awaitable[WatchAnswer]]
"""Requests a URL and returns the answer; raises RemotingError if there is none."""


class RouteWatcher:
    """Watches one name server; looks up a topic after each change of it."""

    def __init__(
        self,
        pages: PageAddress,
        topics: Callable[[], Iterable[str]],
        update: Callable[[str], object],
        *,
        sleep: Sleep,
        fetch: Fetch,
    ) -> None:
        """Take the parts.

        Args:
            pages: the operators' HTTP port.
            topics: gives the topics to watch; may name one twice.
            update: starts the update of a topic, without waiting.
            sleep: waits this many seconds.
            fetch: asks for a page.
        """
        self._pages = pages
        self._topics = topics
        self._update = update
        self._sleep = sleep
        self._fetch = fetch
        self._revision: str | None = None
        self._watched: frozenset[str] = frozenset()
        self._is_failing = False

    async def run(self) -> None:
        """Watch until cancelled."""
        pause, longest = RETRY_SECONDS
        while True:
            topics = list(_first_of(self._topics()))
            try:
                if topics:
                    await self._watch(topics)
                else:
                    await self._sleep(IDLE_SECONDS)
            except RemotingError as error:
                self._fail(error)
                await self._sleep(pause)
                pause = min(2 * pause, longest)
            else:
                pause = RETRY_SECONDS[0]

    async def _watch(self, topics: list[str]) -> None:
        """Send one request, and start the updates that follow from its answer."""
        query = [("topic", topic) for topic in topics]
        if self._revision is not None:
            query.append(("after", self._revision))
        answer = await self._fetch(f"{self._pages.url}/watch?{urlencode(query)}")
        if self._is_failing:
            self._is_failing = False
            _log.warning("%s: routes are watched again", self._pages)
        self._revision = answer.revision
        is_first, new = not self._watched, frozenset(topics) - self._watched
        self._watched = frozenset(topics)
        changed = {topic for change in answer.changes for topic in change.topics}
        if answer.gone:
            changed = set(topics)
        elif not is_first:
            changed |= new  # topics may have changed between the poll and now
        for topic in sorted(changed):
            self._update(topic)

    def _fail(self, error: RemotingError) -> None:
        if not self._is_failing:
            self._is_failing = True
            _log.warning("%s; routes are polled only", error)


def watchers_of(
    config: ClientConfig,
    topics: Callable[[], Iterable[str]],
    update: Callable[[str], object],
    *,
    sleep: Sleep,
) -> list[RouteWatcher]:
    """A watcher for each address of `watch_addr`; none if it is empty. Reads certificate files.

    Raises:
        ConfigError: the certificates can't be used.
    """
    pages = parse_page_addresses(config.watch_addr) if config.watch_addr else []
    tls = ClientTls(lambda: config.tls, page_context) if any(each.is_tls for each in pages) else None
    fetch = partial(fetch_answer, token=config.watch_token, tls=tls)
    return [RouteWatcher(each, topics, update, sleep=sleep, fetch=fetch) for each in pages]


async def fetch_answer(url: str, *, token: str = "", tls: Tls | None = None) -> WatchAnswer:
    """Ask for a page, and wait for its answer.

    Args:
        url: of the page.
        token: sent as bearer token; empty: none.
        tls: for pages that speak TLS; None: the authorities of the system count.

    Raises:
        RemotingError: there is none in time, or it is not an answer to a watch.
    """
    addr = url.split("/")[2]
    try:
        answer = await ask_page(url, token=token, tls=tls, pause_seconds=ANSWER_SECONDS)
        if answer.status not in {200, 410}:
            raise RemotingError(addr, f"its routes can't be watched: status {answer.status}")
        return msgspec.json.decode(answer.body, type=WatchAnswer)
    except (OSError, *UNREADABLE_JSON) as error:
        raise RemotingError(addr, f"its routes can't be watched: {error}") from None


def _first_of(topics: Iterable[str]) -> Iterator[str]:
    """The first topics, as many as one request has room for."""
    room = QUERY_LIMIT
    for number, topic in enumerate(dict.fromkeys(topics)):
        room -= len(urlencode({"topic": topic})) + 1
        if room < 0 or number >= TOPICS_LIMIT:
            return
        yield topic
