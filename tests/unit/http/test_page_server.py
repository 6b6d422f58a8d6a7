"""The guards of the operators' port and of the console: one set, so each test plays against both."""

import asyncio
import logging
import random
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from namekeeper.access.peer import Peer
from namekeeper.access.policy import AccessPolicy
from namekeeper.access.rules_file import parse_access_file
from namekeeper.http import page_server
from namekeeper.http.doors import Doors
from namekeeper.http.page_table import LOGIN_BYTES
from tests.unit.console.test_server import Site as ConsoleSite
from tests.unit.http.test_console_page import Page as OperatorsPage

OPEN = ("/healthz", "/readyz", "/rocketmq/nsaddr", "/rocketmq/nsaddr-unit?nofix=1")
CLOSED = (
    "/", "/metrics", "/status", "/watch?topic=A", "/who-knows?topic=A", "/journal", "/journal/x", "/api/overview",
    "/api/events", "/api/login", "/app.js", "/nowhere", "/healthz/", "/healthzz", "/readyz/../status",
)  # fmt: skip


async def exchange(port: int, data: bytes) -> tuple[int, dict[str, str], bytes]:
    """Send bytes; status, headers and body of the answer. Status 0: the connection was closed without one."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(data)
    try:
        answer = await reader.read()
    except ConnectionResetError:
        answer = b""
    writer.close()
    head, _, body = answer.partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
    return (int(lines[0].split()[1]) if answer else 0), headers, body


def request(
    path: str, *headers: str, method: str = "GET", host: str = "localhost", body: bytes = b""
) -> bytes:
    length = [f"Content-Length: {len(body)}"] if body else []
    lines = [f"{method} {path} HTTP/1.1", f"Host: {host}", *headers, *length, "", ""]
    return "\r\n".join(lines).encode("utf-8", "surrogateescape") + body


@pytest.fixture
async def operators() -> AsyncIterator[OperatorsPage]:
    page = OperatorsPage()
    async with page.server:
        yield page


@pytest.fixture
def console_site(tmp_path: Path) -> ConsoleSite:
    return ConsoleSite(tmp_path / "j")


@pytest.fixture(params=["operators", "console"])
async def port(request: pytest.FixtureRequest, console_site: ConsoleSite) -> AsyncIterator[int]:
    """The port of each of the two servers."""
    server = OperatorsPage().server if request.param == "operators" else console_site.server
    async with server:
        assert server.port is not None
        yield server.port


async def test_a_stream_says_that_its_connection_carries_no_other_request(port: int) -> None:
    """A client that kept the connection waited for ever for its next answer."""
    streams = 0
    for path in ("/watch?topic=A", "/api/events"):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(request(path, "Accept: text/event-stream"))
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        writer.close()
        assert b"connection: close\r\n" in head
        streams += b"text/event-stream" in head
    assert streams


@pytest.mark.parametrize("path", OPEN)
@pytest.mark.parametrize("host", ["jmenv.tbsite.net", "jmenv.tbsite.net:8080", "evil.example.com", ""])
async def test_probes_and_clients_of_the_address_server_come_by_any_name(
    operators, path: str, host: str
) -> None:
    assert (await exchange(operators.server.port, request(path, host=host)))[0] in {200, 404}


async def test_a_probe_needs_no_host_at_all(operators) -> None:
    for probe in (
        b"OPTIONS / HTTP/1.0\r\n\r\n",
        b"GET /readyz HTTP/1.0\r\n\r\n",
        b"HEAD /healthz HTTP/1.0\r\n\r\n",
    ):
        assert (await exchange(operators.server.port, probe))[0] in {200, 204}
    kubelet = request("/healthz", "User-Agent: kube-probe/1.31", "Accept: */*", host="10.1.2.3:9886")
    assert (await exchange(operators.server.port, kubelet))[0] == 200


@pytest.mark.parametrize("path", CLOSED)
async def test_every_other_path_needs_a_name_of_this_host(port: int, path: str) -> None:
    """After DNS rebinding a stranger's page read /journal, /status, /watch, /who-knows and /metrics."""
    for method in ("GET", "HEAD", "POST", "DELETE"):
        for host in ("evil.example.com", "evil.example.com:9886", "127.0.0.1.evil.example.com", ""):
            found = await exchange(port, request(path, method=method, host=host))
            assert found[0] == 421, (method, host)
        without_host = f"{method} {path} HTTP/1.0\r\n\r\n".encode()
        assert (await exchange(port, without_host))[0] == 421, method


async def test_a_scraper_comes_by_a_name_that_was_given_or_with_a_token() -> None:
    rules = parse_access_file(
        'mode = "enforce"\nkeys = "k"\n[[rule]]\nname = "ops"\nrequests = ["http"]\nusers = ["ops"]\n',
        source="a",
    ).rules

    def refuse(_client: Peer, token: str | None) -> str | None:
        return None if token == "key" else "refused"

    page = OperatorsPage(
        refuse=refuse,
        names=["Namekeeper.monitoring.svc"],
        policy=lambda: AccessPolicy(rules, {"ops": ("key",)}),
    )
    async with page.server:
        by_name = request("/metrics", "Authorization: Bearer key", host="namekeeper.monitoring.svc:9886")
        by_token = request("/metrics", "Authorization: Bearer key", host="anything.example.com")
        wrong_token = request("/metrics", "Authorization: Bearer guess", host="anything.example.com")
        cookie_only = request("/metrics", "Cookie: namekeeper_console=key", host="anything.example.com")
        named_only = request("/metrics", host="namekeeper.monitoring.svc:9886")
        asked = (by_name, by_token, wrong_token, cookie_only, named_only)
        assert [(await exchange(page.server.port, each))[0] for each in asked] == [200, 200, 421, 421, 403]


async def test_without_rules_no_token_opens_under_a_strange_name(operators) -> None:
    data = request("/metrics", "Authorization: Bearer x", host="evil.example.com")
    assert (await exchange(operators.server.port, data))[0] == 421


@pytest.fixture
def short_linger(monkeypatch: pytest.MonkeyPatch) -> None:
    """For requests that arrive in one piece: the server has nothing left to read before it closes."""
    monkeypatch.setattr(page_server, "LINGER_SECONDS", 0.01)


@pytest.mark.usefixtures("short_linger")
@pytest.mark.parametrize("headers", [("Origin: http://evil.example.com",), ("Sec-Fetch-Site: cross-site",)])
async def test_a_login_that_another_page_sends_is_refused(port: int, headers: tuple[str, ...]) -> None:
    refused = request("/api/login", *headers, method="POST", body=b"token")
    assert (await exchange(port, refused))[0] == 403
    own = request("/api/login", "Origin: http://localhost", method="POST", body=b"token")
    assert (await exchange(port, own))[0] == 204


@pytest.mark.parametrize(
    "path", ["/", "/healthz", "/readyz", "/metrics", "/watch", "/journal/x", "/api/events"]
)
async def test_balancers_may_ask_by_options_and_by_head(operators, path: str) -> None:
    for host in ("localhost", "evil.example.com"):
        status, headers, body = await exchange(
            operators.server.port, request(path, method="OPTIONS", host=host)
        )
        assert (status, headers["allow"], body) == (204, "GET, HEAD, OPTIONS", b"")
        assert not [name for name in headers if name.startswith("access-control")]
    if path != "/journal/x":
        status, _, body = await exchange(operators.server.port, request(path, method="HEAD"))
        assert (status, body) == (200, b"")


async def test_options_of_a_server_or_of_a_login(port: int) -> None:
    assert (await exchange(port, request("*", method="OPTIONS")))[0] == 204
    status, headers, _ = await exchange(port, request("/api/login", method="OPTIONS"))
    assert (status, headers["allow"]) == (204, "OPTIONS, POST")


RAW = {
    "a method that is none": b"G\x00T / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "a method in small letters": b"get /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "no version": b"GET /\r\n\r\n",
    "another version": b"GET / HTTP/9.9\r\nHost: localhost\r\n\r\n",
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
    "a frame": b"\x00\x00\x00\x2d\x01\x00\x00\x29 garbage\r\n\r\n",
    "a line without a colon": b"GET / HTTP/1.1\r\nHost: localhost\r\nnonsense\r\n\r\n",
    "a header without a name": b"GET / HTTP/1.1\r\nHost: localhost\r\n: x\r\n\r\n",
    "a header with a zero": b"GET / HTTP/1.1\r\nHost: localhost\r\nX: \x00\r\n\r\n",
    "a folded header": b"GET / HTTP/1.1\r\nHost: localhost\r\n more\r\n\r\n",
    "two hosts": b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil\r\n\r\n",
    "a long header": b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 20_000 + b"\r\n\r\n",
    "a long path": b"GET /" + b"x" * 20_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "many headers": b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"X: y\r\n" * 500 + b"\r\n",
    "a proxy's address": b"GET http://evil.example.com/metrics HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "a tunnel": b"CONNECT localhost:1 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "no slash": b"GET metrics HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "a star": b"GET * HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "a negative length": b"POST /api/login HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\nabc",
    "a length that is none": b"POST /api/login HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\nabc",
    "a huge length": b"POST /api/login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999999999999\r\n\r\n",
    "two lengths": b"POST /api/login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
    "length and chunks": b"POST /api/login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "chunks that are none": b"POST /api/login HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    "a negative chunk": b"POST /api/login HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n",
    "another coding": b"POST /api/login HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip\r\n\r\nxx",
    "an expectation": request("/healthz", "Expect: the-worst"),
    "an expectation of a login": request("/api/login", "Expect: 200-ok", method="POST", body=b"x"),
    "a login of 3,000 bytes": request("/api/login", method="POST", body=b"x" * 3_000),
    "a login of 3,000 bytes in chunks": request("/api/login", "Transfer-Encoding: chunked", method="POST")
    + b"bb8\r\n" + b"x" * 3_000 + b"\r\n0\r\n\r\n",
    "a login that is no UTF-8": request("/api/login", method="POST", body=b"\xff\xfe\x80"),
    "an unknown charset": request("/api/login", "Content-Type: text/plain; charset=klingon", method="POST", body=b"x"),
    "a charset that is a codec": request("/api/login", "Content-Type: text/plain; charset=zlib", method="POST", body=b"x"),
    "a charset without end": request("/api/login", 'Content-Type: text/plain; charset="', method="POST", body=b"\xff"),
    "control characters in a login": request("/api/login", method="POST", body=b"a\r\nSet-Cookie: x=y\x00"),
    "an unknown coding of the body": request("/api/login", "Content-Encoding: br", method="POST", body=b"x"),
    "two codings of the body": request("/api/login", "Content-Encoding: identity, gzip", method="POST", body=b"x"),
    "two codings in two lines": request(
        "/api/login", "Content-Encoding: identity", "Content-Encoding: gzip", method="POST", body=b"x"
    ),
    "two expectations in two lines": request(
        "/api/login", "Expect: 100-continue", "Expect: 200-ok", method="POST", body=b"x"
    ),
    "a body for a page": request("/metrics", body=b"x" * 100),
    "a host that is no UTF-8": b"GET /metrics HTTP/1.1\r\nHost: \xff\xfe\r\n\r\n",
}  # fmt: skip


async def test_a_long_login_gets_4xx_and_no_traceback(
    port: int, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    status, _, _ = await exchange(port, request("/api/login", method="POST", body=b"x" * 60_000))
    assert 400 <= status < 500
    assert no_bug_is_logged(caplog, capfd)


@pytest.mark.usefixtures("short_linger")
async def test_what_is_no_request_gets_4xx_and_no_traceback(
    port: int, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    for name, data in RAW.items():
        status, _, _ = await exchange(port, data)
        assert 400 <= status < 500, name
        assert no_bug_is_logged(caplog, capfd), name


HEADERS = (
    "Authorization: Bearer \xff\xfe", "Authorization: Bearer", "Authorization: " + "x" * 8_000, "Cookie: \x01=\x02",
    "Cookie: namekeeper_console=\udcff", 'Cookie: namekeeper_console="\\999', "Cookie: ;;;=;=", "Accept: \udcff\udcfe",
    "Accept: " + ";" * 4_000, "Accept: text/plain;q=nan", "Accept: application/openmetrics-text;q=1e999",
    "Last-Event-ID: \udcff", "Last-Event-ID: 99999999999999999999-1", "Range: bytes=-1-5", "Range: bytes=9-1",
    'If-None-Match: "', "If-Modified-Since: Thu, 99 Foo 99999 99:99:99 GMT", "Upgrade: websocket",
    "Connection: Upgrade, HTTP2-Settings", "Content-Length: 0", "Content-Type: \udcff", "X-Forwarded-For: \udcff",
    "Expect: 100-continue", 'Forwarded: for="', "Sec-Fetch-Site: \udcff", "Origin: \udcff",
)  # fmt: skip
VALUES = (
    "", "0", "-1", "-9223372036854775809", "9" * 19, "9" * 30, "9" * 4_000, "1e309", "nan", "inf", "-inf", "1.5",
    "%00", "%ff%fe", "%", "%zz", "%ud83d", "%ED%A0%80", "%F0%9F%92%A9", "a" * 3_000, "now", "0000-00-00",
    "9999-12-31T23:59:59Z", "10000-01-01", "2026-02-30", "2026-01-01T25:00:00", "0001-01-01T00:00:00+14:00",
    "9999-12-31T23:59:59-14:00", "99999999999999 days ago", "-5 minutes ago", "%D9%A3", "%C2%B2", "[", "'", "../../x",
    "%0d%0aX: y", "true", "null", "{}",
)  # fmt: skip
VIEWS = (
    "overview", "troubles", "brokers", "topics", "changes", "beside", "topic", "broker", "compare", "search", "why",
    "who_knows",
)  # fmt: skip
PARAMETERS = (
    "at", "from", "to", "a_at", "b_at", "limit", "offset", "name", "text", "only", "q", "a", "b", "topic", "cause",
)  # fmt: skip
PAGES = (
    "/metrics",
    "/status",
    "/readyz",
    "/who-knows",
    "/journal",
    "/journal/",
    "/rocketmq/nsaddr",
    "/",
    "/app.js",
)


async def test_odd_headers_and_values_are_no_bug_of_the_operators_port(
    operators, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    port = operators.server.port
    for header in HEADERS:
        for path in ("/metrics", "/watch?topic=A&seconds=0", "/api/login"):
            status, _, _ = await exchange(port, request(path, header, "Accept: application/json"))
            assert status < 500, (path, header)
    for value in VALUES:
        for path in PAGES:
            assert (await exchange(port, request(f"{path}{value.replace(' ', '%20')}")))[0] < 500, (
                path,
                value,
            )
        for query in ("topic", "strict", "after", "seconds"):
            path = f"/watch?topic=A&seconds=0&{query}={value.replace(' ', '%20')}"
            assert (await exchange(port, request(path)))[0] < 500, path
            path = f"/readyz?{query}={value.replace(' ', '%20')}"
            assert (await exchange(port, request(path)))[0] < 500, path
    assert no_bug_is_logged(caplog, capfd)


@pytest.mark.parametrize("values", [3, pytest.param(len(VALUES), marks=pytest.mark.long)])
async def test_odd_headers_and_values_are_no_bug_of_the_console(
    console_site: ConsoleSite,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
    values: int,
) -> None:
    """Of each parameter, a view takes some of the values; of the instant and of the limit more."""
    async with console_site.server:
        await console_site.read()
        port = console_site.server.port
        for header in HEADERS:
            assert (await exchange(port, request("/api/overview", header)))[0] < 500, header
        draw = random.Random(7)
        for view in VIEWS:
            for parameter in PARAMETERS:
                count = 3 * values if parameter in {"at", "limit"} else values
                for value in draw.sample(VALUES, min(count, len(VALUES))):
                    path = f"/api/{view}?name=T&{parameter}={value.replace(' ', '%20')}"
                    status, _, body = await exchange(port, request(path))
                    assert status < 500, (path, body)
    assert no_bug_is_logged(caplog, capfd)


def no_bug_is_logged(caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]) -> bool:
    out, err = capfd.readouterr()
    loud = [each for each in caplog.records if each.levelno >= logging.WARNING or each.exc_info]
    return not loud and "Traceback" not in out + err


async def test_a_login_as_long_as_it_may_be_is_read(port: int) -> None:
    longest = request("/api/login", method="POST", body=b"x" * LOGIN_BYTES)
    assert (await exchange(port, longest))[0] == 204
    status, _, rest = await exchange(port, longest.replace(b"Host", b"Expect: 100-continue\r\nHost", 1))
    assert (status, rest.split()[1]) == (100, b"204")


async def test_a_client_of_http_1_0_expects_no_interim_answer(port: int) -> None:
    login = request("/api/login", "Expect: 100-continue", method="POST", body=b"x")
    assert (await exchange(port, login.replace(b"HTTP/1.1", b"HTTP/1.0", 1)))[0] == 204


async def test_the_console_asks_for_the_token_of_its_doors(console_site: ConsoleSite) -> None:
    server = console_site.server_with(Doors("127.0.0.1", token="secret"))
    async with server:
        wrong = request("/api/login", method="POST", body=b"secre")
        assert (await exchange(server.port, wrong))[0] == 401
