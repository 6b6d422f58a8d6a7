"""`GET /watch` over a socket: long polls, event streams, limits."""

import asyncio
import json
from collections.abc import AsyncIterator

import aiohttp
import pytest

from namekeeper.http import watch as module
from namekeeper.http.watchers import WatchRefusal
from tests.support.system.loops import both_loops
from tests.support.system.waiting import eventually
from tests.unit.http.test_server import Site
from tests.unit.http.watching import OneWatcher, Watching, changed

STREAM = {"Accept": "text/event-stream"}


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    site = Site()
    async with site.server:
        yield site


async def watcher_of(site: Site) -> OneWatcher:
    await eventually(lambda: bool(site.watch.watchers))
    return site.watch.watchers[-1]


async def test_the_first_request_gives_the_revision_at_once(site: Site) -> None:
    answer = await site.ask("/watch?topic=A&topic=B")
    assert (answer.status, json.loads(answer.text)) == (
        200,
        {"revision": "5-7", "changes": [], "gone": False},
    )
    assert site.watch.asked == [(frozenset({"A", "B"}), None)]
    assert site.watch.watchers[0].is_closed


@both_loops
async def test_a_long_poll_waits_for_a_change(site: Site) -> None:
    asking = asyncio.ensure_future(site.ask("/watch?topic=A&after=5-7"))
    (await watcher_of(site)).put([changed("5-8", "A")])
    value = json.loads((await asking).text)
    assert [each["revision"] for each in value["changes"]] == ["5-8"]
    assert (value["changes"][0]["cause"], value["changes"][0]["peer"]) == ("expired", "10.0.0.1:5")


async def test_a_long_poll_goes_on_from_what_its_watcher_was_told(site: Site) -> None:
    """A change that is still being distributed must not be passed over by the next poll."""
    asking = asyncio.ensure_future(site.ask("/watch?topic=A&after=5-7"))
    watcher = await watcher_of(site)
    site.watch.present, watcher.told = "5-20", "5-8"
    watcher.put([changed("5-8", "A")])
    answer = await asking
    assert json.loads(answer.text)["revision"] == answer.headers["Namekeeper-Revision"] == "5-8"
    watcher.told = None


def test_a_change_is_encoded_once_for_all_who_watch_the_same() -> None:
    page = module.WatchPage(Watching(), refuse=lambda *_: None)
    one, other = changed("5-8", "A"), changed("5-8", "A", "B")
    encoded = page._json(one)
    assert page._json(other) != encoded
    assert page._json(one) is encoded
    for number in range(3 * module.ENCODED_KEPT):
        assert json.loads(bytes(page._json(changed(f"6-{number}", "A"))))["revision"] == f"6-{number}"
    assert len(page._encoded) == module.ENCODED_KEPT


async def test_a_long_poll_waits_as_long_as_it_says(site: Site) -> None:
    answer = await site.ask("/watch?topic=A&after=5-7&seconds=0")
    assert json.loads(answer.text)["changes"] == []
    assert site.watch.watchers[0].waited == [0.0]


async def test_what_is_not_kept_any_more_is_gone(site: Site) -> None:
    site.watch.first = None
    answer = await site.ask("/watch?topic=A&after=1-1")
    assert (answer.status, json.loads(answer.text)["gone"]) == (410, True)
    assert json.loads(answer.text)["revision"] == "5-7"


@both_loops
async def test_a_stream_gives_each_change_as_an_event_with_its_id(site: Site) -> None:
    url = f"http://127.0.0.1:{site.server.port}/watch?topic=A"
    async with aiohttp.ClientSession() as session, session.get(url, headers=STREAM) as response:
        assert response.headers["Content-Type"].startswith("text/event-stream")
        assert response.headers["Namekeeper-Revision"] == "5-7"
        assert await event(response) == ("ready", "5-7")
        watcher = await watcher_of(site)
        watcher.put([changed("5-8", "A"), changed("5-9", "A")])
        assert await event(response) == ("change", "5-8")
        assert await event(response) == ("change", "5-9")
        site.watch.present = "5-20"
        watcher.put(None)
        assert await event(response) == ("gone", "5-20")
    await eventually(lambda: watcher.is_closed)


async def event(response: aiohttp.ClientResponse) -> tuple[str, str | None]:
    """The next event: its kind and its id."""
    fields: dict[str, str] = {}
    while line := (await response.content.readline()).decode().strip():
        name, _, text = line.partition(": ")
        fields[name] = text
    assert json.loads(fields["data"])["revision"]
    return fields["event"], fields.get("id")


async def test_a_peer_that_left_before_its_stream_began_is_no_error(
    site: Site, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Each was logged as a bug, with a traceback and without a limit."""

    async def closed(_response: object, request: module.web.Request) -> None:
        assert request.transport is not None
        request.transport.abort()
        raise aiohttp.ClientConnectionResetError

    monkeypatch.setattr(module.web.StreamResponse, "prepare", closed)
    with pytest.raises(aiohttp.ClientError):
        await site.ask("/watch?topic=A", **STREAM)
    await eventually(lambda: {watcher.is_closed for watcher in site.watch.watchers} == {True})
    assert not caplog.records


async def test_a_stream_that_was_cut_goes_on_where_it_says(site: Site) -> None:
    """Its first event has no id: who is cut off again before the changes that were missed gets them later."""
    url = f"http://127.0.0.1:{site.server.port}/watch?topic=A"
    headers = {**STREAM, "Last-Event-ID": "5-3"}
    site.watch.first = [changed("5-4", "A")]
    async with aiohttp.ClientSession() as session, session.get(url, headers=headers) as response:
        assert await event(response) == ("ready", None)
        assert await event(response) == ("change", "5-4")
    assert site.watch.asked == [(frozenset({"A"}), "5-3")]


async def test_what_came_last_counts_more_than_what_the_url_says(site: Site) -> None:
    """A browser that connects again sends the URL of the beginning."""
    url = f"http://127.0.0.1:{site.server.port}/watch?topic=A&after=5-1"
    for came_last, after in ((None, "5-1"), ("5-3", "5-3")):
        headers = STREAM if came_last is None else {**STREAM, "Last-Event-ID": came_last}
        async with aiohttp.ClientSession() as session, session.get(url, headers=headers) as response:
            assert await event(response) == ("ready", None)
        assert site.watch.asked[-1] == (frozenset({"A"}), after)


async def test_a_new_stream_begins_at_the_revision_from_which_on_it_is_told(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not at a later one, if something changes before its first event is written: that change comes next."""
    prepare = module.web.StreamResponse.prepare

    async def change_meanwhile(
        response: module.web.StreamResponse, request: module.web.BaseRequest
    ) -> object:
        site.watch.present = "5-8"
        site.watch.watchers[-1].put([changed("5-8", "A")])
        return await prepare(response, request)

    monkeypatch.setattr(module.web.StreamResponse, "prepare", change_meanwhile)
    url = f"http://127.0.0.1:{site.server.port}/watch?topic=A"
    async with aiohttp.ClientSession() as session, session.get(url, headers=STREAM) as response:
        assert await event(response) == ("ready", "5-7")
        assert await event(response) == ("change", "5-8")


async def test_a_quiet_stream_gets_a_comment(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BEAT_SECONDS", 0)
    url = f"http://127.0.0.1:{site.server.port}/watch?topic=A"
    async with aiohttp.ClientSession() as session, session.get(url, headers=STREAM) as response:
        assert await event(response) == ("ready", "5-7")
        assert await response.content.readline() == b":\n"


async def test_a_watcher_that_never_reads_is_closed(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BEAT_SECONDS", 0)
    monkeypatch.setattr(module, "WRITE_SECONDS", 0.05)
    monkeypatch.setattr(module, "_event", lambda *_, **__: b"x" * 1_000_000)
    monkeypatch.setattr(module.WatchPage, "_events", lambda *_: b"x" * 1_000_000)
    _, writer = await asyncio.open_connection("127.0.0.1", site.server.port)
    writer.transport.pause_reading()
    writer.write(b"GET /watch?topic=A HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n")
    watcher = await watcher_of(site)
    await eventually(lambda: watcher.is_closed)
    writer.close()


@pytest.mark.parametrize(
    ("query", "what"),
    [
        ("", "say which topics"),
        ("?topic=", "say which topics"),
        ("?topic=A&seconds=x", "seconds must be between 0 and 60"),
        ("?topic=A&seconds=61", "seconds must be between 0 and 60"),
        ("?topic=A&seconds=nan", "seconds must be between 0 and 60"),
        ("?" + "&".join(f"topic={number}" for number in range(201)), "201 topics are too many"),
    ],
)
async def test_bad_input(site: Site, query: str, what: str) -> None:
    answer = await site.ask(f"/watch{query}")
    assert (answer.status, what in answer.text) == (400, True)
    assert site.watch.asked == []


@pytest.mark.parametrize("refusal", list(WatchRefusal))
async def test_who_can_not_watch_now_is_told_to_come_again(site: Site, refusal: WatchRefusal) -> None:
    site.watch.refusal = refusal
    answer = await site.ask("/watch?topic=A")
    assert (answer.status, answer.headers["Retry-After"]) == (503, "1")
    assert answer.text == refusal.value + "\n"


async def test_the_server_stops_without_waiting_for_watchers(site: Site) -> None:
    polling = asyncio.ensure_future(site.ask("/watch?topic=A&after=5-7"))
    await watcher_of(site)
    await site.server.close()
    assert json.loads((await polling).text)["changes"] == []
