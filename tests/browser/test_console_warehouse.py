"""The console over a warehouse in a real browser: each view, and routes at instants as `route-at` has them."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from namekeeper.cli.warehouse import WarehouseAnswers
from tests.browser.console import console_over, opened_page
from tests.browser.test_console_page import IS_AT, QUEUES, aside, settled, until
from tests.support.pipeline.file_warehouse import FileWarehouse, file_warehouse

pytestmark = pytest.mark.timeout(300)


def no_session() -> Any:
    raise AssertionError("files need no Spark")


@pytest.fixture(scope="module")
def site(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, FileWarehouse]]:
    folder = tmp_path_factory.mktemp("console")
    warehouse = aside(file_warehouse)
    with console_over(["--warehouse", warehouse.uri], folder / "output.txt") as (_, address):
        yield address.rstrip("/"), warehouse


def test_each_view_has_what_the_warehouse_has(browser: Any, site: Any):
    address, warehouse = site
    source = aside(partial(WarehouseAnswers, warehouse.uri, no_session))
    topic = min(aside(source.topics))
    with opened_page(browser, f"{address}/") as page:
        settled(page)
        rows = page.locator("table[aria-label='Name servers'] tbody tr")
        assert [row.locator("td").first.inner_text() for row in rows.all()] == aside(source.namesrvs)
        for view in ("changes", "compare", f"topic&name={topic}", f"why&name={topic}", f"search&q={topic}"):
            page.goto(f"{address}/?view={view}")
            settled(page)
            assert page.locator("main [role=alert]").count() == 0
            assert page.locator("main").inner_text().strip()


def test_the_slider_shows_the_routes_that_route_at_finds_there(browser: Any, site: Any):
    address, warehouse = site
    source = aside(partial(WarehouseAnswers, warehouse.uri, no_session))
    topic = min(aside(source.topics))
    seen = 0
    with opened_page(browser, f"{address}/?view=topic&name={topic}") as page:
        settled(page)
        first, last = page.locator("#slider").evaluate("slider => [+slider.min, +slider.max]")
        for part in range(1, 8):
            instant = int(first + (last - first) * part / 8)
            page.locator("#slider").evaluate(
                """(slider, value) => { slider.value = value;
                slider.dispatchEvent(new Event("input", { bubbles: true })); }""",
                instant,
            )
            until(page, IS_AT, instant)
            settled(page)
            wanted = {each.namesrv: each.route for each in aside(partial(source.routes, topic, instant))}
            for section in page.locator(QUEUES).all():
                route = wanted[section.get_attribute("data-namesrv")]
                shown = [row.locator("td").all_inner_texts()[:3] for row in section.locator("tbody tr").all()]
                assert sorted(shown) == sorted(
                    [data.broker_name, str(data.read_queue_nums), str(data.write_queue_nums)]
                    for data in (route.queue_datas if route else ())
                )
                seen += len(shown)
    assert seen
