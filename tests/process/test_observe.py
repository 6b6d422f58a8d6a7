"""`namekeeper observe` as a process, beside a name server as a process; our readers on what it wrote."""

import contextlib
import json
import socket
import sys
import threading
import urllib.request
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from click.testing import CliRunner, Result

from namekeeper.cli.commands.observe import STATUS_FILE
from namekeeper.cli.group import namekeeper
from namekeeper.wire.codec import encode_command
from tests.process.running import NameServerProcess, environment, holding
from tests.support.server.webhook import WebhookServer
from tests.support.system.processes import Process, eventually
from tests.unit.app.parts import registration
from tests.unit.journal.disk_parts import records_in

NAMEKEEPER = (sys.executable, "-m", "namekeeper")
WITHIN = 30.0


@contextlib.contextmanager
def observing(tmp_path: Path, address: str, *more: str) -> Iterator[Process]:
    """An observer without a page, unless further words give it a port."""
    words = [
        "observe",
        "-n",
        address,
        "--journal",
        str(tmp_path / "observed"),
        "--budget",
        "10",
        "--port",
        "-1",
    ]
    process = Process(
        "observe", [*NAMEKEEPER, *words, *more], output=tmp_path / "observe.txt", env=environment(tmp_path)
    )
    try:
        yield process
    finally:
        process.kill()


def folder_of(tmp_path: Path, address: str) -> str:
    return str(tmp_path / "observed" / address.replace(":", "_"))


def run(*words: str) -> Result:
    return CliRunner().invoke(namekeeper, words)


def records(tmp_path: Path, address: str) -> list[dict[str, object]]:
    """What is in the journal; a command in a loop takes seconds of a processor."""
    return records_in(folder_of(tmp_path, address))


def starts_in(tmp_path: Path, address: str) -> list[dict[str, object]]:
    return [record for record in records(tmp_path, address) if record["kind"] == "server_started"]


def has(tmp_path: Path, address: str, kind: str) -> bool:
    return any(record["kind"] == kind and record.get("window_ms") for record in records(tmp_path, address))


def test_our_readers_read_what_an_observer_wrote(tmp_path: Path) -> None:
    registers = encode_command(registration(("kept", "gone")))
    with NameServerProcess(tmp_path / "server").started() as live:
        address = live.address
        with observing(tmp_path, address) as observer:
            with holding(address, registers):
                observer.await_line(r"observed: 1 broker, 2 topics", within=WITHIN)
                eventually(
                    lambda: written_status(tmp_path, address).get("state") == "observed",
                    within=WITHIN,
                    what="a status that is written",
                )
                shown = run("observe", "--status", "--json", "--journal", str(tmp_path / "observed"))
                assert json.loads(shown.stdout)[address.replace(":", "_")]["state"] == "observed", shown
                assert live.ask(216, topic="gone").code == 0
                eventually(
                    lambda: has(tmp_path, address, "topic_queues"), within=WITHIN, what="the deleted topic"
                )
            eventually(
                lambda: has(tmp_path, address, "broker_name_removed"), within=WITHIN, what="the lost broker"
            )
            observer.terminate()
            assert observer.wait(within=20) == 0
    folder = folder_of(tmp_path, address)
    why = run("why", "kept", "--journal", folder)
    assert (why.exit_code, "is gone" in why.stdout) == (0, True), why
    assert "after it was last heard" not in why.stdout
    deleted = run("why", "gone", "--journal", folder)
    assert "the topic was deleted, or" in deleted.stdout, deleted
    for words in (("history", "kept"), ("route-at", "kept")):
        done = run(*words, "--journal", folder)
        assert (done.exit_code, done.stderr) == (0, ""), done
    cat = run("journal", "cat", folder)
    assert [json.loads(line) for line in cat.stdout.splitlines()] == records(tmp_path, address)
    for words in ("ls", "replay"):
        assert run("journal", words, folder).exit_code in {0, 3}


def test_an_observer_that_is_killed_loses_nothing_and_goes_on(tmp_path: Path) -> None:
    with NameServerProcess(tmp_path / "server").started() as live:
        for boots in (1, 2):
            with observing(tmp_path, live.address):
                eventually(
                    lambda boots=boots: len(starts := starts_in(tmp_path, live.address)) == boots and starts,
                    within=WITHIN, what="the begin of a period of observation",
                )  # fmt: skip
        starts = starts_in(tmp_path, live.address)
    assert [(start["observed_addr"], start.get("restart")) for start in starts] == [
        (live.address, None), (live.address, "possible"),
    ]  # fmt: skip


def test_two_observers_do_not_write_to_one_journal(tmp_path: Path) -> None:
    with NameServerProcess(tmp_path / "server").started() as live, observing(tmp_path, live.address) as first:
        first.await_line("observed: 0 brokers", within=WITHIN)
        other = tmp_path / "other"
        other.mkdir()
        words = ("observe", "-n", live.address, "--journal", str(tmp_path / "observed"), "--port", "-1")
        second = Process("observe", [*NAMEKEEPER, *words], output=other / "o.txt", env=environment(tmp_path))
        try:
            line = second.await_line("is in use by process ([0-9]+)", within=WITHIN)
            assert int(line[1]) == first.pid
        finally:
            second.kill()


class Fake:
    """A peer on a port that is no name server."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.connections = 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.listener.getsockname()[1]}"
        self._open: list[socket.socket] = []
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for one in self._open:
            one.close()
        self._thread.join()

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            self.connections += 1
            self._open.append(client)
            with contextlib.suppress(OSError):
                self._answer(client)

    def _answer(self, client: socket.socket) -> None:
        if self.kind == "hanging":
            return
        client.recv(4_096)
        if self.kind == "http":
            client.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
        elif self.kind == "garbage":
            client.sendall(bytes(range(256)) * 16)
        elif self.kind == "partial":
            client.sendall(b"\0\0\x10\0\0\0\0\x20{")
        elif self.kind == "endless":
            client.settimeout(5)
            while True:
                client.sendall(
                    b"\0\0\0\x40\0\0\0\x3c"
                    + b'{"code":0,"flag":1,"opaque":77777,"language":"JAVA"}'.ljust(60)
                )
        elif self.kind == "closing":
            client.close()


KINDS = ("hanging", "http", "garbage", "partial", "endless", "closing")


def test_a_peer_that_is_no_name_server_is_said_and_leaves_no_journal(tmp_path: Path) -> None:
    with contextlib.ExitStack() as closing:
        fakes = [Fake(kind) for kind in KINDS]
        for fake in fakes:
            closing.callback(fake.close)
        with observing(tmp_path, ";".join(fake.address for fake in fakes)) as observer:
            for fake in fakes:
                eventually(
                    lambda address=fake.address: written_status(tmp_path, address).get("reason"),
                    within=WITHIN,
                    what=f"a reason why {fake.kind} is not observed",
                )
                status = written_status(tmp_path, fake.address)
                assert (status["state"], bool(status["reason"])) == ("connecting", True), fake.kind
                assert fake.connections <= 12, fake.kind
            observer.terminate()
            assert observer.wait(within=20) == 0
        assert list((tmp_path / "observed").iterdir()) == []


def written_status(tmp_path: Path, address: str) -> dict[str, object]:
    """The status that the observer has written, which the command shows."""
    written = json.loads((tmp_path / "observed" / STATUS_FILE).read_text())
    status: dict[str, object] = written.get(address.replace(":", "_"), {})
    return status


def page_of(observer: Process) -> str:
    return observer.await_line(r"(http://127\.0\.0\.1:[0-9]+)/\n", within=WITHIN)[1]


def fetched(url: str) -> str:
    with urllib.request.urlopen(url, timeout=WITHIN) as answer:
        text: str = answer.read().decode()
        return text


def test_one_process_records_and_sends_what_it_records(tmp_path: Path) -> None:
    registers = encode_command(registration(("T",)))
    (tmp_path / "messages.toml").write_text(
        'outbox = "outbox"\npage = "http://page.example/"\n[receivers.ops]\ntype = "webhook"\n'
        'url_file = "url"\ngrace = "0s"\n'
    )
    with WebhookServer() as hook, NameServerProcess(tmp_path / "server").started() as live:
        (tmp_path / "url").write_text(hook.url("/ops"))
        words = ("--messages", str(tmp_path / "messages.toml"), "--port", "0")
        broker = contextlib.ExitStack()
        broker.enter_context(holding(live.address, registers))
        with broker, observing(tmp_path, live.address, *words) as observer:
            page = page_of(observer)
            observer.await_line(r"observed: 1 broker, 1 topic", within=WITHIN)
            broker.close()
            eventually(lambda: hook.events, within=WITHIN, what="a message")
            ((event, *_),) = (document["events"] for document in hook.documents)
            assert event["facts"]["what"] == "broker-a away"
            view, _, query = event["link"].partition("?view=incident&")
            assert view == "http://page.example/"
            found = json.loads(fetched(f"{page}/api/incident?{query}"))
            assert (found["is_exact"], found["rows"][0]["what"]) == (True, "broker-a away")
            metrics = fetched(f"{page}/metrics")
            assert 'namekeeper_incidents_open{cluster="",kind="broker_away"} 1.0' in metrics
            observer.await_line("ops: sent: .critical. broker-a away", within=WITHIN)
            assert 'namekeeper_messages_sent_total{receiver="ops"} 1.0' in fetched(f"{page}/metrics")
            observer.terminate()
            assert observer.wait(within=20) == 0


def shown_by(page: str) -> set[str]:
    """The ids of the name servers that a page shows."""
    return {row["namesrv"] for row in json.loads(fetched(f"{page}/api/overview"))["namesrvs"]}


def test_one_process_shows_what_it_observes_and_our_name_servers_that_come_later(tmp_path: Path) -> None:
    registers = encode_command(registration(("T",)))
    own = tmp_path / "own"
    own.mkdir()
    with NameServerProcess(tmp_path / "server").started() as java_like:
        words = ("--with-journal", str(own), "--port", "0")
        with (
            observing(tmp_path, java_like.address, *words) as observer,
            holding(java_like.address, registers),
        ):
            page = page_of(observer)
            shown = partial(shown_by, page)
            observed = java_like.address.replace(":", "_")
            eventually(lambda: shown() == {observed}, within=WITHIN, what="the observed name server")
            with NameServerProcess(
                tmp_path / "own-server", journal_path=str(own / "ns"), journal_namesrv_id="ns-1"
            ):
                eventually(lambda: shown() == {observed, "ns-1"}, within=WITHIN, what="our name server")
            assert json.loads(fetched(f"{page}/readyz"))["status"] == "ok"
            assert 'namekeeper_observe_name_servers{state="observed"} 1.0' in fetched(f"{page}/metrics")
            observer.terminate()
            assert observer.wait(within=20) == 0
