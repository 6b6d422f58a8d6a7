"""The console beside: started when it is asked for, ended when nobody asks."""

import asyncio
import sys

import pytest

from namekeeper.http import console_process
from namekeeper.http.console_process import ConsoleProcess, NoConsoleError
from tests.support.system.waiting import eventually

CONSOLE = """
import http.server, json, os, sys, threading
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        events = self.path.startswith("/api/events")
        body = json.dumps({"path": self.path, "pid": os.getpid(), "token": self.headers.get("Authorization")})
        self.send_response(400 if "wrong" in self.path else 200)
        self.send_header("Content-Type", "text/event-stream" if events else "application/json")
        self.end_headers()
        self.wfile.write(b"data: 1\\n\\ndata: 2\\n\\n" if events else body.encode())
    def log_message(self, *_): pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(f"http://127.0.0.1:{server.server_port}/#token={os.environ['NAMEKEEPER_CONSOLE_TOKEN']}", flush=True)
sys.stdin.read()
"""
"""Says what it was asked, and ends at the end of its input, as the console does."""
FAKE = (sys.executable, "-c", CONSOLE)


async def test_it_is_ended_when_nobody_has_asked_for_a_while(monkeypatch):
    monkeypatch.setattr(console_process, "IDLE_SECONDS", 0.05)
    process = ConsoleProcess(lambda: FAKE)
    async with process.used() as one:
        async with process.used() as other:
            assert one == other
        await asyncio.sleep(0.1)  # longer than it may be idle: it is not
        assert process.is_running
    await eventually(lambda: not process.is_running)


async def test_its_address_comes_with_a_token_that_nobody_knows():
    process = ConsoleProcess(lambda: FAKE)
    async with process.used() as console:
        assert console.url.startswith("http://127.0.0.1:")
        assert len(console.token) > 20
    process.stop()
    process.stop()
    assert not process.is_running


async def test_requests_that_leave_while_it_starts_share_one_process():
    """Each start that was cancelled left its process behind, and the next request made another one."""
    started = []
    process = ConsoleProcess(lambda: (started.append(None), FAKE)[1])

    async def ask() -> int:
        async with process.used():
            assert process._child is not None
            return process._child.pid

    for _ in range(5):
        asking = asyncio.create_task(ask())
        await asyncio.sleep(0)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
    assert len(set(await asyncio.gather(ask(), ask()))) == 1
    assert len(started) == 1
    process.stop()


async def test_one_that_starts_while_the_server_stops_is_ended():
    process = ConsoleProcess(lambda: FAKE)
    start = process._start_once()
    process.stop()
    await start
    await eventually(lambda: not process.is_running)


@pytest.mark.parametrize("words", [("/nowhere/at/all",), (sys.executable, "-c", "pass")])
async def test_one_that_does_not_start_is_told(words):
    with pytest.raises(NoConsoleError, match="did not start"):
        async with ConsoleProcess(lambda: words).used():
            pass


async def test_one_that_says_nothing_is_ended(monkeypatch):
    monkeypatch.setattr(console_process, "START_SECONDS", 0.2)
    with pytest.raises(NoConsoleError):
        async with ConsoleProcess(lambda: (sys.executable, "-c", "input()")).used():
            pass
