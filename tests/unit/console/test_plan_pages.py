"""Requests that plan: who may, what is refused, that names stay data, and that each action is a line of the log."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from functools import cache
from pathlib import Path

import pytest

from namekeeper.access.policy import AccessPolicy
from namekeeper.access.rules_file import parse_access_file
from namekeeper.console import plan_pages
from namekeeper.console.plan_pages import PlanPages
from namekeeper.expected.plan import PlanFiles, digest_of
from namekeeper.expected.state_file import expected_text
from namekeeper.http import gate, page_server
from namekeeper.http.doors import Doors
from namekeeper.http.page_server import PageServer
from namekeeper.http.page_table import PROBLEMS, UNASKED_BYTES
from tests.unit.console.test_histories import Clock
from tests.unit.expected.seeds import HOSTILE, fleet, learned
from tests.unit.http.test_page_server import exchange, request

NOW = 1_700_000_000_000
RULES = """
mode = "audit"
keys = "keys.toml"
[[rule]]
name = "planners"
requests = ["planning"]
users = ["ann"]
[[rule]]
name = "testers"
requests = ["planning"]
brokers = ["test-*"]
users = ["tom"]
[[rule]]
name = "readers"
requests = ["http"]
users = ["ann", "tom", "eve"]
"""
KEYS = {name: (f"{name}-key",) for name in ("ann", "tom", "eve")}
WINDOW = {"for_ms": 60_000, "brokers": ["test-a"]}


@cache
def expected() -> str:
    return expected_text(learned(fleet()))


class Site:
    """The pages behind the guards of a server, and a client."""

    def __init__(self, folder: Path) -> None:
        self.file, self.log = folder / "expected.toml", folder / "expected.maintenance.jsonl"
        self.file.write_text(expected())
        self.policy = AccessPolicy(parse_access_file(RULES, source="a").rules, KEYS)
        self.changes = 0
        self.doors = Doors("127.0.0.1", policy=lambda: self.policy)
        self.open()

    def open(self) -> None:
        self.pages = PlanPages(PlanFiles(str(self.file)), self.doors, Clock(NOW), self.changed)
        table = self.pages.table()
        self.server = PageServer(
            lambda asked: table.get(asked.path), self.doors,
            lambda asked, tokens: self.doors.refuse_peer(plan_pages.client_of(asked), tokens),
            style=PROBLEMS, finish=lambda _: None, nothing="nothing at {}".format,
        )  # fmt: skip

    async def changed(self) -> None:
        self.changes += 1

    async def asks(
        self, path: str, user: str = "ann", body: object = None, *headers: str, method: str = "",
        kind: str = "application/json",
    ) -> tuple[int, str]:  # fmt: skip
        """Status, and the body or the problem of the answer."""
        data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        own = [f"Authorization: Bearer {user}-key"] if user else []
        own += [f"Content-Type: {kind}"] if data and kind else []
        port = self.server.port
        assert port is not None
        method = method or ("POST" if data else "GET")
        status, _, answer = await exchange(port, request(path, *own, *headers, method=method, body=data))
        return status, json.loads(answer)["problem"] if status >= 400 else answer.decode()

    async def starts(self, user: str = "ann", **more: object) -> str:
        status, answer = await self.asks("/api/maintenance", user, {**WINDOW, **more})
        assert status == 200, answer
        return str(json.loads(answer)["id"])

    async def puts(self, text: bytes, *headers: str, user: str = "ann", path: str = "/api/expected"):
        return await self.asks(path, user, text, *headers, method="PUT", kind="application/toml")

    @property
    def lines(self) -> list[dict[str, object]]:
        return (
            [json.loads(line) for line in self.log.read_text().split("\n")[:-1]] if self.log.exists() else []
        )


@pytest.fixture(autouse=True)
def short_linger(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_server, "LINGER_SECONDS", 0.01)


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    made = Site(tmp_path)
    await made.server.listen("127.0.0.1", 0)
    yield made
    await made.server.close()


async def test_a_window_is_started_listed_and_ended_by_the_clock_of_the_companion(site: Site):
    id_ = await site.starts(why="disks", topics=["orders"])
    _, listed = await site.asks("/api/maintenance")
    (window,) = json.loads(listed)["windows"]
    assert (window["id"], window["from"], window["to"]) == (id_, NOW, NOW + 60_000)
    assert (window["brokers"], window["topics"], window["why"]) == (["test-a"], ["orders"], "disks")
    assert await site.asks("/api/maintenance/end", "ann", {"ids": [id_], "why": "done"}) == (
        200, f'{{"ids":["{id_}"]}}',
    )  # fmt: skip
    start, end = site.lines
    assert (start["action"], start["rule"], start["why"], start["at"]) == ("start", "planners", "disks", NOW)
    assert (end["action"], end["rule"], end["why"], end["window"]) == ("end", "planners", "done", id_)
    assert str(start["who"]).startswith("ann@127.0.0.1:")
    assert site.changes == 2
    assert site.pages.counts == {"allowed": 2, "refused": 0}
    later = await site.asks("/api/maintenance", "ann", {**WINDOW, "from": "2026-02-01T22:00:00Z"})
    assert json.loads(later[1])["from_iso"] == "2026-02-01T22:00:00.000Z"


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"brokers": ["test-a", "prod-a"]}, "brokers=prod-a, brokers=test-a, is refused: no rule covers it"),
        ({"clusters": ["c"]}, "clusters=c, brokers=test-a, is refused: no rule covers it"),
        ({"topics": ["orders"]}, "is refused: no rule covers it"),
        ({"name_servers": ["ns-1"]}, "is refused: no rule covers it"),
        ({"brokers": [HOSTILE]}, "is refused: no rule covers it"),
    ],
)
async def test_the_names_of_a_window_must_be_covered_also_to_end_it(
    site: Site, more: dict[str, object], words: str, caplog: pytest.LogCaptureFixture
):
    own = await site.starts("tom")
    with caplog.at_level(logging.WARNING):
        status, text = await site.asks("/api/maintenance", "tom", {**WINDOW, **more})
    assert status == 403
    assert text.startswith("user tom, ")
    assert words in text
    assert "POST /api/maintenance of 127.0.0.1 is refused: user tom, " in caplog.text
    assert HOSTILE not in caplog.text
    theirs = await site.starts("ann", **more)
    status, text = await site.asks("/api/maintenance/end", "tom", {"ids": [own, theirs]})
    assert (status, words in text) == (403, True)
    assert [line["action"] for line in site.lines] == ["start", "start"]
    assert site.pages.counts == {"allowed": 2, "refused": 2}
    assert (await site.asks("/api/maintenance/end", "tom", {"ids": [own]}))[0] == 200


async def test_whoever_is_not_proved_writes_nothing_and_learns_nothing(site: Site):
    """The answer is the same for a key that no user has, and for none."""
    answers = {
        await site.asks(path, user, body, *headers, method=method, kind=kind)
        for path, method, body, kind in (
            ("/api/maintenance", "POST", WINDOW, "application/json"),
            ("/api/maintenance/end", "POST", {"ids": ["x"]}, "application/json"),
            ("/api/expected", "PUT", site.file.read_bytes(), "application/toml"),
        )
        for user, headers in (("", ()), ("mallory", ()), ("", ("Cookie: namekeeper_console=ann-key",)))
    }
    ((status, text),) = answers
    assert status == 403
    assert "the secret key of a user who may plan" in text
    assert (site.lines, site.pages.counts["refused"]) == ([], 9)


async def test_a_reader_may_look_and_not_write(site: Site):
    assert (await site.asks("/api/maintenance", "eve"))[0] == 200
    assert (await site.asks("/api/expected", "eve"))[0] == 200
    assert (await site.asks("/api/maintenance", ""))[0] == (await site.asks("/api/expected", ""))[0] == 401
    assert (await site.asks("/api/maintenance", "eve", b"no JSON"))[0] == 403  # before the body is read
    text = site.file.read_bytes()
    for user in ("eve", "tom"):
        answer = await site.puts(text + b"#", f'If-Match: "{digest_of(text)}"', user=user)
        assert answer == (403, f"user {user} is refused: no rule covers it")
    assert site.lines == []


@pytest.mark.parametrize("doors", [Doors("127.0.0.1"), Doors("127.0.0.1", token="ann-key")])
async def test_without_access_rules_nobody_writes(tmp_path: Path, doors: Doors):
    site = Site(tmp_path)
    site.doors = doors
    site.open()
    await site.server.listen("127.0.0.1", 0)
    assert (await site.asks("/api/maintenance"))[0] == 200
    status, text = await site.asks("/api/maintenance", "ann", WINDOW)
    assert (status, site.lines) == (403, [])
    assert "start it with --access-file FILE" in text
    await site.server.close()


BODIES = [
    b"{", b"[]", b"null", b"1", b'""', b"\xff\xfe", b"{}", b'{"for_ms":60000}', b'{"brokers":["b"]}',
    b'{"for_ms":0,"brokers":["b"]}', b'{"for_ms":-1,"brokers":["b"]}', b'{"for_ms":1.5,"brokers":["b"]}',
    b'{"for_ms":"1","brokers":["b"]}', b'{"for_ms":true,"brokers":["b"]}', b'{"for_ms":1e400,"brokers":["b"]}',
    b'{"for_ms":99999999999999999999,"brokers":["b"]}', b'{"for_ms":253402214400000,"brokers":["b"]}',
    b'{"for_ms":1,"brokers":"b"}', b'{"for_ms":1,"brokers":[""]}', b'{"for_ms":1,"brokers":[1]}',
    b'{"for_ms":1,"brokers":[null]}', b'{"for_ms":1,"brokers":["\\ud800"]}', b'{"for_ms":1,"brokers":[["b"]]}',
    b'{"for_ms":1,"brokers":["' + b"x" * 256 + b'"]}', b'{"for_ms":1,"brokers":["b"],"who":"root"}',
    b'{"for_ms":1,"brokers":["b"],"begin":1}', b'{"for_ms":1,"brokers":["b"],"from":"never"}',
    b'{"for_ms":1,"brokers":["b"],"from":5}', b'{"for_ms":1,"brokers":["b"],"from":"1900-01-01T00:00:00Z"}',
    b'{"for_ms":1,"brokers":["b"],"why":{}}', b"[" * 30_000, b'{"for_ms":1,"brokers":["b"]}{}',
]  # fmt: skip


async def test_a_body_that_is_no_window_is_one_line_and_writes_nothing(site: Site):
    for body in BODIES:
        status, text = await site.asks("/api/maintenance", "ann", body)
        assert (status, "\n" in text) == (400, False), body
        assert (await site.asks("/api/maintenance/end", "ann", body))[0] == 400, body
    assert (site.lines, site.changes) == ([], 0)


NAMES = [
    HOSTILE, "<script>alert(1)</script>", "$(reboot)", "`id`", "a\nb", "a\rb", "\u2028", "\u202etxt", "\x1b[31m", "a\0b", "../../etc",
    "%00", "' OR 1=1 --", '"}\n{"action":"end"', "b" * 255, "\ufeff", "😀", "..", "*", "?",
]  # fmt: skip


async def test_hostile_names_and_reasons_stay_data(site: Site):
    for name in NAMES:
        await site.starts(brokers=[name], topics=[name], clusters=[name], name_servers=[name], why=name)
    assert len(site.lines) == len(NAMES)
    _, listed = await site.asks("/api/maintenance")
    windows = {each["why"]: each for each in json.loads(listed)["windows"]}
    for name in NAMES:
        kinds = ("brokers", "topics", "clusters", "name_servers")
        assert [windows[name][kind] for kind in kinds] == [[name]] * 4
    status, _ = await site.asks("/api/maintenance", "tom", {**WINDOW, "brokers": ["test-*", "*"]})
    assert status == 403


async def test_a_text_is_replaced_only_in_place_of_the_one_that_was_read(site: Site):
    old = site.file.read_bytes()
    assert (await site.asks("/api/expected"))[1].encode() == old
    first, other = b"# first\n" + old, b"# other\n" + old
    assert (await site.puts(first))[0] == 428
    status, answer = await site.puts(
        first, f'If-Match: "{digest_of(old)}"', path="/api/expected?why=more%20queues"
    )
    assert (status, json.loads(answer)["after"]) == (200, digest_of(first))
    for stale in (f'"{digest_of(old)}"', "*", f'W/"{digest_of(first)}"', '""x'):
        assert (await site.puts(other, f"If-Match: {stale}"))[0] == 412
    (line,) = site.lines
    assert (line["before"], line["after"], line["why"]) == (digest_of(old), digest_of(first), "more queues")
    assert (site.file.read_bytes(), site.changes) == (first, 1)


async def test_a_text_with_an_error_is_refused_with_its_place(site: Site):
    old = site.file.read_bytes()
    status, text = await site.puts(old + b"oops = \n", f'If-Match: "{digest_of(old)}"')
    assert (status, site.file.read_bytes(), site.lines) == (400, old, [])
    assert text.startswith("expected.toml is not TOML: ")
    assert "(at line " in text


def head(method: str, path: str, kind: str, length: int, *headers: str) -> bytes:
    """A request whose body comes later."""
    own = ("Authorization: Bearer ann-key", f"Content-Type: {kind}", f"Content-Length: {length}")
    return request(path, *own, *headers, method=method)


async def test_a_large_text_is_sent_when_the_server_asks_for_it(site: Site, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(gate, "REQUEST_SECONDS", 600.0)
    port = site.server.port
    assert port is not None
    old = site.file.read_bytes()
    new = old + b"#" * (2 << 20) + b"\n"
    match = f'If-Match: "{digest_of(old)}"'
    put = ("PUT", "/api/expected", "application/toml")
    status, _, answer = await exchange(port, head(*put, UNASKED_BYTES + 1, match))
    assert (status, b"Expect: 100-continue" in answer) == (400, True)
    assert (await exchange(port, head(*put, plan_pages.TEXT_BYTES + 1, match)))[0] == 413
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(head(*put, len(new), match, "Expect: 100-continue"))
    assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 100 ")
    assert "another text" in (await site.puts(old, match))[1]
    writer.write(new)
    assert (await reader.read()).startswith(b"HTTP/1.1 200 ")
    writer.close()
    assert site.file.read_bytes() == new


@pytest.mark.parametrize(
    ("headers", "kind", "status"),
    [
        (("Origin: http://evil.example.com",), "application/json", 403),
        (("Sec-Fetch-Site: cross-site",), "application/json", 403),
        ((), "text/plain", 415),
        ((), "application/x-www-form-urlencoded", 415),
        ((), "", 415),
        (("Content-Encoding: gzip",), "application/json", 415),
        (("Origin: http://localhost",), "application/json; charset=utf-8", 200),
    ],
)
async def test_a_strangers_page_a_form_or_a_compressed_body_writes_nothing(
    site: Site, headers: tuple[str, ...], kind: str, status: int
):
    assert (await site.asks("/api/maintenance", "ann", WINDOW, *headers, kind=kind))[0] == status
    assert len(site.lines) == (status == 200)


async def test_other_methods_and_longer_bodies_are_refused(site: Site):
    assert (await site.asks("/api/maintenance", "ann", method="DELETE"))[0] == 405
    status, _ = await site.asks("/api/expected", "ann", b"x", method="POST")
    assert status == 400  # the page of GET takes no body
    assert site.server.port is not None
    long = head("POST", "/api/maintenance", "application/json", plan_pages.BODY_BYTES + 1)
    assert (await exchange(site.server.port, long))[0] == 413
    assert plan_pages.BODY_BYTES < UNASKED_BYTES < plan_pages.TEXT_BYTES
    assert site.lines == []


def test_the_body_of_every_writing_page_has_a_type_and_a_limit(tmp_path: Path):
    pages = Site(tmp_path).pages.table()
    assert pages.keys() == plan_pages.PLAN_PATHS
    writing = [page if page.method != "GET" else page.writing for page in pages.values()]
    assert all(page and page.body_bytes and page.content_type and page.refuse for page in writing)
