"""When rows are known to have been valid, and by what they ended, where several records have one time."""

from namekeeper.answers.incidents.facts import facts_of
from namekeeper.history.history import History
from namekeeper.history.rows import Rows
from namekeeper.journal.contract.record import BrokerLive, Record, ServerStarted, TopicQueues
from namekeeper.journal.reading.history import Began, Changed, CheckpointApplied, Lost, Seen, Step

STARTED = ServerStarted(uuid="u", server_version="0")


def queues(*row: int, cause: str = "") -> TopicQueues:
    return TopicQueues(broker_name="b0", rows=[["T", *row]], cause=cause)


def live(gen: int = 1, version: int = 1, **more: object) -> BrokerLive:
    values = {
        "cluster": "c", "broker_addr": "b0:1", "broker_name": "b0", "broker_id": 0, "gen": gen,
        "data_version": (0, 0, version), **more,
    }  # fmt: skip
    return BrokerLive(**values)  # type: ignore[arg-type]


def checkpoint(ts: int, *records: Record, boot: int = 1) -> Step:
    rows = Rows()
    rows.apply(records)
    return CheckpointApplied(boot, ts, ts, rows)


def facts(*steps: Step):
    history = History("ns-1")
    for step in steps:
        history.take(step)
    found = facts_of(history)
    assert found is not None
    return found


def topics(*steps: Step):
    return [
        (each.write_queue_nums, each.valid_from, each.valid_to, each.ended_by, each.to_cause)
        for each in facts(*steps).topics
    ]


GONE = Changed(1, 20, 20, [queues(cause="delete_topic")])
BACK = Changed(1, 21, 20, [queues(8, 8, 6, 0, cause="register_topic")])
END = Seen(1, 90, 90, None)


def test_a_row_that_is_replaced_at_the_instant_of_its_end_changed():
    assert topics(checkpoint(10, queues(4, 4, 6, 0)), GONE, BACK, END) == [
        (4, 10, 20, "changed", "register_topic"), (8, 20, None, None, None),
    ]  # fmt: skip


def test_a_row_ends_by_the_last_record_of_the_instant():
    again = Changed(1, 22, 20, [queues(cause="unregister_broker")])
    assert topics(checkpoint(10, queues(4, 4, 6, 0)), GONE, BACK, again, END) == [
        (4, 10, 20, "gone", "unregister_broker")
    ]


def test_a_row_that_is_the_same_again_at_once_goes_on():
    same = Changed(1, 21, 20, [queues(4, 4, 6, 0, cause="register_topic")])
    assert topics(checkpoint(10, queues(4, 4, 6, 0)), GONE, same, END) == [(4, 10, None, None, None)]


def test_a_change_at_the_instant_of_a_loss_is_what_ended_a_row():
    found = topics(checkpoint(10, queues(4, 4, 6, 0)), GONE, BACK, Lost(1, 21, 20), checkpoint(50), END)
    assert found == [(4, 10, 20, "changed", "register_topic")]


def test_a_row_that_a_checkpoint_confirms_after_a_loss_has_a_period_before_and_one_after_it():
    row = queues(4, 4, 6, 0)
    assert topics(checkpoint(10, row), Lost(1, 20, 20), checkpoint(50, row), END) == [
        (4, 10, 20, "unknown", None), (4, 50, None, None, None),
    ]  # fmt: skip


def test_a_session_goes_on_when_the_data_of_its_broker_change():
    changed = Changed(1, 20, 20, [live(version=2)])
    gone = Changed(1, 30, 30, [live(gone=True, reason="expired", cause="expired")])
    (session,) = facts(checkpoint(10, live()), changed, gone, END).sessions
    assert (session.valid_from, session.valid_to, session.ended_by, session.reason) == (
        10,
        30,
        "gone",
        "expired",
    )


def test_a_new_generation_and_a_new_boot_are_other_sessions():
    again = Changed(1, 20, 20, [live(gen=2)])
    found = facts(
        checkpoint(10, live()),
        again,
        Lost(1, 30, 30),
        Began(2, 1, 40, STARTED),
        checkpoint(41, live(gen=2), boot=2),
    )
    assert [(each.boot, each.valid_from, each.valid_to, each.ended_by) for each in found.sessions] == [
        (1, 10, 20, "changed"), (1, 20, 30, "unknown"), (2, 41, None, None),
    ]  # fmt: skip
