"""`namekeeper history`: output, bad input, following."""

import json

import pytest
from click.testing import CliRunner

from namekeeper.cli.commands import history as module
from namekeeper.cli.group import namekeeper
from namekeeper.pipeline.gold.steps import make_gold
from namekeeper.route.events import BrokerLiveGone, Cause, Change
from tests.support.pipeline.duck import Duck
from tests.unit.answers.story import Story

SINCE = ("--from", "2023-11-14T00:00:00Z", "--zone", "UTC")


@pytest.fixture
def journals(tmp_path):
    words = []
    for name in ("a_1", "b_1"):
        story = Story(name)
        story.registers()
        story.wiped()
        words += ["--journal", story.folder(tmp_path / name)]
    return words


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory):
    """Of brokers that are there, and of one that went."""
    story = Story("a_1")
    story.registers()
    story.registers("gone-1", "10.0.0.9:1")
    story.unregisters("10.0.0.9:1")
    duck = Duck()
    make_gold(duck, duck.load([json.loads(line) for line in story.journal.lines()]))
    return ["--warehouse", duck.write_warehouse(tmp_path_factory.mktemp("warehouse"))]


def run(*words):
    return CliRunner().invoke(namekeeper, ["history", *words])


def test_two_name_servers_make_one_timeline(journals):
    result = run("T", *SINCE, *journals)
    lines = result.output.splitlines()
    assert result.exit_code == 0
    assert lines[-1] == (
        "2023-11-14 22:13:22.000 UTC  topic T on b0: RW- 4/4 queues -> R-- 4/4 queues"
        " (write permission wiped by peer:99)  [a_1, b_1]"
    )


def test_a_window_has_what_is_after_its_beginning_up_to_its_end(journals):
    window = ("--from", "2023-11-14T22:13:21Z", "--to", "2023-11-14T22:13:22Z", "--zone", "UTC")
    (line,) = run("T", *window, *journals).output.splitlines()
    assert "write permission wiped" in line


def test_as_json(journals):
    found = json.loads(run("b0", *SINCE, "--json", *journals).output)
    assert found[-1]["seen"] == {"a_1": 1_700_000_002_000, "b_1": 1_700_000_002_000}
    assert found[-1]["cause"] == "wipe_write_perm"


@pytest.mark.parametrize("name", ["T", "b0", "a0:1", "a0"])
def test_a_known_name_without_a_change_in_the_window_is_an_answer(journals, name):
    result = run(name, "--from", "2023-11-14T22:14:00Z", *journals)
    assert (result.exit_code, result.stderr) == (0, f"no change of {name} in this time\n")


@pytest.mark.parametrize(
    ("name", "near"), [("t_", "T"), ("b0_", "b0"), ("a0-1", "a0:1"), ("elsewhere", None)]
)  # fmt: skip
def test_a_name_without_any_record_is_no_answer_and_what_is_near_it_is_named(journals, name, near):
    suggested = f": did you mean {near}?" if near else ""
    for words in ((), ("--json",)):
        result = run(name, *SINCE, *words, *journals)
        assert result.exit_code == 4
        assert result.stderr == f"there is no record of a topic, broker or address '{name}'{suggested}\n"


@pytest.mark.parametrize(
    ("name", "near"),
    [("t_", "T"), ("b0_", "b0"), ("gone_1", "gone-1"), ("10.0.0.9:2", "10.0.0.9:1"), ("elsewhere", None)],
)  # fmt: skip
def test_in_a_warehouse_names_of_topics_brokers_and_addresses_are_near_also_of_those_that_are_gone(
    warehouse, name, near
):
    suggested = f": did you mean {near}?" if near else ""
    result = run(name, *SINCE, *warehouse)
    assert (result.exit_code, result.stderr) == (
        4, f"there is no record of a topic, broker or address '{name}'{suggested}\n",
    )  # fmt: skip


def test_in_a_warehouse_a_name_that_is_gone_has_a_history(warehouse):
    assert run("gone-1", *SINCE, *warehouse).exit_code == 0


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--from", "soon"), "Invalid value for --from: 'soon' is not a time"),
        (("--from", "9998-01-01T00:00:00Z"), "is in the future: nothing is known of it"),
        (("--from", "1 hour ago", "--to", "2 hours ago"), "1 hour ago is after --to 2 hours ago"),
        (("--follow", "--json"), "--watch can't be used with --to or --json"),
        (("--journal", "/nowhere"), "can't read /nowhere"),
    ],
)
def test_what_can_not_be_used_is_one_line(words, says):
    result = run("T", *words)
    assert result.exit_code == 2
    assert says in result.stderr


def test_new_changes_are_followed(tmp_path, monkeypatch):
    story = Story()
    story.registers()
    folder = story.folder(tmp_path)
    pauses = []

    def sleep(_seconds):
        pauses.append(1)
        if len(pauses) == 3:
            raise KeyboardInterrupt
        if len(pauses) == 1:
            story.wiped()
            story.folder(tmp_path)

    monkeypatch.setattr(module.time, "sleep", sleep)
    result = run("T", *SINCE, "--journal", folder, "--follow")
    assert result.output.count("write permission wiped") == 1
    assert result.output.count("registration") == 1


@pytest.fixture(scope="module", params=["journal", "warehouse"])
def configured(request, tmp_path_factory):
    """An order configuration that comes and goes, another KV entry, and a property: journal and warehouse."""
    story = Story("a_1")
    story.registers()
    story.ordered("T", "b0:4")
    story.ordered("another", "b0:2")
    story.ordered("T", "secret", namespace="elsewhere")
    story.configured(orderMessageEnable="true")
    story.ordered("T", None)
    story.alive()
    if request.param == "journal":
        return ["--journal", story.folder(tmp_path_factory.mktemp("journal") / "a_1")]
    duck = Duck()
    make_gold(duck, duck.load([json.loads(line) for line in story.journal.lines()]))
    return ["--warehouse", duck.write_warehouse(tmp_path_factory.mktemp("warehouse"))]


ORDERED = 'order configuration of T: none -> "b0:4" (KV entry put by peer:99)'
SWITCHED = 'property orderMessageEnable: "false" -> "true" (configuration changed by peer:99)'
UNORDERED = 'order configuration of T: "b0:4" -> none (KV entry deleted by peer:99)'
ELSEWHERE = 'KV entry elsewhere/T: none -> "secret" (KV entry put by peer:99)'


def texts(result):
    assert result.exit_code == 0, result.output
    found = [line[29:].rpartition("  [")[0] for line in result.stdout.splitlines()]
    return [text for text in found if not text.startswith("the name server started")]


def test_the_history_of_a_topic_has_its_order_configuration_and_the_properties(configured):
    """Both change the answer to a look-up of its route."""
    found = texts(run("T", *SINCE, *configured))
    assert [text for text in found if "broker" not in text and "topic" not in text] == [
        ORDERED, SWITCHED, UNORDERED,
    ]  # fmt: skip


def test_without_a_name_every_change_in_the_window_is_shown(configured):
    found = texts(run(*SINCE, *configured))
    another = 'order configuration of another: none -> "b0:2" (KV entry put by peer:99)'
    assert [text for text in found if "broker" not in text and "topic" not in text] == [
        ORDERED, another, ELSEWHERE, SWITCHED, UNORDERED,
    ]  # fmt: skip
    assert any("broker b0 (id 0) at a0:1 registered" in text for text in found)


def test_without_a_name_and_a_change_it_is_said_that_nothing_changed(journals):
    result = run("--from", "2023-11-14T22:14:00Z", *journals)
    assert (result.exit_code, result.stderr) == (0, "nothing changed in this time\n")


def test_a_property_is_no_record_of_a_name(configured):
    assert run("elsewhere-1", *SINCE, *configured).exit_code == 4


def test_settings_of_the_first_checkpoint_are_no_change(journals):
    assert "property" not in run(*SINCE, *journals).output


def test_a_setting_that_a_restart_keeps_has_not_changed(tmp_path):
    story = Story("a_1")
    story.registers()
    story.ordered()
    story.configured(orderMessageEnable="true")
    story.restarts()
    story.registers()
    lines = run("T", *SINCE, "--journal", story.folder(tmp_path / "a_1")).output
    assert lines.count("order configuration of T") == 1


def test_a_missing_broker_that_is_unregistered_is_in_the_history(tmp_path):
    story = Story("a_1")
    story.registers()
    story.connection_breaks()
    story.later()
    retired = BrokerLiveGone("c", "a0:1", "b0", 0, 1, Cause.UNREGISTER, 0, 0)
    story.journal.changed(Change(Cause.UNREGISTER, "admin:1", (retired,)))
    last = texts(run(*SINCE, "--journal", story.folder(tmp_path / "a_1")))[-1]
    assert last == "broker b0 (id 0) at a0:1 is gone (unregistered by admin:1)"


def test_who_closed_the_connection_of_a_broker_is_in_the_history(tmp_path):
    story = Story("a_1")
    story.registers()
    story.later()
    gone = BrokerLiveGone("c", "a0:1", "b0", 0, 1, Cause.CHANNEL_CLOSED, 120_000, 120_000, "idle")
    story.journal.changed(Change(Cause.CHANNEL_CLOSED, "a0:5000", (gone,)))
    last = texts(run("b0", *SINCE, "--journal", story.folder(tmp_path / "a_1")))[-1]
    assert last == (
        "broker b0 (id 0) at a0:1 is gone"
        " (connection closed from a0:5000: the name server closed it, because it was idle)"
    )
