"""The page at `/` of a running name server's operators' port, with a fleet of brokers: every view, and its end."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.browser.console import opened_page
from tests.browser.test_console_page import aside, settled, until
from tests.process.running import NameServerProcess, environment, holding
from tests.support.system.processes import Process, free_port
from tests.unit.app.parts import frame

pytestmark = pytest.mark.timeout(300)

PATIENCE_MS = 60_000
BROKERS, TOPICS = 3, 6


class Running(NamedTuple):
    """A name server that runs, and its page."""

    server: NameServerProcess
    page: str
    folder: Path
    flags: dict[str, str]


@pytest.fixture
def running(browser: Any, tmp_path: Path) -> Iterator[Running]:
    flags = {
        "http_port": str(free_port()), "listen_port": str(free_port()), "remember_lookups": "true",
    }  # fmt: skip
    with NameServerProcess(tmp_path / "ns", **flags) as server:
        aside(server.started)
        command = [
            sys.executable, "-m", "namekeeper", "fleet", "-n", server.address, "--brokers", str(BROKERS),
            "--topics", str(TOPICS), "--duration", "1h",
        ]  # fmt: skip
        with Process("fleet", command, output=tmp_path / "fleet.txt"):
            address = f"http://127.0.0.1:{flags['http_port']}"
            aside(lambda: server.logged("operators' pages at"))
            yield Running(server, address, tmp_path / "ns", flags)


def topic_names(server: NameServerProcess) -> list[str]:
    return sorted(json.loads(server.ask(206).body)["topicList"])


def route_at(folder: Path, topic: str, at: str) -> dict[str, tuple[int, int]]:
    """What the command says: broker name -> read and write queues."""
    command = [sys.executable, "-m", "namekeeper", "route-at", topic, "--at", at, "--json", "--journal"]
    done = subprocess.run(
        [*command, str(folder / "journal")],
        capture_output=True, text=True, env=environment(folder), check=True,
    )  # fmt: skip
    (found,) = json.loads(done.stdout)
    route = found["route"] or {"queueDatas": []}
    return {row["brokerName"]: (row["readQueueNums"], row["writeQueueNums"]) for row in route["queueDatas"]}


def test_every_view_of_a_running_name_server(browser: Any, running: Running):
    server, address, folder, _ = running
    with opened_page(browser, f"{address}/") as page:
        brokers = page.locator("table[aria-label=Brokers] tbody tr")
        until(
            page,
            "count => document.querySelectorAll('table[aria-label=Brokers] tbody tr').length === count",
            BROKERS,
        )
        settled(page)
        brokers.filter(has_text="last heard").first.wait_for(timeout=PATIENCE_MS)
        until(page, "document.querySelector('#shown-instant').innerText === 'now'")
        broker = brokers.first.locator("td").nth(1).inner_text()
        topic = aside(lambda: topic_names(server))[0]
        before = page.evaluate("new Date().toISOString()")
        page.goto(f"{address}/?view=topic&name={topic}")
        page.locator("section.route-of table").wait_for()
        until(page, "document.querySelector('table[aria-label=\"Who has asked\"]')")

        with holding(server.address, frame(105, topic=topic)) as client:  # somebody who holds the route
            assert aside(lambda: client.recv(1))
            assert aside(lambda: server.ask(216, topic=topic)).code == 0
            changes = page.locator("table[aria-label=Changes] tbody tr")
            changes.filter(has_text="topic deleted").wait_for(timeout=PATIENCE_MS)
            page.locator("section.route-of", has_text="no route").wait_for(timeout=PATIENCE_MS)
            row = page.locator("table[aria-label='Who has asked'] tbody tr")
            row.filter(has_text="127.0.0.1:").wait_for(timeout=PATIENCE_MS)

        page.goto(f"{address}/?view=topic&name={topic}&at={before}")
        settled(page)
        wanted = aside(lambda: route_at(folder, topic, before))
        rows = page.locator("section.route-of tbody tr").all()
        shown = {
            cells[0]: (int(cells[1]), int(cells[2]))
            for cells in (row.locator("td").all_inner_texts() for row in rows)
        }
        assert shown == wanted
        assert len(wanted) == BROKERS

        for view, sign in (
            (f"?view=why&name={topic}", "the topic was deleted by 127.0.0.1:"),
            ("?view=changes&cause=delete_topic", topic),
            (f"?view=broker&name={broker}", "1 session"),
            ("?view=compare", "agree on everything"),
            (f"?view=search&q={topic}", "Topics"),
        ):
            page.goto(f"{address}/{view}")
            settled(page)
            page.locator("main", has_text=sign).wait_for(timeout=PATIENCE_MS)


def test_a_name_server_that_is_killed_is_told_and_found_again(browser: Any, running: Running):
    server, address, folder, flags = running
    context = browser.new_context()
    page = context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    page.goto(f"{address}/")
    topics = page.locator("table[aria-label=Topics] tbody tr")
    topics.first.wait_for()
    aside(server.kill)
    page.get_by_text("The console does not answer since").wait_for()
    assert topics.count() > 0
    with NameServerProcess(folder, **flags) as again:
        aside(again.started)
        page.get_by_text("The console does not answer since").wait_for(state="detached")
        page.locator("table[aria-label='Name servers'] tbody tr", has_text="runs").wait_for()
        page.wait_for_selector("figure rect.unknown", state="attached")  # the journal knows of the kill
        until(page, "document.querySelectorAll('table[aria-label=Brokers] tbody tr').length > 0")
    context.close()
