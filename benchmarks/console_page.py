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
from pathlib import Path
from typing import Any

from benchmarks.console import BROKERS, DAYS, TOPICS, make_month
from benchmarks.why import BEGIN, DAY_MS, MINUTE_MS, JournalFile
from tests.support.system.browser import opened_browser

FIRST_VIEW_MS, MOVE_MS, CHANGE_MS = 1_000, 300, 1_000
MOVES, CHANGES, OPEN_FOR = 20, 10, 200
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
    days = parser.parse_args().days
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
            _stay_open(page, journal, process)
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


def _stay_open(page: Any, journal: JournalFile, process: "subprocess.Popen[str]") -> None:
    """Let changes come, and print what the heap of the page and the console grow by for each."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")
    sizes = []
    for number in range(OPEN_FOR):
        _write(journal, f"seen-{number % CHANGES}-{number}")
        page.wait_for_timeout(350)
        if number in {OPEN_FOR // 4, OPEN_FOR - 1}:
            session.send("HeapProfiler.collectGarbage")
            metrics = {
                each["name"]: each["value"] for each in session.send("Performance.getMetrics")["metrics"]
            }
            sizes.append((number, metrics["JSHeapUsedSize"], metrics["Nodes"], _resident(process.pid)))
    (first, heap, nodes, resident), (last, heap_then, nodes_then, resident_then) = sizes
    count = last - first
    print(
        f"open for {count} changes of {BROKERS} brokers and {TOPICS:,} topics: the page's heap grew by"
        f" {(heap_then - heap) / count:.0f} bytes a change to {heap_then / 2**20:.1f} MB, from {nodes:.0f} to"
        f" {nodes_then:.0f} nodes; the console by {(resident_then - resident) / count:.0f} bytes to"
        f" {resident_then / 2**20:.0f} MB"
    )


def _resident(pid: int) -> int:
    """Bytes of memory that a process has."""
    text = Path(f"/proc/{pid}/status").read_text()
    return int(text.partition("VmRSS:")[2].split()[0]) * 1_024


if __name__ == "__main__":
    raise SystemExit(main())
