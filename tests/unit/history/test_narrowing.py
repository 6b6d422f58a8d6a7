"""Which steps, rows and brokers count for a topic."""

from msgspec import structs

from namekeeper.history.narrowing import (
    BrokersOfTopic,
    is_later_part_of,
    narrowed,
    steps_of_broker,
    steps_of_topic,
)
from namekeeper.history.rows import GroupKey, LiveKey, Rows, TopicKey
from namekeeper.journal.contract.record import (
    BrokerGroup,
    BrokerLive,
    BrokerNameRemovedRecord,
    Record,
    ServerStarted,
    TopicQueues,
)
from namekeeper.journal.reading.coverage import Coverage
from namekeeper.journal.reading.history import Began, Changed, CheckpointApplied, Lost, Seen, Step

QUEUES = (8, 8, 6, 0)


def live(name: str, addr: str = "a:1") -> BrokerLive:
    return BrokerLive(
        cluster="c", broker_addr=addr, broker_name=name, broker_id=0, gen=1, data_version=(0, 0, 0)
    )


def has(name: str, *topics: str) -> TopicQueues:
    return TopicQueues(broker_name=name, rows=[(topic, *QUEUES) for topic in topics])


def lost(name: str, topic: str) -> TopicQueues:
    return TopicQueues(broker_name=name, rows=[(topic,)])


def changed(*records: Record) -> Changed:
    return Changed(1, 5, 5, list(records))


def checkpoint(*records: Record) -> CheckpointApplied:
    rows = Rows()
    rows.apply(records)
    return CheckpointApplied(1, 2, 2, rows)


def group(name: str) -> BrokerGroup:
    return BrokerGroup(broker_name=name, cluster="c", broker_addrs={0: "a:1"})


def test_a_change_keeps_sessions_and_the_rows_of_the_topic():
    found = narrowed(
        changed(live("b"), group("b"), has("b", "T", "U"), has("T", "U", "T"), has("b", "U")), "T"
    )
    assert isinstance(found, Changed)
    assert found.records == [live("b"), has("b", "T"), has("T", "T")]
    assert narrowed(changed(group("b"), has("b", "U")), "T") == Seen(1, 5, 5, None)


def test_a_checkpoint_keeps_sessions_and_the_rows_of_the_topic():
    found = narrowed(checkpoint(live("b"), group("b"), has("b", "T", "U")), "T")
    assert isinstance(found, CheckpointApplied)
    assert found.state.of.keys() == {LiveKey("c", "a:1"), TopicKey("T", "b")}
    whole = checkpoint(group("b"))
    narrowed(whole, "T")
    assert whole.state.of.keys() == {GroupKey("b")}


def test_a_narrowed_checkpoint_has_the_label():
    whole = structs.replace(checkpoint(group("b"), has("b", "T")), cluster_label="east")
    for found in (narrowed(whole, "T"), *steps_of_topic([whole]), *steps_of_broker([whole], "b")):
        assert isinstance(found, CheckpointApplied)
        assert found.cluster_label == "east"


def test_sessions_of_other_brokers_do_not_count_but_where_they_end_one():
    present = {LiveKey("c", "a:1")}
    step = changed(live("b", "b:1"), live("stranger", "a:1"), live("stranger", "c:1"))
    found = narrowed(step, "T", {"b"}, present)
    assert isinstance(found, Changed)
    assert found.records == [live("b", "b:1"), live("stranger", "a:1")]
    rows = narrowed(checkpoint(live("b", "b:1"), live("x", "a:1"), live("x", "c:1")), "T", {"b"}, present)
    assert isinstance(rows, CheckpointApplied)
    assert rows.state.of.keys() == {LiveKey("c", "b:1"), LiveKey("c", "a:1")}


def test_the_steps_of_a_topic_have_topics_and_groups_alone():
    removed = BrokerNameRemovedRecord(broker_name="b")
    seen = Seen(1, 7, 7, live("b"))
    steps = [
        changed(live("b"), group("b"), has("b", "T", "U"), removed),
        changed(live("b")),
        checkpoint(live("b"), group("b")),
        seen,
    ]
    kept, left_out, shown, other = steps_of_topic(steps)
    assert kept == changed(group("b"), has("b", "T", "U"), removed)
    assert left_out == Seen(1, 5, 5, None)
    assert isinstance(shown, CheckpointApplied)
    assert shown.state.of.keys() == {GroupKey("b")}
    assert other == Seen(1, 7, 7, None)


def test_the_steps_of_a_broker_have_its_addresses_from_its_first_row_on():
    other, gone = live("other"), live("b")
    gone.gone = True
    steps = [
        changed(other),
        changed(gone),
        changed(live("b"), group("b")),
        changed(other, live("x", "b:1")),
        checkpoint(live("b"), live("x", "b:1")),
    ]
    before, never, first, after, shown = steps_of_broker(steps, "b")
    assert before == never == Seen(1, 5, 5, None)
    assert (first, after) == (changed(live("b")), changed(other))
    assert isinstance(shown, CheckpointApplied)
    assert shown.state.of.keys() == {LiveKey("c", "a:1")}
    (by_addr,) = steps_of_broker([changed(live("x", "b:1"), other)], "b:1")
    assert by_addr == changed(live("x", "b:1"))


def brokers_after(*steps: Step, limit: int = 10) -> set[str]:
    brokers = BrokersOfTopic("T", limit)
    for step in steps:
        brokers.take(step)
    return set(brokers.names)


def test_brokers_that_had_the_topic_are_found():
    assert brokers_after(checkpoint(has("a", "T"), has("b", "U")), changed(has("c", "T", "U"))) == {"a", "c"}


def test_brokers_that_have_the_topic_stay_whatever_others_do():
    """There may be ever new ones that lose it."""
    others = [changed(has(f"x{n}", "T"), lost(f"x{n}", "T")) for n in range(20)]
    assert brokers_after(checkpoint(has("a", "T")), *others, limit=2) == {"a", "x18", "x19"}


def test_a_broker_loses_the_topic_with_its_name_at_a_start_and_in_a_checkpoint():
    other = changed(has("x", "T"), lost("x", "T"))
    began = Began(2, 1, 9, ServerStarted(uuid="u", server_version="1"))
    for ending in (changed(BrokerNameRemovedRecord(broker_name="a")), began, checkpoint()):
        assert brokers_after(changed(has("a", "T")), ending, other, limit=1) == {"x"}
        assert brokers_after(changed(has("a", "T")), ending, changed(has("a", "T")), other, limit=1) == {
            "a",
            "x",
        }


def test_a_window_or_the_end_of_a_loss_is_a_later_part_of_a_time():
    observed = changed(live("b"))
    observed.records[0].window_ms = 3
    coverage = Coverage()
    assert [is_later_part_of(at, observed, coverage) for at in (1, 2, 4)] == [False, True, True]
    assert not is_later_part_of(4, changed(live("b")), coverage)
    coverage.take(checkpoint())
    end = CheckpointApplied(1, 9, 9, Rows())
    assert not is_later_part_of(4, end, coverage)
    coverage.take(Lost(1, 3, 3))
    assert [is_later_part_of(at, end, coverage) for at in (2, 3, 4)] == [False, True, True]
