"""What is read again: how much memory and how many records it may take, and what is not read twice."""

import pytest

from namekeeper.answers.source import JournalAnswers
from namekeeper.console import earlier
from namekeeper.console.earlier import EarlierParts
from namekeeper.console.views import ConsoleViews
from namekeeper.history.sources.journal import JournalSource
from namekeeper.journal.reading.reader import FoundJournal
from tests.support.journal.folder import write_journal
from tests.unit.answers.story import Story
from tests.unit.console.test_older import CLOCK, Console

HOUR = 3_600_000
MUCH = 1 << 32


class Counted:
    """A source that counts its readings, and the steps that each of them took."""

    keeps_past = True

    def __init__(self, source):
        self._source = source
        self.readings = []

    def namesrvs(self):
        return self._source.namesrvs()

    def steps(self, namesrv, *part):
        steps = self._source.steps(namesrv, *part)
        return self._counted(steps) if part else steps

    def _counted(self, steps):
        self.readings.append(0)
        for step in steps:
            self.readings[-1] += 1
            yield step


@pytest.fixture(scope="module")
def journal(tmp_path_factory):
    """A change each minute for half a day, and a restart each three hours, after which there is a checkpoint."""
    story = Story()
    story.registers()
    for minute in range(12 * 60):
        story.later(30_000)
        story.wiped()
        if minute % 180 == 179:
            story.restarts()
        story.later(20_000)
        story.registers()
    folder = tmp_path_factory.mktemp("journal") / "j"
    write_journal(folder, story.journal.lines())
    return str(folder)


@pytest.fixture
def source(journal):
    return Counted(JournalSource([FoundJournal(journal)]))


def parts_of(console) -> EarlierParts:
    (parts,) = console.parts
    return parts


def test_a_list_reaches_back_until_there_are_enough_changes(source):
    console = Console(source, memory=1)
    until = console.histories.followed[0].history.dropped_until
    few = console.ask("changes", to=until, limit=10)
    assert len(few["rows"]) == 10
    assert len(source.readings) == 1, "an hour has more than ten changes"
    assert few["known_from"] > until - 5 * HOUR
    many = console.ask("changes", to=until, limit=500)
    assert len(many["rows"]) == 500
    assert many["known_from"] < few["known_from"]
    assert many["rows"][:10] == few["rows"]


def test_a_list_that_finds_nothing_reaches_back_to_the_start(source):
    console = Console(source, memory=1)
    found = console.ask("changes", to=console.histories.followed[0].history.dropped_until, text="nobody")
    assert (found["rows"], found["known_from"], found["older_to"]) == ([], None, None)
    assert len(source.readings) < 6, "each reaches four times as far"


def test_a_reading_of_many_records_is_the_last_one(source, monkeypatch):
    monkeypatch.setattr(earlier, "RECORDS_AT_MOST", 150)
    console = Console(source, memory=1)
    until = console.histories.followed[0].history.dropped_until
    found = console.ask("changes", to=until, text="nobody")
    assert found["known_from"] > console.histories.followed[0].first
    assert max(source.readings) <= 150 * earlier.FURTHER + 1
    assert found["older_to"] == found["known_from"] - 1


def test_a_reading_that_comes_to_too_many_records_ends_unused(tmp_path, monkeypatch):
    """A storm of changes, and after it one change each hour."""
    monkeypatch.setattr(earlier, "RECORDS_AT_MOST", 80)
    story = Story()
    story.registers()
    for _ in range(400):
        story.wiped()
        story.registers()
    story.restarts()
    story.registers()
    calm = story.now
    for _ in range(12):
        story.later(HOUR)
        story.restarts()
        story.registers()
    write_journal(tmp_path / "j", story.journal.lines())
    source = Counted(JournalSource([FoundJournal(str(tmp_path / "j"))]))
    console = Console(source, memory=1)
    found = console.ask("changes", to=console.histories.followed[0].history.dropped_until, text="nobody")
    assert calm <= found["known_from"] < story.now - 3 * HOUR
    assert max(source.readings) <= 80 * earlier.FURTHER + 1
    while found["older_to"] is not None:
        found = console.ask("changes", to=found["older_to"], text="nobody")
    assert found["known_from"] is None, "step by step it comes to the start"


def test_a_list_is_not_read_twice(source):
    console = Console(source, memory=1)
    until = console.histories.followed[0].history.dropped_until
    for _ in range(3):
        console.ask("changes", to=until, limit=10)
        console.ask("changes", to=until - 60_000, limit=3)
    assert len(source.readings) == 1
    for _ in range(3):
        console.ask("broker", name="T", older=1)
        console.ask("topic", name="T", older=1)
    assert len(source.readings) == 3, "a broker and a topic with one name"


def test_who_asks_for_many_ranges_and_names_gets_no_more_memory(source):
    console = Console(source, memory=1, past=200_000)
    parts, first = parts_of(console), console.histories.followed[0].first
    until = console.histories.followed[0].history.dropped_until
    for number in range(6):
        console.ask("changes", to=first + (until - first) * number // 6, limit=500)
        console.ask("topic", name=f"T{number}", older=1)
        assert sum(part.history.size for part in parts.kept) <= 200_000


@pytest.mark.parametrize(
    ("view", "query"), [("changes", {"limit": 5}), ("broker", {"name": "b0", "older": 1})]
)
def test_what_does_not_fit_is_read_once_and_told(source, view, query):
    console = Console(source, memory=1, past=1_000)
    until = console.histories.followed[0].history.dropped_until
    more = {"to": until} if view == "changes" else {}
    for _ in range(3):
        found = console.ask(view, **query, **more)
        assert found["not_read"] == ["ns_9876"]
    assert len(source.readings) == 1
    assert parts_of(console).kept == []


def test_a_life_that_does_not_fit_says_from_when_on_it_is_known(source):
    whole, console = Console(source), Console(source, memory=1, past=450_000)
    found, wanted = (each.ask("broker", name="b0", older=1) for each in (console, whole))
    since = found["known_from"]
    assert console.histories.followed[0].first < since < console.histories.followed[0].history.dropped_until
    of_both = [[each for each in one["sessions"] if each["since"] > since] for one in (found, wanted)]
    assert of_both[0] == of_both[1]
    assert len(of_both[0]) > 1
    assert found["not_read"] == []


def test_a_name_that_only_dropped_changes_have_is_not_unknown(tmp_path):
    story = Story()
    story.registers("b-gone", "a9:1", topics=("Invoice",))
    story.unregisters("a9:1")
    for _ in range(20):
        story.registers(topics=("Invoices",))
        story.wiped()
    folder = str(write_journal(tmp_path / "j", story.journal.lines()))
    console = Console(JournalSource([FoundJournal(folder)]), memory=1)
    for view, name in (("topic", "Invoice"), ("broker", "b-gone"), ("broker", "a9:1")):
        found = console.ask(view, name=name)
        assert (found["is_there"], found["near"]) == (False, "; it was there before.")
        assert console.ask(view, name=name, older=1)["is_there"]
    assert "Invoice" in console.ask("topic", name="Invoicess")["near"].replace("Invoices", "")
    views = ConsoleViews(console.histories, lambda: JournalAnswers([folder]), CLOCK)
    assert views.journals.why({"name": "Invoice"})["near"] == ""
    assert "Invoices" in views.journals.why({"name": "Invoicess"})["near"]


def test_nothing_is_read_while_nothing_was_dropped(source):
    console = Console(source)
    console.ask("changes", to=console.histories.followed[0].first + HOUR)
    found = console.ask("broker", name="b0", older=1)
    assert source.readings == []
    assert (found["known_from"], found["has_older"], found["not_read"]) == (None, False, [])


def test_after_a_step_of_the_clock_lists_are_those_of_the_journal(tmp_path):
    """The clock is put back by ten minutes: records that come later may be of an earlier instant."""
    story = Story()
    story.registers()
    for count in range(60):
        if count == 20:
            story.later(-600_000)
        story.connection_breaks("a0:1")
        story.registers()
    write_journal(tmp_path / "j", story.journal.lines())
    source = JournalSource([FoundJournal(str(tmp_path / "j"))])
    whole, console = Console(source), Console(source, memory=1)
    first, dropped = console.histories.followed[0].first, console.histories.followed[0].history.dropped_until
    for until in range(first, dropped, max(1, (dropped - first) // 20)):
        assert console.ask("changes", to=until)["rows"] == whole.ask("changes", to=until)["rows"]
    found, wanted = (each.ask("broker", name="b0", older=1)["sessions"] for each in (console, whole))
    assert found == wanted
