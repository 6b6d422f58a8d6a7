"""What may be planned: windows, and a replacement of the expected state that nobody overwrites by accident."""

import json
from pathlib import Path

import pytest

from namekeeper.common.durations import LATEST_MS
from namekeeper.errors import ConfigError
from namekeeper.expected import plan as module
from namekeeper.expected.incidents import ExpectedFile
from namekeeper.expected.maintenance import Author, MaintenanceLog, Scope
from namekeeper.expected.plan import UNEXPECTED_LIMIT, ChangedMeanwhileError, PlanFiles, digest_of
from namekeeper.expected.state_file import expected_text
from tests.unit.expected.seeds import fleet, learned

NOW = 1_700_000_000_000
ANN = Author(who="ann@10.0.0.1:5", rule="planners")


class World:
    def __init__(self, folder: Path) -> None:
        self.file, self.log = folder / "expected.toml", folder / "expected.maintenance.jsonl"
        self.file.write_text(expected_text(learned(fleet())))
        self.plan = PlanFiles(str(self.file))

    @property
    def text(self) -> bytes:
        return self.file.read_bytes()

    @property
    def lines(self) -> list[dict[str, object]]:
        return [json.loads(line) for line in self.log.read_text().splitlines()] if self.log.exists() else []

    def replaces(self, text: bytes, before: str) -> str:
        return self.plan.replace(text, before, by=ANN, why="a queue more", now=NOW)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_a_replacement_is_a_line_with_both_digests_and_keeps_the_mode_of_the_file(world: World):
    world.file.chmod(0o640)
    old, new = world.text, world.text + b"# reviewed\n"
    assert world.replaces(new, digest_of(old)) == digest_of(new)
    assert (world.text, world.file.stat().st_mode & 0o777) == (new, 0o640)
    assert world.file.with_suffix(".toml.bak").read_bytes() == old
    (line,) = world.lines
    assert {name: line[name] for name in ("action", "who", "rule", "why", "at", "before", "after")} == {
        "action": "replace", "who": ANN.who, "rule": "planners", "why": "a queue more", "at": NOW,
        "before": digest_of(old), "after": digest_of(new),
    }  # fmt: skip


def test_a_text_that_was_edited_meanwhile_is_not_overwritten(world: World):
    base = digest_of(world.text)
    world.replaces(first := world.text + b"# ann\n", base)
    with pytest.raises(ChangedMeanwhileError, match=f"is {digest_of(first)[:12]} now, and not {base[:12]}"):
        world.replaces(b"# bob\n" + world.text, base)
    assert world.text == first
    assert len(world.lines) == 1


def test_the_same_text_again_changes_nothing_and_is_no_line(world: World):
    assert world.replaces(world.text, digest_of(world.text)) == digest_of(world.text)
    assert world.lines == []


@pytest.mark.parametrize("text", [b"\xff", b"[[oops", b"", b'since = "now"\n'])
def test_a_text_with_an_error_is_refused_as_check_refuses_it(world: World, text: bytes):
    old = world.text
    with pytest.raises(ConfigError) as refusal:
        world.replaces(text, digest_of(old))
    if text != b"\xff":
        other = world.file.with_name("x") / "expected.toml"
        other.parent.mkdir()
        other.write_bytes(text)
        with pytest.raises(ConfigError) as checked:
            ExpectedFile(str(other))
        assert str(refusal.value) == str(checked.value).replace(str(other), "expected.toml")
    assert (world.text, world.lines) == (old, [])


def test_a_replacement_that_fails_on_disk_is_noted_as_such(world: World, monkeypatch: pytest.MonkeyPatch):
    def fails(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module, "atomic_replace", fails)
    with pytest.raises(ConfigError, match="No space left"):
        world.replaces(world.text + b"#", digest_of(world.text))
    assert [line["action"] for line in world.lines] == ["replace", "not_replaced"]


@pytest.mark.parametrize(
    ("scope", "for_ms", "begin"),
    [
        (Scope(), 1, None), (Scope(brokers=("b",)), 0, None), (Scope(brokers=("b",)), 1, -1),
        (Scope(brokers=("b",)), LATEST_MS, None),
    ],
)  # fmt: skip
def test_a_window_of_nothing_or_without_an_end_is_refused(
    world: World, scope: Scope, for_ms: int, begin: int | None
):
    with pytest.raises(ConfigError):
        world.plan.start(scope, for_ms=for_ms, begin=begin, by=ANN, why="", now=NOW)
    assert world.lines == []


def test_of_several_windows_all_are_ended_or_none(world: World):
    one, other = (
        world.plan.start(Scope(brokers=(name,)), for_ms=9, begin=None, by=ANN, why="", now=NOW).window
        for name in ("broker-a", "broker-b")
    )
    with pytest.raises(ConfigError, match="no window 'x' lasts"):
        world.plan.end([one.id, "x"], by=ANN, why="", now=NOW + 1)
    assert [each.end for each in world.plan.windows()] == [NOW + 9, NOW + 9]
    world.plan.end([one.id, other.id, one.id], by=ANN, why="", now=NOW + 1)
    assert {each.end for each in world.plan.windows()} == {NOW + 1}
    assert [line["action"] for line in world.lines] == ["start", "start", "end", "end"]


def test_only_the_first_names_that_are_not_there_are_compared_with_those_that_are(
    world: World, monkeypatch: pytest.MonkeyPatch
):
    compared = []
    monkeypatch.setattr(module, "did_you_mean", lambda name, _: compared.append(name) or "")
    scope = Scope(topics=tuple(f"topic-{number}" for number in range(1_000)))
    started = world.plan.start(scope, for_ms=9, begin=None, by=ANN, why="", now=NOW)
    assert len(compared) == UNEXPECTED_LIMIT + 1
    assert len(started.notes) == UNEXPECTED_LIMIT + 1
    assert "only the first" in started.notes[-1]


def test_lines_of_another_release_are_left_alone(world: World):
    """A line of this release has more keys than one of before, and a later one may have other actions."""
    world.log.write_text(
        '{"at":1,"at_iso":"","who":"a","action":"start","window":"w","begin":1,"end":9}\n'
        '{"at":1,"at_iso":"","who":"a","action":"praise","of":["x"],"window":"w","end":3}\n'
    )
    log = MaintenanceLog(str(world.log))
    (window,) = log.windows()
    assert (window.id, window.end, window.who, log.notes) == ("w", 9, "a", [])


def test_a_change_by_a_request_is_told_from_one_by_hand(world: World):
    lines: list[str] = []
    file = ExpectedFile(str(world.file), lines.append)
    new = world.text + b"# reviewed\n"
    world.replaces(new, digest_of(world.text))
    file.refresh()
    world.file.write_bytes(new + b"# by hand\n")
    file.refresh()
    by_request, _, by_hand = lines
    assert by_request.endswith(f"digest {digest_of(new)}, by ann@10.0.0.1:5 with rule 'planners'")
    assert f"digest {digest_of(world.text)}, written 2" in by_hand
    assert ", owner " in by_hand
