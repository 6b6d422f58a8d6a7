"""The console in a real browser: each view, the slider, keys, names of strangers, a phone."""

import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pytest

from namekeeper.answers.source import JournalAnswers
from tests.browser.console import STRANGE, console_of, incident, opened_page
from tests.browser.test_report_page import CUT, hindrances
from tests.support.journal.folder import write_journal
from tests.support.system.processes import eventually, free_port
from tests.unit.answers.story import Story

pytestmark = pytest.mark.timeout(300)

T = TypeVar("T")
IS_AT = "at => new URLSearchParams(location.search).get('at') === new Date(at).toISOString()"
ASKED = "performance.getEntriesByType('resource').some((each) => each.name.includes('/api/topics'))"
QUEUES = "main section.route-of"
INCIDENT = "/?view=incident&id=none&began=2023-11-14T22:13:20.000Z"
VIEWS = (
    "/", INCIDENT, "/?view=drift", "/?view=changes", "/?view=audit", "/?view=why&name=payments", "/?view=compare", "/?view=topic&name=T",
    "/?view=broker&name=broker-b", "/?view=search&q=b",
)  # fmt: skip


@pytest.fixture(scope="module")
def site(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path, Any]]:
    folder = tmp_path_factory.mktemp("console")
    stories = incident(folder / "journals")
    with console_of(folder / "journals", folder / "output.txt") as (_, address):
        yield address.rstrip("/"), folder / "journals", stories


def until(page: Any, fact: str, arg: Any = None) -> None:
    """Wait until a script says that something is so; the page itself may not run what is not its own."""
    eventually(lambda: page.evaluate(fact, arg), within=60, what=fact)


def settled(page: Any) -> None:
    """Wait until what is shown is what was asked for."""
    page.wait_for_selector("main[data-view]")
    until(page, "!document.querySelector('[aria-busy=true]')")


def aside(work: Callable[[], T]) -> T:
    """Read files in another thread: in this one runs the loop of the browser."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result()


def test_what_is_there_now(browser: Any, site: Any):
    with opened_page(browser, f"{site[0]}/") as page:
        settled(page)
        rows = page.locator("table[aria-label='Name servers'] tbody tr")
        assert [row.locator("td").first.inner_text() for row in rows.all()] == ["ns-1_9876", "ns-2_9876"]
        topics = page.locator("table[aria-label=Topics] tbody tr")
        payments = topics.filter(has_text="payments")
        assert "they have disagreed since" in payments.inner_text()
        assert "no queue at ns-2_9876: why?" in payments.inner_text()
        payments.get_by_text("why?").click()
        page.wait_for_selector("section.explanation")
        assert "view=why" in page.url


def test_the_number_of_disagreements_leads_to_them(browser: Any, site: Any):
    with opened_page(browser, f"{site[0]}/") as page:
        settled(page)
        page.locator(".headlines a", has_text="name servers disagree about 1 topic").click()
        page.wait_for_selector("table[aria-label=Verdicts] tbody tr")
        assert "view=drift" in page.url
        assert "payments" in page.locator("table[aria-label=Verdicts]").inner_text()


def test_it_begins_with_what_is_wrong_now_and_was_lately(browser: Any, site: Any):
    with opened_page(browser, f"{site[0]}/") as page:
        settled(page)
        assert [text.split(" ")[0:2] for text in page.locator("main h2:not(.unseen)").all_inner_texts()][:3] == [
            ["Wrong", "now"], ["Wrong", "lately"], ["Name", "servers"],
        ]  # fmt: skip
        now = page.locator("table[aria-label='Wrong now'] tbody tr")
        assert "broker-b away" in now.filter(has_text="away").inner_text()
        lately = page.locator("table[aria-label='Wrong lately'] tbody tr")
        wiped = lately.filter(has_text="wiped")
        assert "write permission wiped by peer:99" in wiped.inner_text()
        wiped.get_by_text("why").click()
        page.wait_for_selector("section.explanation")
        assert "view=why" in page.url
    with opened_page(browser, f"{site[0]}/?at=2023-11-14T22:20:00.000Z") as page:
        settled(page)
        assert page.locator("#incidents").count() == 0


def test_the_link_of_a_message_leads_to_its_incident(browser: Any, site: Any):
    with opened_page(browser, f"{site[0]}/") as page:
        settled(page)
        page.locator("table[aria-label='Wrong now'] tbody tr").filter(has_text="broker-b away").locator(
            "a"
        ).first.click()
        settled(page)
        assert "view=incident&id=" in page.url
        (row,) = page.locator("table[aria-label=Incident] tbody tr").all()
        assert "broker-b away" in row.inner_text()
        page.get_by_text("What happened around its start").click()
        settled(page)
        assert "view=changes" in page.url
    with opened_page(browser, f"{site[0]}{INCIDENT}") as page:
        settled(page)
        assert "No incident of that time is known here" in page.locator("main").inner_text()


def test_clusters_with_equal_names_are_shown_side_by_side(browser: Any, tmp_path: Path):
    for story, addr in ((Story("east-1"), "10.1.0.1:10911"), (Story("west-1"), "10.2.0.1:10911")):
        story.registers("broker-a", addr, ("orders", story.journal.namesrv))
        story.folder(tmp_path / "journals" / story.journal.namesrv)
    with (
        console_of(tmp_path / "journals", tmp_path / "output.txt") as (_, address),
        opened_page(browser, f"{address.rstrip('/')}/") as page,
    ):
        settled(page)
        assert page.locator(".headlines").inner_text().split("\n")[-1] == "each topic has a queue to write to"
        servers = page.locator("table[aria-label='Name servers'] tbody tr")
        assert [row.locator("td").last.inner_text() for row in servers.all()] == ["none: another cluster"] * 2
        brokers = page.locator("table[aria-label=Brokers] tbody tr")
        assert [row.inner_text().count("another cluster") for row in brokers.all()] == [1, 1]
        topics = page.locator("table[aria-label=Topics] tbody tr").filter(has_text="orders")
        assert ["at east-1" in row.inner_text() for row in topics.all()] == [True, False]
        page.locator("a", has_text="Compare two of them").click()
        until(page, "document.querySelector('[name=b]')?.value === 'east-1'")


def test_drift_has_verdicts_that_lead_to_their_brokers_and_topics(browser: Any, site: Any):
    with opened_page(browser, f"{site[0]}/?view=drift") as page:
        settled(page)
        verdicts = page.locator("table[aria-label=Verdicts] tbody tr")
        assert page.locator("#drift .count").inner_text().strip() == str(verdicts.count())
        row = verdicts.filter(has_text="topic payments is missing on broker-a at ns-2_9876")
        assert "ns-2_9876: " in row.locator(".evidence").inner_text()
        row.get_by_text("why?").click()
        page.wait_for_selector("section.explanation")
        assert "view=why&name=payments" in page.url
        page.go_back()
        settled(page)
        page.locator("#slider").fill(str(site[2][0].journal.boots[0] + 400_000))
        until(page, "document.querySelector('main').innerText.includes('The name servers agree.')")


def test_what_to_look_at_first_leads_to_its_rows(browser: Any, site: Any):
    with opened_page(browser, f"{site[0]}/") as page:
        settled(page)
        page.locator(".headlines a", has_text="no queue to write to").click()
        rows = "[...document.querySelectorAll('table[aria-label=Topics] tbody tr')]"
        until(page, f"{rows}.every((row) => row.innerText.includes('why?'))")
        assert "tonly=unwritable" in page.url
        assert page.evaluate(f"{rows}.length") == int(page.locator("#topics .count").inner_text())


def test_the_life_of_a_broker_has_its_absences(browser: Any, site: Any):
    with opened_page(browser, f"{site[0]}/?view=broker&name=broker-b") as page:
        settled(page)
        assert "went once, away for 5 min" in page.locator("ul[aria-label=Absences]").inner_text()
        assert page.locator("table[aria-label=Sessions] tbody tr", has_text="5 min").count() == 1


def test_of_a_misspelt_name_it_says_what_is_near(browser: Any, site: Any):
    for name, text in (
        ("paymets", "There is no record of a topic paymets: did you mean payments?"),
        ("quite-else", "There is no record of a topic quite-else. Is it spelled as the brokers spell it?"),
    ):
        with opened_page(browser, f"{site[0]}/?view=topic&name={name}") as page:
            page.get_by_text(text, exact=True).wait_for()
            assert page.locator("p.banner").inner_text() == text
            assert page.locator("table").count() == 0  # no change of a name server is one of this topic


def test_of_an_instant_that_nobody_knows_its_time_is_shown(browser: Any, site: Any):
    with opened_page(browser, f"{site[0]}/?at=2001-01-01T00:00:00.000Z", timezone_id="UTC") as page:
        settled(page)
        assert page.locator("#shown-instant").inner_text() == "2001-01-01 00:00:00.000 UTC"
        assert page.locator("#instant").input_value() == "2001-01-01T00:00"


LOST_ONCE = """
window.EventSource = class { close() {} };
const answered = window.fetch;
let isLost = false;
window.fetch = (address, ...more) => {
    if (isLost || !address.startsWith("api/broker?")) return answered(address, ...more);
    isLost = true;
    return Promise.reject(new TypeError("the connection broke"));
};
"""
"""A page that is told of no change, and whose first question about a broker gets no answer."""


def test_a_question_without_an_answer_is_asked_again(browser: Any, site: Any):
    """Of a journal that nobody writes nothing else would ever change what the page shows."""
    with opened_page(browser, f"{site[0]}/") as page:
        page.add_init_script(LOST_ONCE)
        page.goto(f"{site[0]}/?view=broker&name=broker-a")
        page.locator(".banner", has_text="does not answer").wait_for()
        page.locator("ul[aria-label=Absences]").wait_for()
        assert page.locator(".banner", has_text="does not answer").count() == 0


def test_a_journal_that_is_still_being_read_is_no_trouble(browser: Any, site: Any):
    def still_reads(route: Any) -> None:
        answer = route.fetch()
        value = answer.json()
        first, other = value["namesrvs"]
        first.update(progress=[0, 1], knowledge="not known yet")
        other.update(progress=[1_200, 3_000])
        route.fulfill(response=answer, json=value)

    with opened_page(browser, f"{site[0]}/") as page:
        page.route("**/api/overview*", still_reads)
        page.goto(f"{site[0]}/")
        for text in (
            "ns-1_9876: its journal is being read, 0 of 1 part",
            "ns-2_9876 is shown as it was last: its journal is being read, 1,200 of 3,000 parts",
        ):
            page.locator(".headlines li.notice").get_by_text(text, exact=True).wait_for()
        until(page, "document.querySelector('.headlines').innerText.includes('no queue to write to')")
        page.unroute_all(behavior="ignoreErrors")


def test_rows_are_narrowed_by_a_part_of_their_names(browser: Any, site: Any):
    with opened_page(browser, f"{site[0]}/") as page:
        settled(page)
        page.get_by_label("Text in the names of topics").fill("pay")
        until(page, "document.querySelectorAll('table[aria-label=Topics] tbody tr').length === 1")
        assert "ttext=pay" in page.url
        assert page.locator("table[aria-label=Brokers] tbody tr").count() > 0


def test_the_slider_shows_the_route_as_it_was(browser: Any, site: Any):
    """What it shows at an instant is what `route-at` says of it; an instant has an address."""
    address, folder, stories = site
    source = aside(lambda: JournalAnswers([str(folder)]))
    first, last = stories[1].journal.boots[0], stories[1].now
    with opened_page(browser, f"{address}/?view=topic&name=T") as page:
        settled(page)
        for instant in (first + 30_000, first + 650_000, first + 800_000, first + 1_200_000, last - 1_000):
            page.locator("#slider").evaluate(
                """(slider, value) => { slider.value = value;
                slider.dispatchEvent(new Event("input", { bubbles: true })); }""",
                instant,
            )
            routes = aside(partial(source.routes, "T", instant))
            wanted = {each.namesrv: each for each in routes}
            until(page, IS_AT, instant)
            settled(page)
            for section in page.locator(QUEUES).all():
                route = wanted[section.get_attribute("data-namesrv")].route
                shown = [row.locator("td").all_inner_texts()[:3] for row in section.locator("tbody tr").all()]
                assert sorted(shown) == sorted(
                    [data.broker_name, str(data.read_queue_nums), str(data.write_queue_nums)]
                    for data in (route.queue_datas if route else ())
                )
        with opened_page(browser, page.url) as other:
            settled(other)
            assert other.locator("#shown-instant").inner_text() == page.locator("#shown-instant").inner_text()
            assert other.locator(QUEUES).all_inner_texts() == page.locator(QUEUES).all_inner_texts()


def test_an_unknown_instant_is_shown_as_such(browser: Any, site: Any):
    address, folder, _ = site
    evidence = aside(lambda: JournalAnswers([str(folder)]).evidence("T", None))
    (lost, *_) = [period for period in evidence[0].periods if period.state == "unknown"]
    with opened_page(browser, f"{address}/?at={lost.valid_from}") as page:
        settled(page)
        row = page.locator("table[aria-label='Name servers'] tbody tr").first
        assert "unknown, because records were lost" in row.inner_text()
        assert page.locator("figure rect.unknown").count() > 0


def test_changes_appear_within_a_second_and_are_filtered(browser: Any, tmp_path: Path):
    stories = incident(tmp_path / "journals")
    with (
        console_of(tmp_path / "journals", tmp_path / "output.txt") as (_, address),
        opened_page(browser, f"{address}?view=changes") as page,
    ):
        settled(page)
        rows = page.locator("table[aria-label=Changes] tbody tr")
        before = rows.count()
        stories[0].deleted("T")
        aside(lambda: write_journal(tmp_path / "journals" / "ns-1_9876", stories[0].journal.lines()))
        until(page, "count => document.querySelectorAll('main tbody tr').length > count", before)
        rows.first.filter(has_text="topic deleted").wait_for()
        page.select_option("select[name=cause]", "wipe_write_perm")
        until(page, "document.querySelectorAll('main tbody tr').length === 1")
        with opened_page(browser, page.url) as other:
            settled(other)
            assert other.locator("main tbody").inner_text() == page.locator("main tbody").inner_text()
            assert other.locator("select[name=cause]").input_value() == "wipe_write_perm"
        assert page.get_by_text("those of the name servers themselves").count() == 0
        page.fill("input[name=topic]", "no such")
        page.get_by_text("those of the name servers themselves").wait_for()
        page.get_by_text("No change fits").wait_for()


def test_why_says_what_the_command_says(browser: Any, site: Any):
    with opened_page(browser, f"{site[0]}/?view=why&name=payments") as page:
        page.wait_for_selector("section.explanation")
        settled(page)
        other = page.locator("section.explanation[data-namesrv=ns-2_9876]")
        assert "registered without it" in other.inner_text() or "deleted" in other.inner_text()
        page.get_by_role("link", name="its requests").first.click()
        page.locator("main[data-view=audit]").wait_for()
        settled(page)
        page.get_by_text("No request in this time fits").wait_for()


def test_two_are_compared_row_by_row(browser: Any, site: Any):
    address, _, stories = site
    instant = stories[1].journal.boots[0] + 30_000
    with opened_page(browser, f"{address}/?view=compare&a=ns-2_9876&b=ns-2_9876&a_at={instant}") as page:
        page.wait_for_selector("table[aria-label=Differences]")
        assert "payments" in page.locator("table[aria-label=Differences]").inner_text()
        page.select_option("select[name=a]", "ns-1_9876")
        until(page, "location.search.includes('a=ns-1_9876')")
        settled(page)
        with opened_page(browser, page.url) as other:
            settled(other)
            assert other.locator("main").inner_text() == page.locator("main").inner_text()


def test_search_finds_and_leads_to_what_it_finds(browser: Any, site: Any):
    with opened_page(browser, f"{site[0]}/") as page:
        settled(page)
        page.keyboard.press("/")
        page.keyboard.type("broker-b")
        page.locator(".found a", has_text="broker-b").first.click()
        page.wait_for_selector("table[aria-label=Sessions]")
        assert "name=broker-b" in page.url
        assert page.locator("table[aria-label=Sessions] tbody tr").count() >= 2


def test_keys_go_from_change_to_change(browser: Any, site: Any):
    with opened_page(browser, f"{site[0]}/") as page:
        settled(page)
        page.locator("#slider").focus()
        page.keyboard.press(",")
        page.wait_for_selector("#to-now")
        first = page.locator("#shown-instant").inner_text()
        assert first != "the last that is known"
        page.keyboard.press(",")
        until(page, "text => document.getElementById('shown-instant').innerText !== text", first)
        page.keyboard.press("n")
        until(page, "document.getElementById('shown-instant').innerText === 'the last that is known'")
        page.go_back()
        page.wait_for_selector("#to-now")


@pytest.mark.parametrize("width", [1_400, 400])
def test_names_of_strangers_are_text_and_fit(browser: Any, tmp_path: Path, width: int):
    incident(tmp_path / "journals", ("T", "payments", *STRANGE))
    with console_of(tmp_path / "journals", tmp_path / "output.txt") as (_, address):
        for view in (*VIEWS, f"/?view=topic&name={'n' * 255}"):
            with opened_page(browser, f"{address.rstrip('/')}{view}", width) as page:
                settled(page)
                assert page.locator("main img").count() == 0
                assert page.evaluate(
                    "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
                )
                assert page.evaluate(CUT) == []
        with opened_page(browser, f"{address}?view=search&q=img", width) as page:
            page.locator(".found a").first.click()
            settled(page)
            page.locator("h2", has_text=STRANGE[0]).wait_for()
            until(page, "name => document.title.startsWith(name)", STRANGE[0])


@pytest.mark.parametrize(("scheme", "width"), [("light", 400), ("dark", 1_400)])
def test_everybody_can_use_it(browser: Any, site: Any, scheme: str, width: int):
    for view in VIEWS:
        with opened_page(browser, f"{site[0]}{view}", width, color_scheme=scheme, bypass_csp=True) as page:
            settled(page)
            assert (view, hindrances(page)) == (view, [])
            assert page.evaluate(
                "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
            )


STATES = {
    "/?view=topic&name=paymnts": "There is no record of a topic paymnts",
    "/?view=broker&name=nobody": "There is no record of a broker nobody",
    "/?view=changes&topic=nowhere&cause=delete_topic": "No change fits",
    "/?view=search&q=zzzzz": "Nothing that was ever there has zzzzz in its name",
    "/?view=search": "Type a part of a name",
    "/?view=audit&from=2001-01-01T00:00:00.000Z": "No request in this time fits",
    "/?view=why": "Give the name of a topic",
    "/?view=compare&a=nowhere": "there is no name server 'nowhere'",
    "/?at=2001-01-01T00:00:00.000Z": "move the slider to a time that is",
    "/?at=2199-01-01T00:00:00.000Z": "this is in the future",
    "/?at=yesterday-ish": "yesterday-ish",
}
"""What is empty or wrong -> what the page says."""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everybody_can_use_what_is_empty_or_wrong(browser: Any, site: Any, scheme: str):
    for view, says in STATES.items():
        context = browser.new_context(color_scheme=scheme, bypass_csp=True)
        page = context.new_page()
        page.goto(f"{site[0]}{view}")
        page.locator("#app", has_text=says).wait_for(timeout=60_000)
        assert (view, hindrances(page)) == (view, [])
        context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everybody_can_use_the_form_for_the_token(browser: Any, tmp_path: Path, scheme: str):
    incident(tmp_path / "journals")
    with console_of(tmp_path / "journals", tmp_path / "output.txt", "--token", "secret") as (_, address):
        context = browser.new_context(color_scheme=scheme, bypass_csp=True)
        page = context.new_page()
        page.goto(address.partition("#")[0])
        page.fill("input[name=token]", "another")
        page.get_by_role("button", name="Open").click()
        page.get_by_role("alert").get_by_text("a token is needed").wait_for()
        assert hindrances(page) == []
        context.close()


def test_times_are_in_the_zone_of_the_reader_and_in_utc(browser: Any, site: Any):
    with opened_page(browser, f"{site[0]}/?view=changes") as page:
        settled(page)
        time = page.locator("table[aria-label=Changes] td.time time").first.inner_text()
        assert re.fullmatch(r"2023-11-14 23:\d\d:\d\d\.\d{3} GMT\+1 \(22:\d\d:\d\d\.\d{3}Z\)", time)


def test_a_console_that_is_gone_is_told_and_found_again(browser: Any, tmp_path: Path):
    incident(tmp_path / "journals")
    port = free_port()
    with console_of(tmp_path / "journals", tmp_path / "output.txt", port=port) as (process, address):
        context = browser.new_context()
        page = context.new_page()
        page.goto(address)
        settled(page)
        process.kill()
        page.get_by_text("The console does not answer since").wait_for(timeout=60_000)
        assert page.locator("table[aria-label=Topics] tbody tr").count() > 0
        with console_of(tmp_path / "journals", tmp_path / "again.txt", port=port):
            page.get_by_text("The console does not answer since").wait_for(state="detached", timeout=60_000)
            settled(page)
            assert page.locator("table[aria-label=Topics] tbody tr").count() > 0
        context.close()


def test_behind_a_token_the_printed_address_opens_it(browser: Any, tmp_path: Path):
    incident(tmp_path / "journals")
    with console_of(tmp_path / "journals", tmp_path / "output.txt", "--token", "secret") as (_, address):
        assert address.endswith("/#token=secret")
        with opened_page(browser, address) as page:
            settled(page)
            assert "secret" not in page.url
        context = browser.new_context()
        page = context.new_page()
        page.goto(address.partition("#")[0])
        page.fill("input[name=token]", "secret")
        page.get_by_role("button", name="Open").click()
        settled(page)
        context.close()


def test_a_page_that_is_open_for_long_keeps_its_size(browser: Any, tmp_path: Path):
    """After each change the view is drawn anew: what it was made of before must go."""
    story, _ = incident(tmp_path / "journals")
    folder = tmp_path / "journals" / "ns-1_9876"

    def changes(count: int) -> None:
        for _ in range(count):
            page.evaluate("performance.clearResourceTimings()")
            story.registers("broker-a", "10.0.0.1:10911", ("T", "payments"))
            story.unregisters("10.0.0.1:10911")
            aside(lambda: write_journal(folder, story.journal.lines()))
            until(page, ASKED)
            settled(page)

    with (
        console_of(tmp_path / "journals", tmp_path / "output.txt") as (_, address),
        opened_page(browser, address) as page,
    ):
        settled(page)
        session = page.context.new_cdp_session(page)
        session.send("Performance.enable")
        changes(5)
        first = sizes(session)
        changes(25)
        last = sizes(session)
        assert last["Nodes"] <= first["Nodes"] * 1.2
        assert last["JSEventListeners"] <= first["JSEventListeners"] * 1.2


def sizes(session: Any) -> dict[str, float]:
    """Nodes and listeners that are left after a collection."""
    session.send("HeapProfiler.collectGarbage")
    found = session.send("Performance.getMetrics")["metrics"]
    return {each["name"]: each["value"] for each in found}
