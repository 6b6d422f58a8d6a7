"""The console over running name servers: processes that are asked, a broker that comes, one of them killed."""

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from namekeeper.broker.payload import register_broker_request
from namekeeper.messages.register_broker_body import RegisterBrokerBody
from namekeeper.model.topic import TopicConfig
from namekeeper.model.version import DataVersion
from namekeeper.wire.codec import encode_command
from tests.browser.console import opened_page
from tests.browser.test_console_page import aside, settled
from tests.process.running import NameServerProcess, holding
from tests.support.server.builders import header
from tests.support.system.processes import Process, eventually

pytestmark = pytest.mark.timeout(300)

PATIENCE_MS = 60_000
HOUR_MS = 3_600_000
"""The broker sends no heartbeats, and is to stay however slow the machine is."""


def registration(*topics: str) -> bytes:
    version = DataVersion(counter=len(topics), timestamp=1_700_000_000_000 + len(topics))
    body = RegisterBrokerBody(version, tuple(TopicConfig(topic) for topic in topics))
    return encode_command(register_broker_request(header(heartbeat_timeout_ms=HOUR_MS), body))


@pytest.fixture
def name_servers(browser: Any, tmp_path: Path) -> Iterator[list[NameServerProcess]]:
    with contextlib.ExitStack() as stack:
        started = [
            stack.enter_context(NameServerProcess(tmp_path / name, journal_enable="false"))
            for name in ("one", "two")
        ]
        for each in started:
            aside(each.started)
        yield started


@pytest.fixture
def console(name_servers: list[NameServerProcess], tmp_path: Path) -> Iterator[str]:
    addrs = ";".join(each.address for each in name_servers)
    command = [sys.executable, "-m", "namekeeper", "console", "--namesrv", addrs, "--port", "0"]
    with Process("console", command, output=tmp_path / "output.txt") as process:
        yield process.await_line(r"http://\S+").group(0)


def test_running_name_servers_are_seen_beside_each_other(
    browser: Any, name_servers: list[NameServerProcess], console: str
):
    one, two = name_servers
    with (
        opened_page(browser, console) as page,
        holding(one.address, registration("orders", "other")) as broker,
    ):
        topics = page.locator("table[aria-label=Topics] tbody tr")
        topics.filter(has_text="orders").wait_for(timeout=PATIENCE_MS)
        orders = topics.filter(has_text="orders")
        eventually(
            lambda: "they have disagreed since" in orders.inner_text(),
            within=PATIENCE_MS // 1_000,
            what="a topic at one of two name servers",
        )
        with holding(two.address, registration("orders", "other")):
            page.wait_for_selector(".differs", state="detached", timeout=PATIENCE_MS)
            broker.sendall(registration("orders", "other", "fresh"))
            topics.filter(has_text="fresh").wait_for(timeout=PATIENCE_MS)
            page.get_by_role("link", name="What happened").click()
            page.locator("table[aria-label=Changes] td.cause", has_text="seen in an answer").first.wait_for(
                timeout=PATIENCE_MS
            )


def test_a_name_server_that_is_gone_is_told_and_its_state_unknown(
    browser: Any, name_servers: list[NameServerProcess], console: str
):
    one, two = name_servers
    with opened_page(browser, console) as page:
        settled(page)
        row = page.locator("table[aria-label='Name servers'] tbody tr").filter(has_text=two.address)
        row.get_by_text("runs").wait_for(timeout=PATIENCE_MS)
        aside(two.kill)
        row.locator(".wrong", has_text=two.address).wait_for(timeout=PATIENCE_MS)
        page.wait_for_selector("figure rect.unknown", state="attached", timeout=PATIENCE_MS)
        other = page.locator("table[aria-label='Name servers'] tbody tr").filter(has_text=one.address)
        assert "runs" in other.inner_text()
