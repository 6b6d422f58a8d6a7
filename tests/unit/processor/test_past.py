"""The state of the past, and what it refuses."""

import pytest

from namekeeper.errors import RequestError
from namekeeper.processor.dispatch import CHANGERS, LISTERS, READERS
from namekeeper.processor.past import past_state, refuse_change
from namekeeper.processor.routing import get_route_info_by_topic
from namekeeper.route.tables import RouteTables
from namekeeper.wire.codes import RequestCode
from namekeeper.wire.command import request


def test_it_answers_from_the_tables_the_kv_entries_and_the_properties_that_it_was_given():
    tables = RouteTables()
    state = past_state(tables, {"s": {"k": "v"}}, {"supportActingMaster": "true", "ours": "1"})
    assert state.tables is tables
    assert state.kv_config.get("s", "k") == "v"
    assert state.settings.support_acting_master
    assert "ours=1\n" in state.config.text()


def test_it_does_not_wait_for_brokers_even_if_the_live_one_did():
    state = past_state(RouteTables(), {}, {"needWaitForService": "true"})
    asked = request(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "T"})
    assert get_route_info_by_topic(state, asked).code == 17


@pytest.mark.parametrize("code", sorted(CHANGERS))
def test_whatever_could_change_something_is_refused_and_the_instant_is_named(code: int):
    with pytest.raises(RequestError) as refused:
        refuse_change(request(code, {}), "this is the past")
    assert (refused.value.code, refused.value.remark) == (16, "this is the past")


@pytest.mark.parametrize("code", sorted({*READERS, *LISTERS, 4_711}))
def test_what_changes_nothing_is_not_refused(code: int):
    assert refuse_change(request(code, {}), "this is the past") is None
