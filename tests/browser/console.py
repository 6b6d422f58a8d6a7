"""The console as a process, over journals of an incident, and pages of it in a browser."""

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from tests.support.system.processes import Process, eventually
from tests.unit.answers.story import Story

__all__ = ["STRANGE", "console_of", "console_over", "incident", "opened_page"]

STRANGE = (
    '<img src=x onerror="document.title=1">',
    "\u202egnp.exe",
    "n" * 255,
    "\u05e9\u05dc\u05d5\u05dd",
    "a&b'\"",
)
"""Names that strangers may choose: like markup, from right to left, as long as a name may be."""


def incident(folder: Path, topics: tuple[str, ...] = ("T", "payments")) -> tuple[Story, Story]:
    """Two name servers: one loses its records in a crash, the other stops for a minute; a topic is deleted."""
    stories = Story("ns-1_9876"), Story("ns-2_9876")
    for story in stories:
        story.registers("broker-a", "10.0.0.1:10911", topics)
        story.registers("broker-b", "10.0.0.2:10911", ("T",))
        story.later(600_000)
        story.wiped("broker-a")
        story.later(120_000)
        story.connection_breaks("10.0.0.2:10911")
        story.later(300_000)
        story.registers("broker-b", "10.0.0.2:10911", ("T",))
        story.later(100_000)
    one, other = stories
    other.deleted("payments")
    one.crashes(keep=20)
    one.later(30_000)
    one.registers("broker-a", "10.0.0.1:10911", topics)
    other.restarts(60_000)
    other.registers("broker-a", "10.0.0.1:10911", ("T",))
    for story in stories:
        story.later(200_000)
        story.alive()
        story.folder(folder / story.journal.namesrv)
    return stories


@contextmanager
def console_of(folder: Path, output: Path, *words: str, port: int = 0) -> Iterator[tuple[Process, str]]:
    """A console that has read the journals in a folder, and its address."""
    with console_over(["--journal", str(folder), *words], output, port=port) as console:
        yield console


@contextmanager
def console_over(words: Sequence[str], output: Path, *, port: int = 0) -> Iterator[tuple[Process, str]]:
    """A console with such options that has read all its records, and its address."""
    command = [sys.executable, "-m", "namekeeper", "console", "--port", str(port), *words]
    with Process("console", command, output=output) as process:
        address = process.await_line(r"http://\S+").group(0)
        eventually(lambda: _has_read(address), within=60, what="a console that has read all records")
        yield process, address


def _has_read(address: str) -> bool:
    base, _, token = address.partition("#token=")
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    with urlopen(Request(f"{base}api/overview", headers=headers), timeout=60) as answer:
        namesrvs = json.load(answer)["namesrvs"]
    return all(row["progress"][0] >= row["progress"][1] for row in namesrvs)


def _opens(page: Any, address: str) -> bool:
    """Go to a page; False if its server closed the connection, as it does to a request that comes seconds late."""
    from playwright.sync_api import Error

    try:
        page.goto(address)
    except Error as error:
        if "ERR_EMPTY_RESPONSE" not in str(error):
            raise
        return False
    return True


@contextmanager
def opened_page(browser: Any, address: str, width: int = 1_400, **options: Any) -> Iterator[Any]:
    """A page of the console that asks nobody else and complains of nothing."""
    more = {"timezone_id": "Europe/Berlin", **options}
    context = browser.new_context(viewport={"width": width, "height": 900}, **more)
    page = context.new_page()
    page.set_default_timeout(60_000)
    asked: list[str] = []
    output: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: output.append(message.text))
    page.on("pageerror", lambda error: output.append(str(error)))
    eventually(lambda: _opens(page, address), within=60, what=f"{address} in the browser")
    yield page
    origin = "/".join(address.split("/")[:3])
    assert [url for url in asked if not url.startswith(f"{origin}/")] == []
    assert output == []
    context.close()
