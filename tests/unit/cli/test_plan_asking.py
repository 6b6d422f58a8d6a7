"""`--http` of commands that plan: what is sent, and how each answer ends a command."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from namekeeper.cli import plan_asking
from namekeeper.cli.group import namekeeper
from namekeeper.expected.plan import digest_of
from namekeeper.expected.state_file import expected_text
from namekeeper.remoting.asking_pages import PageAnswer, SentBody
from tests.unit.expected.seeds import HOSTILE, fleet, learned

VALUE = {
    "id": "w1", "from": 4_000_000_000_000, "to": 4_000_001_800_000, "brokers": ["b"], "topics": [HOSTILE],
    "clusters": [], "name_servers": [], "who": "ann@h:1", "why": HOSTILE,
}  # fmt: skip


class Companion:
    """Answers from a list, and keeps what it was asked."""

    def __init__(self) -> None:
        self.answers: list[PageAnswer | OSError] = []
        self.asked: list[tuple[str, str, SentBody | None]] = []

    async def ask_page(self, url: str, *, token: str, sent: SentBody | None, **_: Any) -> PageAnswer:
        self.asked.append((url, token, sent))
        answer = self.answers.pop(0)
        if isinstance(answer, OSError):
            raise answer
        return answer

    def gives(self, value: object, status: int = 200) -> None:
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.answers.append(PageAnswer(status, body))

    @property
    def sent(self) -> SentBody:
        found = self.asked[-1][2]
        assert found is not None
        return found


@pytest.fixture
def companion(monkeypatch: pytest.MonkeyPatch) -> Companion:
    made = Companion()
    monkeypatch.setattr(plan_asking, "ask_page", made.ask_page)
    monkeypatch.setenv("NAMEKEEPER_HTTP_TOKEN", "key")
    return made


def run(*words: str) -> Result:
    return CliRunner().invoke(namekeeper, [*words, "--http", "h:1"])


def start(*words: str) -> Result:
    return run("maintenance", "start", "--for", "30m", "--broker", "b", "--zone", "UTC", *words)


def test_a_window_is_sent_as_a_duration_and_shown_by_the_clock_of_the_companion(companion: Companion):
    companion.gives({**VALUE, "notes": ["it has no broker 'b'"]})
    result = start("--topic", HOSTILE, "--why", "disks")
    assert (result.stdout, result.exit_code) == ("w1: until 2096-10-02 07:36:40.000 UTC\n", 0)
    assert result.stderr == "note: it has no broker 'b'\n"
    ((url, token, _),) = companion.asked
    assert (url, token) == ("http://h:1/api/maintenance", "key")
    assert (companion.sent.method, companion.sent.content_type) == ("POST", "application/json")
    assert json.loads(companion.sent.data) == {
        "for_ms": 1_800_000, "why": "disks", "brokers": ["b"], "topics": [HOSTILE], "clusters": [],
        "name_servers": [],
    }  # fmt: skip
    companion.gives(VALUE)
    assert "w1: from 2096-10-02 07:06:40.000 UTC until " in start("--from", "2096-10-02T07:06:40Z").stdout
    assert json.loads(companion.sent.data)["from"] == "2096-10-02T07:06:40.000Z"


def test_windows_are_listed_by_the_clock_of_the_companion(companion: Companion):
    over = {**VALUE, "id": "w0"}
    for now, words, ids in ((4_000_000_000_001, (), ["w0", "w1"]), (4_000_001_800_000, (), []),
                            (4_000_001_800_000, ("--all",), ["w0", "w1"])):  # fmt: skip
        companion.gives({"now": now, "windows": [over, VALUE], "notes": []})
        found = json.loads(run("maintenance", "list", "--json", *words).stdout)
        assert [each["id"] for each in found] == ids
    companion.gives({"now": 4_000_000_000_001, "windows": [VALUE]})
    shown = run("maintenance", "list").stdout
    assert "\x1b" not in shown
    assert len(shown.splitlines()) == 1


def test_windows_are_ended_together(companion: Companion):
    companion.gives({"ids": ["w1", "w2"]})
    assert run("maintenance", "end", "w1", "w2", "--why", "done").stdout == "w1: ended\nw2: ended\n"
    assert companion.asked[0][0] == "http://h:1/api/maintenance/end"
    assert json.loads(companion.sent.data) == {"ids": ["w1", "w2"], "why": "done"}


@pytest.mark.parametrize(
    ("answer", "code", "words"),
    [
        (PageAnswer(403, b'{"problem":"user tom is refused by rule \'r\'"}'), 2, "user tom is refused by rule 'r' (HTTP 403)"),
        (PageAnswer(502, b"<html>\x1b[31m"), 2, "h:1 refuses: <html>"),
        (PageAnswer(403, b'{"problem":5}'), 2, "(HTTP 403)"),
        (PageAnswer(200, b"<html>"), 2, "h:1 is no companion: "),
        (PageAnswer(200, b"[]"), 2, "h:1 is no companion: "),
        (PageAnswer(200, b"{}"), 2, "this is no companion: "),
        (PageAnswer(200, b'{"id":1}'), 2, "this is no companion: "),
        (OSError("no answer in time"), 3, "h:1 can't be asked: no answer in time"),
    ],
)  # fmt: skip
def test_how_an_answer_ends_a_command(
    companion: Companion, answer: PageAnswer | OSError, code: int, words: str
):
    companion.answers.append(answer)
    result = start()
    assert (result.exit_code, len(result.stderr.splitlines())) == (code, 1)
    assert words in result.stderr
    assert "\x1b" not in result.stderr


def test_a_companion_has_a_file_of_its_own(companion: Companion):
    assert "give --http HOST:PORT or --expect FILE" in start("--expect", "f").stderr
    several = CliRunner().invoke(namekeeper, ["maintenance", "list", "--http", "a:1;b:2"])
    assert "the address of one companion" in several.stderr
    assert companion.asked == []


def test_the_expected_state_is_written_to_a_file_and_put_in_place_of_the_same(
    companion: Companion, tmp_path: Path
):
    file = tmp_path / "edit.toml"
    text = expected_text(learned(fleet())).encode()
    companion.gives(text)
    got = run("expect", "get", "--expect", str(file))
    assert (got.stdout, file.read_bytes()) == (f"{file}: digest {digest_of(text)[:12]}\n", text)
    assert "give --force to replace it" in run("expect", "get", "--expect", str(file)).stderr
    file.write_bytes(text + b"# reviewed\n")
    put = ("expect", "put", "--expect", str(file), "--replaces")
    companion.gives(text)
    companion.gives({"before": "", "after": ""})
    assert run(*put, digest_of(text)[:12], "--why", "a & b").exit_code == 0
    assert companion.asked[-1][0] == "http://h:1/api/expected?why=a+%26+b"
    assert companion.sent == SentBody(
        "PUT", text + b"# reviewed\n", "application/toml", {"If-Match": f'"{digest_of(text)}"'}
    )
    for digest in (digest_of(b"")[:12], digest_of(text)[:11], ""):
        companion.gives(text)
        result = run(*put, digest)
        assert result.exit_code == 2
        assert "it has changed" in result.stderr
    file.write_bytes(b"[[oops")
    asked = len(companion.asked)
    assert f"{file} is not TOML" in run(*put, digest_of(text)).stderr
    assert len(companion.asked) == asked
