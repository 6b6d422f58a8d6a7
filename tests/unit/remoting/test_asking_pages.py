"""A page of the operators' port is asked for in one way, whoever asks."""

import asyncio
import contextlib
import gc
import gzip
import io
import socket
import ssl
import threading
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from namekeeper.remoting import asking_pages
from namekeeper.remoting.asking_pages import REFUSAL_BYTES, PageAnswer, ask_page
from tests.support.system.waiting import PATIENCE
from tests.support.wire.certificates import Certificates

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@contextlib.asynccontextmanager
async def site(handler: Handler, tls: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    """A server that answers each path with `handler`; the beginning of its URLs."""
    application = web.Application()
    application.router.add_get("/{path:.*}", handler)
    server = TestServer(application)
    await server.start_server(ssl=tls)
    try:
        yield f"{'http' if tls is None else 'https'}://127.0.0.1:{server.port}"
    finally:
        await server.close()


async def ask(
    url: str, *, token: str = "", tls: ssl.SSLContext | None = None, pause_seconds: float = PATIENCE
) -> PageAnswer:
    return await ask_page(url, token=token, tls=tls, pause_seconds=pause_seconds)


@pytest.mark.parametrize(("token", "header"), [("secret", "Bearer secret"), ("", None)])
async def test_the_token_is_sent_if_there_is_one(token, header):
    asked = []

    async def answer(request):
        asked.append((request.path_qs, request.headers.get("Authorization")))
        return web.Response(text=" found \n")

    async with site(answer) as url:
        found = await ask(f"{url}/who-knows?topic=a%26b", token=token)
    assert asked == [("/who-knows?topic=a%26b", header)]
    assert (found, found.text) == (PageAnswer(200, b" found \n"), "found")


async def test_a_refusal_is_an_answer():
    async def answer(_request):
        return web.Response(status=403, body=b"no rule \xff\n")

    async with site(answer) as url:
        found = await ask(f"{url}/metrics")
    assert (found.status, found.text) == (403, "no rule \ufffd")


async def test_a_compressed_file_stays_as_it_is():
    data = gzip.compress(b"records")

    async def answer(request):
        assert request.headers["Accept-Encoding"] == "identity"
        return web.Response(body=data, headers={"Content-Encoding": "gzip"})

    async with site(answer) as url:
        assert (await ask(f"{url}/journal/x.gz")).body == data


async def test_the_token_goes_nowhere_else(monkeypatch):
    asked = []

    async def elsewhere(request):
        asked.append(request.path)
        return web.Response()

    async with site(elsewhere) as other:

        async def answer(_request):
            raise web.HTTPFound(f"{other}/caught")

        for name in ("http_proxy", "all_proxy", "HTTP_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, other)
        async with site(answer) as url:
            assert (await ask(f"{url}/metrics", token="secret")).status == 302
    assert asked == []


async def test_no_server_is_an_error_that_says_so():
    with pytest.raises(OSError, match=r"127\.0\.0\.1:1"):
        await ask("http://127.0.0.1:1/metrics")


@pytest.mark.parametrize("sent", [b"", b"half"])
async def test_a_silence_ends_in_time(sent):
    is_over = asyncio.Event()

    async def answer(request):
        response = web.StreamResponse()
        if sent:
            await response.prepare(request)
            await response.write(sent)
        await is_over.wait()
        return response

    async with site(answer) as url:
        with pytest.raises(OSError, match=r"^no answer in time$"):
            await ask(f"{url}/watch", pause_seconds=0.05)
        is_over.set()


@pytest.mark.parametrize("first", ["an interim answer", "the head"])
async def test_one_time_limit_holds_until_the_body_begins(first: str, monkeypatch: pytest.MonkeyPatch):
    """The limit counted anew after the head, and after each `100 Continue`."""
    loop = asyncio.get_running_loop()
    real, ahead = loop.time, 0.0
    monkeypatch.setattr(loop, "time", lambda: real() + ahead)

    async def pass_time() -> None:
        nonlocal ahead
        ahead += 0.75 * PATIENCE
        for _ in range(100):  # the client sees what was sent, and that the time has passed
            await asyncio.sleep(0)

    async def answer(request):
        response = web.StreamResponse()
        await pass_time()
        if first == "the head":
            await response.prepare(request)
        else:
            request.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        await pass_time()
        with contextlib.suppress(ConnectionError):
            await response.prepare(request)
            await response.write(b"late")
        return response

    async with site(answer) as url:
        with pytest.raises(OSError, match=r"^no answer in time$"):
            await ask(f"{url}/metrics")


async def test_half_an_answer_is_none():
    async def answer(request):
        response = web.StreamResponse(headers={"Content-Length": "100"})
        await response.prepare(request)
        await response.write(b"half")
        request.transport.abort()
        return response

    async with site(answer) as url:
        with pytest.raises(OSError, match="not completed"):
            await ask(f"{url}/journal/x")


async def test_over_tls_a_certificate_is_shown_and_the_server_is_verified(tmp_path: Path):
    certificates = Certificates(tmp_path)
    serving = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=certificates.trust)
    serving.load_cert_chain(*certificates.issue("server", "127.0.0.1"))
    serving.verify_mode = ssl.CERT_REQUIRED
    tls = ssl.create_default_context(cafile=certificates.trust)
    tls.load_cert_chain(*certificates.issue("ops"))

    async def answer(request):
        subject = request.transport.get_extra_info("peercert")["subjectAltName"]
        return web.json_response(subject)

    async with site(answer, serving) as url:
        assert "ops.test" in (await ask(url, tls=tls)).text
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda *_: None)  # the handshake fails at the server, too
        with pytest.raises(OSError, match="certificate verify failed"):
            await ask(url)


@contextlib.contextmanager
def site_that_never_ends_tls(serving: ssl.SSLContext, answer: bytes) -> Iterator[str]:
    """A server that answers one request by TLS, and then neither closes the connection nor ends TLS."""
    is_over = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            accepted, _ = listener.accept()
            with serving.wrap_socket(accepted, server_side=True) as connection:
                connection.recv(65_536)
                connection.sendall(answer)
                is_over.wait(PATIENCE)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"https://127.0.0.1:{listener.getsockname()[1]}/"
        finally:
            is_over.set()
            thread.join(PATIENCE)


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n",
    ],
    ids=["last", "kept", "unfinished"],
)
def test_a_program_that_ends_after_the_answer_leaves_no_connection(tmp_path, answer):
    certificates = Certificates(tmp_path)
    serving = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    serving.load_cert_chain(*certificates.issue("server", "127.0.0.1"))
    tls = ssl.create_default_context(cafile=certificates.trust)
    gc.collect()  # what earlier tests left
    with site_that_never_ends_tls(serving, answer) as url, warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        with contextlib.suppress(OSError):
            asyncio.run(ask(url, tls=tls, pause_seconds=0.5))
        gc.collect()
    assert [str(each.message) for each in warned] == []


def endless(status: int) -> Handler:
    async def answer(request):
        response = web.StreamResponse(status=status)
        await response.prepare(request)
        with contextlib.suppress(ConnectionError):
            while True:
                await response.write(bytes(64 << 10))
        return response

    return answer


@pytest.mark.parametrize("into", [None, io.BytesIO()])
async def test_an_answer_that_never_ends_is_given_up_at_its_limit(into):
    async with site(endless(200)) as url:
        with pytest.raises(OSError, match="the answer is too large: more than 100000 bytes"):
            await ask_page(url, token="", tls=None, pause_seconds=PATIENCE, limit=100_000, into=into)
    assert into is None or len(into.getvalue()) <= 100_000


async def test_of_a_refusal_that_never_ends_the_beginning_is_kept():
    async with site(endless(403)) as url:
        found = await ask(url)
    assert (found.status, len(found.body)) == (403, REFUSAL_BYTES)


async def test_an_answer_that_trickles_is_given_up(monkeypatch):
    monkeypatch.setattr(asking_pages, "LEAST_BYTES_A_SECOND", 1 << 60)
    async with site(endless(200)) as url:
        with pytest.raises(OSError, match="the answer comes too slowly"):
            await ask_page(url, token="", tls=None, pause_seconds=0.2, limit=1 << 40, into=NoBytes())


class NoBytes(io.BytesIO):
    def write(self, data: object) -> int:
        return 0


async def test_a_body_goes_where_it_is_wanted():
    async def answer(_request):
        return web.Response(body=b"records")

    into = io.BytesIO()
    async with site(answer) as url:
        found = await ask_page(url, token="", tls=None, pause_seconds=PATIENCE, into=into)
    assert (found.body, into.getvalue()) == (b"", b"records")


@pytest.mark.parametrize(
    ("begin", "rest"),
    [
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;", b"a" * 1_024),
    ],
)
async def test_an_answer_none_of_which_comes_is_given_up_though_bytes_do(begin, rest):
    """A page that sent an endless extension of a chunk held a command for ever."""

    async def send(_reader, writer):
        writer.write(begin)
        with contextlib.suppress(ConnectionError):
            while True:
                writer.write(rest)
                await writer.drain()
        writer.close()

    async with await asyncio.start_server(send, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(OSError, match="no answer in time"):
            await ask(f"http://127.0.0.1:{port}/", pause_seconds=0.2)
