"""The parts of a change: events that are applied in order, a result, steps without slices."""

from namekeeper.model.topic import QueueSpec
from namekeeper.model.version import DataVersion
from namekeeper.route.change import Applied, Edit, OneStep
from namekeeper.route.events import (
    BrokerGroupGone,
    BrokerHeard,
    BrokerLiveChanged,
    ClusterChanged,
)
from namekeeper.route.rows import make_row
from namekeeper.route.tables import RouteTables
from tests.support.server.builders import at, channel

RW = make_row(QueueSpec(4, 4, 6, 0), QueueSpec(4, 4, 6, 0))
RO = make_row(QueueSpec(4, 4, 4, 0), QueueSpec(4, 4, 6, 0))


def test_an_edit_applies_at_once_and_keeps_the_order():
    tables = RouteTables()
    edit = Edit(tables, at(0))
    edit.apply(ClusterChanged("c", frozenset({"a"})))
    assert tables.cluster_addr_table == {"c": frozenset({"a"})}
    edit.apply(ClusterChanged("c", frozenset()))
    assert tables.cluster_addr_table == {}
    assert edit.applied("done") == Applied(
        "done", (ClusterChanged("c", frozenset({"a"})), ClusterChanged("c", frozenset()))
    )


def test_what_is_no_row_is_kept_all_the_same():
    edit = Edit(RouteTables(), at(0))
    edit.apply(BrokerHeard("c", "addr", 1, 5))
    edit.apply(BrokerGroupGone("unknown"))
    assert len(edit.applied(None).events) == 2


def test_a_change_may_come_to_nothing():
    assert Applied(3).events == ()


def test_an_edit_passes_its_time_to_the_tables():
    tables = RouteTables()
    live = BrokerLiveChanged("c", "addr", "a", 0, "ha", 120_000, DataVersion(1), 1, "peer", 1, is_new=True)
    over = channel()
    Edit(tables, at(7)).apply(live, over)
    entry = tables.broker_live_table.get(("c", "addr"))
    assert (entry.channel, entry.idle_ms(at(8))) == (over, 1_000)


def test_a_change_of_one_step_has_no_slices():
    change = OneStep()
    tables = RouteTables()
    assert list(change.build(tables)) == []
    assert list(change.clean_up(tables, Applied(None))) == []
