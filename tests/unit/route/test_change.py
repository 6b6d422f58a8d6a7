"""What a change is made of: a turn's instant, events applied in order, a result."""

from namekeeper.route.change import Applied, Edit, Turn, shown
from namekeeper.route.events import BrokerGroupGone, BrokerHeard, ClusterChanged
from namekeeper.route.tables import RouteTables
from tests.support.server.builders import at


def test_an_edit_applies_at_once_and_keeps_the_order():
    tables = RouteTables()
    edit = Edit(tables)
    edit.apply(ClusterChanged("c", frozenset({"a"})))
    assert tables.cluster_addr_table == {"c": frozenset({"a"})}
    edit.apply(ClusterChanged("c", frozenset()))
    assert tables.cluster_addr_table == {}
    assert edit.applied("done") == Applied(
        "done", (ClusterChanged("c", frozenset({"a"})), ClusterChanged("c", frozenset()))
    )


def test_what_is_no_row_is_kept_all_the_same():
    edit = Edit(RouteTables())
    edit.apply(BrokerHeard("c", "addr", 1, 5))
    edit.apply(BrokerGroupGone("unknown"))
    assert len(edit.applied(None).events) == 2


def test_a_change_may_come_to_nothing():
    assert Applied(3).events == ()


def test_a_turn_has_the_instant_that_was_set_last():
    turn = Turn(at(1))
    turn.now = at(2)
    assert turn.now == at(2)


def run(turns):
    """What each turn gave."""
    given = []
    while True:
        try:
            given.append(next(turns))
        except StopIteration as stop:
            return [*given, stop.value]


def test_a_visible_change_is_told_once_in_the_turn_in_which_it_is():
    applied = Applied("done")
    assert run(shown(applied, ())) == [applied]
    assert run(shown(applied, [None])) == [applied, None]
    assert run(shown(applied, [None, None])) == [applied, None, None]
