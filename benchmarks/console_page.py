"""How quick the page of the console is in a browser, over a month of 20,000 topics on 4 brokers.

`python -m benchmarks.console_page` starts `namekeeper console` on the journal of `benchmarks.console`, opens
the page in Chromium, and prints milliseconds as somebody before the screen has them: from opening the
address to topics, while the journal is still read and after it; from a move of the slider to the rows of that
instant; from a change in the journal to its row. Then the page stays open while changes come, and the growth
of its heap and of the console for each change is printed. Exits with 1 if the first view took a second, one
of twenty moves 300 ms, or a change a second to be seen.
"""

import argparse
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.console import BROKERS, DAYS, TOPICS, make_month
from benchmarks.why import BEGIN, DAY_MS, MINUTE_MS, JournalFile
from tests.support.system.browser import opened_browser

FIRST_VIEW_MS, MOVE_MS, CHANGE_MS = 1_000, 300, 1_000
MOVES, CHANGES, OPEN_FOR = 20, 10, 200
SAMPLES = 3
PATIENCE_MS = 120_000
ROW = "table[aria-label=Topics] tbody tr"
MOVE = """instant => new Promise((done) => {
    const slider = document.getElementById("slider"), before = performance.now();
    slider.value = instant;
    slider.dispatchEvent(new Event("input", { bubbles: true }));
    const look = () => {
        const at = new URLSearchParams(location.search).get("at");
        const isThere = at === new Date(instant).toISOString() && !document.querySelector("[aria-busy=true]");
        if (isThere) done(performance.now() - before); else setTimeout(look, 1);
    };
    setTimeout(look, 1);
})"""


def main() -> int:
    """Run; return the exit status."""
    parser = argparse.ArgumentParser("python -m benchmarks.console_page", description=__doc__)
    parser.add_argument("--days", type=int, default=DAYS)
    parser.add_argument("--open-for", type=int, default=OPEN_FOR, help="changes that the page stays open for")
    given = parser.parse_args()
    days = given.days
    with tempfile.TemporaryDirectory() as name, opened_browser() as browser:
        journal = make_month(Path(name) / "journal", days)
        with console_of(journal.folder) as (process, address):
            first = _first_view(browser, address)
            page = browser.new_page()
            page.goto(address)
            page.get_by_text("being read").first.wait_for(state="detached", timeout=PATIENCE_MS)
            page.wait_for_selector("#slider", timeout=PATIENCE_MS)
            later = _first_view(browser, address)
            chance = random.Random(1)
            instants = [BEGIN + chance.randrange(days * DAY_MS) for _ in range(MOVES)]
            moves = sorted(page.evaluate(MOVE, instant) for instant in instants)
            page.goto(f"{address}?view=changes")
            seen = sorted(_change(page, journal, number) for number in range(CHANGES))
            print(f"first view while the journal is read: {first:.0f} ms, afterwards {later:.0f} ms")
            for what, times in (("a move of the slider", moves), ("a change until it is seen", seen)):
                print(f"{what}: {statistics.median(times):.0f} ms in the middle, {times[-1]:.0f} ms at most")
            page.goto(address)
            page.locator(ROW).first.wait_for(timeout=PATIENCE_MS)
            _stay_open(page, journal, process, given.open_for)
    return int(max(first, later) > FIRST_VIEW_MS or moves[-1] > MOVE_MS or seen[-1] > CHANGE_MS)


@contextmanager
def console_of(folder: Path) -> "Iterator[tuple[subprocess.Popen[str], str]]":
    """The console as a process, and its address."""
    command = [sys.executable, "-m", "namekeeper", "console", "--journal", str(folder), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process, process.stdout.readline().strip()
        finally:
            process.terminate()


def _first_view(browser: Any, address: str) -> float:
    page = browser.new_page()
    began = time.perf_counter()
    page.goto(address, wait_until="commit")
    page.locator(ROW).first.wait_for(timeout=PATIENCE_MS)
    took = (time.perf_counter() - began) * 1_000
    page.close()
    return took


def _change(page: Any, journal: JournalFile, number: int) -> float:
    """Write a change, and wait until its row is there; milliseconds."""
    name = f"seen-{number}"
    began = time.perf_counter()
    _write(journal, name)
    page.locator("table[aria-label=Changes] tbody tr", has_text=name).first.wait_for(timeout=PATIENCE_MS)
    return (time.perf_counter() - began) * 1_000


def _write(journal: JournalFile, topic: str) -> None:
    """A change at the end of the journal."""
    ts = BEGIN + DAYS * DAY_MS + journal.records * MINUTE_MS // 1_000
    journal.write(ts, "topic_queues", cause="register_broker", peer="10.0.0.1:1", broker_name="broker-0",
                  rows=[(topic, 8, 8, 6, 0)])  # fmt: skip
    journal.seal(is_open=True)


def _stay_open(page: Any, journal: JournalFile, process: "subprocess.Popen[str]", count: int) -> None:
    """Let changes come, and print what the heap of the page and the console grow by for each of them."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")
    every = count // (SAMPLES + 1)
    sizes: list[tuple[float, float, int]] = []
    for number in range(every * (SAMPLES + 1)):
        _write(journal, f"seen-{number % CHANGES}-{number}")
        page.wait_for_timeout(350)
        if (number + 1) % every == 0:
            session.send("HeapProfiler.collectGarbage")
            metrics = {
                each["name"]: each["value"] for each in session.send("Performance.getMetrics")["metrics"]
            }
            sizes.append((metrics["JSHeapUsedSize"], metrics["Nodes"], _resident(process.pid)))
    print(
        f"open while {BROKERS} brokers and {TOPICS:,} topics change, bytes a change in each {every} changes:"
    )
    for what, of in (("the page's heap", 0), ("the console", 2)):
        grown = ", ".join(f"{(after[of] - before[of]) / every:.0f}" for before, after in pairwise(sizes))
        print(f"  {what}: {grown}; in the end {sizes[-1][of] / 2**20:.1f} MB")
    print(f"  nodes of the page: {', '.join(f'{each[1]:.0f}' for each in sizes)}")


def _resident(pid: int) -> int:
    """Bytes of memory that a process has."""
    text = Path(f"/proc/{pid}/status").read_text()
    return int(text.partition("VmRSS:")[2].split()[0]) * 1_024


if __name__ == "__main__":
    raise SystemExit(main())
