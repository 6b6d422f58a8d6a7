"""A journal that is read over the operators' pages of its name server."""

import contextlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from click.testing import CliRunner

from namekeeper.answers.from_journal import JournalFolder
from namekeeper.cli import remote_journal
from namekeeper.cli.connecting import Connector
from namekeeper.cli.group import namekeeper
from namekeeper.cli.remote_journal import RemoteJournal, pages_of
from namekeeper.errors import ConfigError, JournalError
from namekeeper.remoting.address import Address
from namekeeper.remoting.page_address import PageAddress
from tests.unit.answers.story import Story
from tests.unit.answers.test_audit import journal, judged


class Pages:
    """What a name server gives over HTTP: the files of a folder, and what was asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.asked: list[str] = []
        self.more: list[str] = []
        self.refuses = ""
        pages = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send(*pages.answer(self.path, self.headers["Authorization"]))

            def send(self, status: int, body: bytes) -> None:
                self.send_response(status)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.place = PageAddress(Address("127.0.0.1", self.server.server_port))
        self.address = str(self.place)

    def answer(self, path: str, authorization: str | None) -> tuple[int, bytes]:
        self.asked.append(path)
        if self.refuses and authorization != "Bearer good":
            return 403, self.refuses.encode()
        if path == "/journal":
            names = sorted(each.name for each in self.folder.iterdir())
            return 200, json.dumps({"files": [*self.more, *names]}).encode()
        file = self.folder / path.rpartition("/")[2]
        return (200, file.read_bytes()) if file.exists() else (404, b"")

    @property
    def segments(self) -> list[str]:
        """Segments that were asked for."""
        return [path for path in self.asked if ".jsonl" in path]


@pytest.fixture
def story() -> Story:
    story = Story("far_9876")
    story.registers(topics=("orders",))
    story.deleted("orders")
    for _ in range(30):
        story.alive()
    story.journal.begin_checkpoint("interval")
    story.journal.go_on_with_checkpoint(10_000)
    story.alive()
    return story


@pytest.fixture
def pages(story: Story, tmp_path: Path) -> Iterator[Pages]:
    story.folder(tmp_path / "far", per_segment=4)
    pages = Pages(tmp_path / "far")
    thread = threading.Thread(target=pages.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield pages
    pages.server.shutdown()
    pages.server.server_close()


def test_questions_are_answered_as_on_its_host(pages: Pages):
    words = ["orders", "--zone", "UTC"]
    for command in (
        ["why", *words, "--json"],
        ["route-at", *words, "--at", "2023-11-14T22:13:21Z"],
        ["history", *words, "--from", "2023-11-14T00:00:00Z"],
    ):
        here = CliRunner().invoke(namekeeper, [*command, "--journal", str(pages.folder)])
        there = CliRunner().invoke(namekeeper, [*command, "--http", pages.address])
        assert (there.exit_code, there.stdout) == (here.exit_code, here.stdout), there.stderr
        assert here.exit_code == 0


def test_who_did_what_is_answered_as_on_its_host(tmp_path: Path):
    journal(tmp_path / "far", judged(allowed=True, rule="operators", user="ops"), judged(103))
    pages = Pages(tmp_path / "far")
    thread = threading.Thread(target=pages.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    words = ["audit", "--since", "2023-11-14T00:00:00Z", "--zone", "UTC"]
    here = CliRunner().invoke(namekeeper, [*words, "--journal", str(pages.folder)])
    there = CliRunner().invoke(namekeeper, [*words, "--http", pages.address])
    pages.server.shutdown()
    pages.server.server_close()
    assert (there.exit_code, there.stdout) == (here.exit_code, here.stdout), there.stderr
    assert here.stdout.count("\n") == 2


def test_only_what_a_question_needs_is_copied_and_once(pages: Pages):
    remote = RemoteJournal(pages.place)
    journal = JournalFolder(remote.found())
    assert journal.state_at(None).knowledge
    some = len(pages.segments)
    assert some < len(list(pages.folder.glob("*.jsonl*")))
    assert JournalFolder(remote.found()).state_at(None).knowledge
    opened = [path for path in pages.segments if path.endswith(".open")]
    assert len(pages.segments) - some == len(opened) // 2
    assert pages.asked.count("/journal/identity.json") <= 1


def test_a_segment_that_is_sealed_meanwhile_is_read_under_its_new_name(pages: Pages):
    remote = RemoteJournal(pages.place)
    max(pages.folder.glob("*.open")).unlink()
    newest = max(pages.folder.glob("*.gz"))
    end = JournalFolder(str(pages.folder)).state_at(None).coverage.knows_up_to
    opened = pages.folder / f"{newest.name.partition('.')[0].rpartition('-')[0]}.jsonl.open"
    sealed = newest.read_bytes()
    newest.unlink()
    opened.touch()
    found = remote.found()
    opened.unlink()
    newest.write_bytes(sealed)
    assert JournalFolder(found).state_at(None).coverage.knows_up_to == end


def test_names_that_are_no_segments_are_not_copied(pages: Pages):
    pages.more = ["../../evil", "/etc/passwd", "identity.json/.."]
    RemoteJournal(pages.place).found()
    assert not [path for path in pages.asked if "evil" in path or "passwd" in path]


def test_a_refusal_and_a_silence_say_what_to_do(pages: Pages):
    pages.refuses = "no rule lets you"
    with pytest.raises(
        JournalError, match="it answers 403: no rule lets you; it must be the operators' port"
    ):
        RemoteJournal(pages.place).found()
    assert RemoteJournal(pages.place, token="good").found().is_running
    result = CliRunner().invoke(namekeeper, ["why", "orders", "--http", "127.0.0.1:1"])
    assert (result.exit_code, "can't read the journal over http://127.0.0.1:1: " in result.stderr) == (
        2,
        True,
    )


@pytest.mark.parametrize("answer", [b"<html>", b'{"a":' + b"[" * 200_000], ids=["page", "lists without end"])
def test_another_server_is_none_of_ours(pages: Pages, monkeypatch: pytest.MonkeyPatch, answer: bytes):
    monkeypatch.setattr(pages, "answer", lambda *_: (200, answer))
    with pytest.raises(JournalError, match="its answer is not that of a name server of ours"):
        RemoteJournal(pages.place).found()


@pytest.mark.parametrize(
    ("port", "reason"),
    [
        *((port, "can't be used") for port in ("9" * 5_000, "65536", "٣")),
        *((port, "it has no operators' pages") for port in ("0", "no")),
    ],
)
def test_a_name_server_whose_http_port_is_no_port_is_one_clear_error(monkeypatch, port, reason):
    monkeypatch.setattr(remote_journal, "properties_of", lambda *_: {"httpPort": port})
    with pytest.raises(ConfigError, match=reason):
        pages_of(Address("127.0.0.1", 9876), Connector(contextlib.nullcontext))
