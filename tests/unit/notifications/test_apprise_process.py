"""The process that runs apprise: what it prints, and that it prints nothing else."""

import json
import subprocess
import sys

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


def test_a_receiver_that_does_not_speak_tls():
    with WebhookServer() as hook:
        assert run(hook.url("/").replace("http:", "jsons:")) == {"is_sent": False, "problem": "tls"}


def test_apprise_may_be_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "apprise", None)
    assert send(order("json://x")) == {"is_sent": False, "problem": "missing"}
