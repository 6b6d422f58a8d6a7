"""The process that runs apprise: what it prints, and that it prints nothing else."""

import json
import socket
import subprocess
import sys
from contextlib import suppress
from threading import Thread

import pytest

from namekeeper.notifications.apprise_process import send
from tests.support.server.webhook import Reply, WebhookServer

SECRET = "s3cr3t"


def order(url):
    return {"url": url, "title": "title", "body": "body", "type": "info"}


def run(url):
    done = subprocess.run(
        [sys.executable, "-m", "namekeeper.notifications.apprise_process"],
        input=json.dumps(order(url)), capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert SECRET not in done.stdout + done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    ("reply", "result"),
    [
        (Reply(204), {"is_sent": True, "status": 204, "retry_after": ""}),
        (Reply(429, {"Retry-After": "5"}), {"is_sent": False, "status": 429, "retry_after": "5"}),
    ],
)
def test_the_result_has_the_last_status(reply, result):
    with WebhookServer(lambda _: reply) as hook:
        assert run(hook.url(f"/{SECRET}").replace("http:", "json:")) == result


@pytest.mark.parametrize(
    ("url", "problem"),
    [(f"json://u:{SECRET}@127.0.0.1:1/", "connection"), (f"{SECRET}://x", "url"), ("", "url")],
)
def test_a_problem_has_a_word_and_no_address(url, problem):
    assert run(url) == {"is_sent": False, "problem": problem}


def test_an_answer_without_end_is_not_read_to_its_end():
    """It filled the memory until the time limit: half a gibibyte in 15 seconds."""
    sent = []

    def answer(listening: socket.socket) -> None:
        connection, _ = listening.accept()
        with connection, suppress(OSError):
            connection.recv(65_536)
            connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            while len(sent) < 64:
                connection.sendall(bytes(1 << 20))
                sent.append(1)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        answering = Thread(target=answer, args=(listening,))
        answering.start()
        result = run(f"json://127.0.0.1:{listening.getsockname()[1]}/")
        answering.join()
    assert result == {"is_sent": True, "status": 200, "retry_after": ""}
    assert len(sent) < 64


def test_a_receiver_that_does_not_speak_tls():
    with WebhookServer() as hook:
        assert run(hook.url("/").replace("http:", "jsons:")) == {"is_sent": False, "problem": "tls"}


def test_apprise_may_be_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "apprise", None)
    assert send(order("json://x")) == {"is_sent": False, "problem": "missing"}
