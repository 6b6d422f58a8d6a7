"""Attacks on what a server does beside its answers: notifications, counters, watchers, the page."""

import contextlib
import http.client
import json
import random
import selectors
import socket
import threading
import time
import urllib.request
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any

from namekeeper.model.topic import TopicConfig
from tests.attacks.crowds import allow_connections
from tests.attacks.peers import Target, Wire, frame, pipelined, registration, topics, write_down

__all__ = [
    "SMALL_HISTORY",
    "answer_notifications_without_end",
    "ask_for_names_alike",
    "ask_why_again_and_again",
    "be_notified_everywhere",
    "causes_take_too_much",
    "change_permissions_before_the_page",
    "come_and_go",
    "consoles",
    "look_up_ever_new_topics",
    "name_brokers_that_resolve_slowly",
    "others_waited_for_the_page",
    "page_is_too_large",
    "register_names_alike",
    "too_many_were_notified",
    "watch_many_topics",
]

NOTIFIED_FILE = "notified"
NOTIFIED_LIMIT = 64
"""Connections to brokers at once (`app/notifier.py`)."""
QUIET_SECONDS = 0.3
PAGE_MIB = 400.0
"""Most memory of the page's process: 160 MiB of history beside Python and the rows of 100,000 topics."""
PAGE_SECONDS = 90.0
SMALL_HISTORY = 4 << 20
CAUSES_MIB = 96.0
"""Most memory of a page with such a history: 60 MiB of Python, the history, and two causes at once."""
WATCHERS, WATCHED = 1_680, 200
NAMES_ALIKE = 8_000
LONGEST_FILE = "longest-overview"
OVERVIEW_SECONDS = 5.0
"""Most time of an overview while another host asks for unknown names; it took 20 s."""


# A descriptor for each address that a peer names.


def be_notified_everywhere(target: Target) -> None:
    """Register brokers at many addresses, each as the one that is told of a new smallest id."""
    allow_connections()
    with contextlib.ExitStack() as stack, selectors.DefaultSelector() as selector:
        ports = [_listen(stack, selector) for _ in range(target.times(700))]
        wire = stack.enter_context(Wire(target.port))
        for index, port in enumerate(ports):
            for broker_id, addr in ((1, f"127.0.0.1:{port}"), (0, f"10.5.{index >> 8}.{index & 255}:1")):
                wire.ask(frame(103, _member(target, index, broker_id, addr)))
        _note_most_connections(selector, target.folder / NOTIFIED_FILE)


def _listen(stack: contextlib.ExitStack, selector: selectors.BaseSelector) -> int:
    listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
    listener.setblocking(False)
    selector.register(listener, selectors.EVENT_READ, None)
    port: int = listener.getsockname()[1]
    return port


def _note_most_connections(selector: selectors.BaseSelector, file: Path) -> None:
    """Keep what is opened, and write down how many connections are open once nothing more happens."""
    is_open: set[socket.socket] = set()
    most = 0
    while True:
        events = selector.select(QUIET_SECONDS)
        if not events:
            most = max(most, len(is_open))
            write_down(file, str(most))
        for key, _ in events:
            at = key.fileobj
            assert isinstance(at, socket.socket)
            if at in is_open:
                if _is_closed(at):
                    selector.unregister(at)
                    is_open.remove(at)
                    at.close()
                continue
            connection, _ = at.accept()
            connection.setblocking(False)
            selector.register(connection, selectors.EVENT_READ, None)
            is_open.add(connection)


def _is_closed(connection: socket.socket) -> bool:
    try:
        return not connection.recv(4_096)
    except ConnectionResetError:
        return True


def too_many_were_notified(target: Target) -> str:
    """Say so if there were more connections to brokers than the pool has, or none at all."""
    file = target.folder / NOTIFIED_FILE
    most = int(file.read_text()) if file.exists() else 0
    if not most:
        return "no broker was notified"
    return f"{most} connections to brokers at once" if most > NOTIFIED_LIMIT else ""


def answer_notifications_without_end(target: Target) -> None:
    """Be brokers that send frames for ever as soon as they are connected to."""
    allow_connections()
    spam = frame(105, {"topic": "x"}) * 1_000

    def send_for_ever(listener: socket.socket) -> None:
        while True:
            with contextlib.suppress(OSError), listener.accept()[0] as connection:
                while True:
                    connection.sendall(spam)

    listeners = [socket.create_server(("127.0.0.1", 0)) for _ in range(target.times(64))]
    for listener in listeners:
        threading.Thread(target=send_for_ever, args=(listener,), daemon=True).start()
    _switch_smallest_id(target, [f"127.0.0.1:{listener.getsockname()[1]}" for listener in listeners])


def name_brokers_that_resolve_slowly(target: Target) -> None:
    """Register brokers under host names that nobody has: the DNS of most networks takes a while for them."""
    _switch_smallest_id(target, [f"nobody-{target.salt}{n}.invalid:1" for n in range(target.times(300))])


def _switch_smallest_id(target: Target, slaves: list[str]) -> None:
    """Register and remove the master of each slave again and again: the slave is notified each time."""
    with Wire(target.port) as wire:
        for index, addr in enumerate(slaves):
            wire.ask(frame(103, _member(target, index, 1, addr)))
        while True:
            for index in range(len(slaves)):
                master = _member(target, index, 0, f"10.8.{index >> 8}.{index & 255}:1")
                wire.ask(frame(103, master))
                wire.ask(frame(104, master))


def _member(target: Target, group: int, broker_id: int, addr: str) -> dict[str, str]:
    return {
        "brokerName": f"group{target.salt}-{group}", "brokerAddr": addr, "clusterName": "Notified",
        "haServerAddr": "", "brokerId": str(broker_id), "heartbeatTimeoutMillis": "600000",
    }  # fmt: skip


# Counters that stay until the hour ends.


def look_up_ever_new_topics(target: Target) -> None:
    """Register topics, look each of them up, remove them, and begin again with others."""
    count = target.times(25_000)
    with Wire(target.port) as wire:
        for turn in range(1_000):
            rows = topics(f"New{target.salt}{turn:04}x", count)
            wire.ask(registration("ever-new", rows, addr="10.6.0.1:1", compressed=True, counter=turn))
            pipelined(target.port, (frame(105, {"topic": row.topic_name}) for row in rows))
            fields = {
                "brokerName": "ever-new",
                "brokerAddr": "10.6.0.1:1",
                "clusterName": "AttackCluster",
                "brokerId": "0",
            }
            wire.ask(frame(104, fields))


# Watchers.


def watch_many_topics(target: Target) -> None:
    """Watch topics over many connections, each some others, and change all of them again and again."""
    allow_connections()
    rows = topics(f"Watched{target.salt}", 20_000)
    with Wire(target.port) as wire:
        wire.ask(registration("watched", rows, addr="10.7.0.1:1", compressed=True))
        with contextlib.ExitStack() as stack:
            for number in range(target.times(WATCHERS)):
                names = "&topic=".join(rows[(number * 7 + n) % len(rows)].topic_name for n in range(WATCHED))
                watcher = socket.create_connection(("127.0.0.1", target.http_port), 30)
                stack.enter_context(watcher)
                head = f"GET /watch?topic={names} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\n\r\n"
                watcher.sendall(head.encode())
                watcher.recv(4_096)
            for counter in range(2, 10_000):
                prefix = f"Watched{target.salt}"
                fewer = topics(prefix, 20_000 - counter % 2)
                wire.ask(registration("watched", fewer, addr="10.7.0.1:1", compressed=True, counter=counter))
                for code in (205, 327):
                    wire.ask(frame(code, {"brokerName": "watched"}))


# The page, which is a process of its own.


def change_permissions_before_the_page(target: Target) -> None:
    """Open the page, and change the permission of a broker with many topics again and again."""
    with Wire(target.port) as wire:
        for code in (205, 327) * 22:
            with contextlib.suppress(OSError):
                _overview(target)
            wire.ask(frame(code, {"brokerName": "victim"}))
            time.sleep(0.2)


def come_and_go(target: Target, _stack: contextlib.ExitStack) -> None:
    """Register and unregister a broker many times."""
    come, go = registration("flapping", topics("Flapping", 1)), frame(104, _IDENTITY)
    sent = [come, go] * target.times(15_000)
    assert pipelined(target.port, sent) == len(sent)


_IDENTITY = {
    "brokerName": "flapping", "brokerAddr": "flapping:10911", "clusterName": "AttackCluster", "brokerId": "0",
}  # fmt: skip


def ask_why_again_and_again(target: Target) -> None:
    """Ask from two hosts why topics that nobody has have no route."""
    askers = [threading.Thread(target=_ask_why, args=(target, f"127.0.0.{n}")) for n in (1, 2)]
    for asker in askers:
        asker.start()
    for asker in askers:
        asker.join()


def _ask_why(target: Target, host: str) -> None:
    for number in range(1_000):
        _has_cause(target, host, f"Nothing{number}")


def _has_cause(target: Target, host: str, topic: str) -> bool:
    """Ask why a topic has no route; return whether there was an answer: the page may have others to answer."""
    page = http.client.HTTPConnection("127.0.0.1", target.http_port, timeout=120, source_address=(host, 0))
    with contextlib.closing(page), contextlib.suppress(OSError, http.client.HTTPException):
        page.request("GET", f"/api/why?name={topic}")
        answer = page.getresponse()
        return answer.status == HTTPStatus.OK and bool(json.load(answer)["explanations"])
    return False


def causes_take_too_much(target: Target) -> str:
    """Say so if the page's process took too much memory for causes."""
    end = time.monotonic() + PAGE_SECONDS
    while not _has_cause(target, "127.0.0.1", "Nothing"):
        if time.monotonic() > end:
            return "the page gives no cause"
        time.sleep(0.5)
    most = max(_most_mib(process) for process in consoles(target.folder))
    return f"the page's process took {most:.0f} MiB of {CAUSES_MIB:.0f}" if most > CAUSES_MIB else ""


# Names like other names, for which the page looks among all.


def register_names_alike(target: Target, stack: contextlib.ExitStack) -> None:
    """Register topics whose long names have the same letters, and wait until the page has them."""
    wire = stack.enter_context(Wire(target.port))
    rows = [TopicConfig(topic_name=name) for name in _names_alike(NAMES_ALIKE)]
    header, _ = wire.ask(registration("alike", rows, compressed=True))
    assert b'"code":0,' in header, header
    assert _has_read(target, NAMES_ALIKE), "the page does not read the journal"


def _names_alike(count: int) -> Iterator[str]:
    chance = random.Random(count)
    letters = list("ab" * 95)  # difflib compares names of 200 and more characters less closely
    for _ in range(count):
        chance.shuffle(letters)
        yield "".join(letters)


def ask_for_names_alike(target: Target) -> None:
    """Ask for topics that nobody has, with names like others, and note how long another host's overview takes."""
    threading.Thread(target=_ask_for_each, args=(target,), daemon=True).start()
    longest = 0.0
    while True:
        began = time.monotonic()
        with contextlib.suppress(OSError):
            _read_page(target, "127.0.0.2", "/api/overview", seconds=2 * OVERVIEW_SECONDS)
        longest = max(longest, time.monotonic() - began)
        write_down(target.folder / LONGEST_FILE, str(longest))
        time.sleep(0.1)


def _ask_for_each(target: Target) -> None:
    for name in _names_alike(1_000):
        with contextlib.suppress(OSError):
            _read_page(target, "127.0.0.1", f"/api/topic?name={name}")


def _read_page(target: Target, host: str, path: str, *, seconds: float = 120.0) -> None:
    page = http.client.HTTPConnection("127.0.0.1", target.http_port, seconds, source_address=(host, 0))
    with contextlib.closing(page):
        page.request("GET", path)
        page.getresponse().read()


def others_waited_for_the_page(target: Target) -> str:
    """Say so if the overview took another host too long."""
    file = target.folder / LONGEST_FILE
    if not file.exists():
        return "another host got no overview"
    longest = float(file.read_text())
    return f"an overview took {longest:.1f} s of {OVERVIEW_SECONDS:.0f}" if longest > OVERVIEW_SECONDS else ""


def page_is_too_large(target: Target) -> str:
    """Say so if the page's process took too much memory until it had read all changes."""
    _has_read(target, 1_000)
    most = [_most_mib(process) for process in consoles(target.folder)]
    if not most:
        return "the page has no process"
    return f"the page's process took {max(most):.0f} MiB of {PAGE_MIB:.0f}" if max(most) > PAGE_MIB else ""


def _has_read(target: Target, topics_count: int) -> bool:
    """Wait until the page has read all changes, with more than that many topics; return whether it has."""
    end = time.monotonic() + PAGE_SECONDS
    while time.monotonic() < end:
        with contextlib.suppress(OSError):
            (row,) = _overview(target)["namesrvs"]
            if row["progress"][0] == row["progress"][1] and row["topics"] >= topics_count:
                return True
        time.sleep(0.5)
    return False


def _overview(target: Target) -> dict[str, Any]:
    url = f"http://127.0.0.1:{target.http_port}/api/overview"
    with urllib.request.urlopen(url, timeout=60) as answer:
        value: dict[str, Any] = json.load(answer)
        return value


def consoles(folder: Path) -> Iterator[Path]:
    """The page's processes of a server with this folder, in /proc."""
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (process / "cmdline").read_bytes().split(b"\0")
            if b"console" in words and str(folder / "journal").encode() in words:
                yield process


def _most_mib(process: Path) -> float:
    for line in (process / "status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1_024
    return 0.0
