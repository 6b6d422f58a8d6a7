"""Messages as metrics: what was sent, what fails and what waits, by receiver."""

from pathlib import Path

from namekeeper.notifications.metrics import MessagesCollector
from namekeeper.notifications.outbox import ReceiverState
from tests.unit.notifications.seen import (
    FAILED,
    START,
    found,
    receiver,
    sent_until_quiet,
    settings_of,
    started,
)

REFERENCE = Path(__file__).resolve().parents[3] / "docs" / "reference" / "messages.md"


def samples(receivers) -> dict[tuple[str, str], float]:
    return {
        (sample.name.removeprefix("namekeeper_messages_"), sample.labels["receiver"]): sample.value
        for family in MessagesCollector(receivers).collect()
        for sample in family.samples
    }


def test_each_receiver_has_what_was_sent_and_what_waits():
    settings = settings_of(receiver("ops"), receiver("pager"))
    outbox = started(settings, found("a", START - 60_000), found("b", START - 120_000, cluster="d"))
    assert len(sent_until_quiet(outbox, settings, START, "ops")) == 2
    assert outbox.next_message(settings.receivers[1], settings, START) is not None
    outbox.finish("pager", FAILED, START)
    assert samples(outbox.receivers) == {
        ("sent_total", "ops"): 2, ("given_up_total", "ops"): 0, ("failing", "ops"): 0, ("waiting", "ops"): 0,
        ("sent_total", "pager"): 0, ("given_up_total", "pager"): 0, ("failing", "pager"): 1, ("waiting", "pager"): 2,
    }  # fmt: skip


def test_each_metric_has_a_row_in_the_documents():
    rows = [line for line in REFERENCE.read_text().splitlines() if line.startswith("| `namekeeper_messages_")]
    assert {row.split("`")[1] for row in rows} == {name for name, _ in prefixed()}


def prefixed():
    return {(f"namekeeper_messages_{name}", to) for name, to in samples({"ops": ReceiverState(since=0)})}
