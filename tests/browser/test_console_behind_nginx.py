"""The page below a path of nginx, which has its default settings: its data, its events and its links."""

from pathlib import Path
from typing import Any

import pytest

from tests.browser.console import opened_page
from tests.browser.test_console_live import registration
from tests.browser.test_console_page import aside, settled
from tests.process.running import NameServerProcess, holding
from tests.support.system.processes import free_port
from tests.support.system.proxies import needs_nginx, nginx

pytestmark = pytest.mark.timeout(300)

PATIENCE_MS = 60_000
PREFIX = "/ops/rocketmq/"


@needs_nginx
def test_the_page_below_a_path_of_nginx_follows_events_and_stays_below_it(browser: Any, tmp_path: Path):
    http_port = free_port()
    with NameServerProcess(tmp_path / "ns", http_port=str(http_port)) as server:
        aside(lambda: server.started().logged("operators' pages at"))
        with (
            nginx(tmp_path / "nginx", http_port, PREFIX) as origin,
            holding(server.address, registration("orders")) as broker,
            opened_page(browser, f"{origin}{PREFIX}") as page,
        ):
            asked: list[tuple[str, str]] = []
            page.on("request", lambda request: asked.append((request.resource_type, request.url)))
            page.reload()
            topics = page.locator("table[aria-label=Topics] tbody tr")
            topics.filter(has_text="orders").wait_for(timeout=PATIENCE_MS)
            settled(page)
            # The page asks for data again when an event arrives: without the stream this row never appears.
            broker.sendall(registration("orders", "fresh"))
            topics.filter(has_text="fresh").wait_for(timeout=PATIENCE_MS)
            assert f"{origin}{PREFIX}api/events" in [url for kind, url in asked if kind == "eventsource"]

            page.get_by_role("link", name="What happened").click()
            page.locator("table[aria-label=Changes] tbody tr").first.wait_for(timeout=PATIENCE_MS)
            assert page.url.startswith(f"{origin}{PREFIX}?view=changes")
            page.reload()
            page.locator("table[aria-label=Changes] tbody tr").first.wait_for(timeout=PATIENCE_MS)
            links = page.eval_on_selector_all("a[href]", "found => found.map(each => each.href)")
            assert links
            assert [link for link in links if not link.startswith(f"{origin}{PREFIX}")] == []
            assert [url for _, url in asked if not url.startswith(f"{origin}{PREFIX}")] == []
