"""Tables of topics: values that share what is equal."""

import gc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from namekeeper.broker.topic_config_table import BodyForm, TopicConfigTable
from namekeeper.errors import ConfigError, TopicNameError
from namekeeper.messages.body_checksum import masked_crc32
from namekeeper.messages.register_broker_body import RegisterBrokerBody, encode_registration_body
from namekeeper.model.topic import TopicConfig
from namekeeper.model.version import DataVersion
from tests.unit.broker.parts import T1, T2

FORM = BodyForm(RegisterBrokerBody(DataVersion(1)), compressed=False, version=513)
configs = st.lists(
    st.builds(TopicConfig, st.text("abcd", min_size=1, max_size=2), st.integers(0, 9)), max_size=12
)


@given(configs, configs)
def test_it_is_a_dictionary_that_is_never_changed(first, second):
    table = TopicConfigTable(first)
    before = list(table)
    then = table.with_configs(*second)
    assert list(table) == before
    assert {config.topic_name: config for config in then} == {
        config.topic_name: config for config in (*first, *second)
    }
    changed = {config.topic_name for config in second}
    assert {config.topic_name for config in list(then)[len(then) - len(changed) :]} == changed


@given(configs, st.integers(2, 5))
def test_parts_have_every_topic_once_and_the_last_changed_first(some, size):
    table = TopicConfigTable(some)
    parts = table.parts(size)
    assert [config for part in parts for config in part] == list(table)[::-1]
    assert all(len(part) == size for part in parts[:-1])
    assert len(parts[-1]) < size


def test_equal_changes_of_one_table_are_one_table():
    table = TopicConfigTable([T1])
    then = table.with_configs(T2)
    assert table.with_configs(T2) is then
    assert table.with_configs(T1) is not then
    del then
    gc.collect()
    assert "T2" in table.with_configs(T2)


def test_the_last_body_is_kept():
    table = TopicConfigTable([T1, T2])
    body = table.encode(FORM)
    assert body.data == encode_registration_body(RegisterBrokerBody(DataVersion(1), (T1, T2)))
    assert body.crc32 == masked_crc32(body.data)
    assert table.encode(FORM) is body
    other = BodyForm(RegisterBrokerBody(DataVersion(2)), compressed=False, version=513)
    assert table.encode(other).data != body.data


@pytest.mark.parametrize(
    ("permission", "is_five", "perms"),
    [(6, True, [6, 4]), (4, True, [4, 4]), (2, True, [2, 0]), (4, False, [4, 4]), (2, False, [2, 2])],
)
def test_what_a_broker_forbids_no_topic_has(permission, is_five, perms):
    table = TopicConfigTable([T1, TopicConfig("R", perm=4)])
    limited = table.limited_to(permission, is_five=is_five)
    assert [config.perm for config in limited] == perms
    assert table.limited_to(permission, is_five=is_five) is limited
    assert [config.perm for config in table] == [6, 4]


@pytest.mark.parametrize("name", ["", "a b", "a\nb"])
def test_names_that_can_not_be_sent(name):
    with pytest.raises(TopicNameError):
        TopicConfigTable([TopicConfig(name)])


def test_it_knows_what_it_has():
    table = TopicConfigTable([T1, T2])
    assert ("T1" in table, "T3" in table, table.get("T2"), table.get("T3"), len(table.without("T1"))) == (
        True,
        False,
        T2,
        None,
        1,
    )


@pytest.mark.parametrize(
    ("numbers", "says"),
    [
        ((-1, 4), "topic 'x': read_queue_nums is -1; write a whole number from 0 to 2147483647"),
        ((4, -1), "write_queue_nums is -1"),
        ((2**31, 4), "read_queue_nums is 2147483648"),
        (("4", 4), "read_queue_nums is '4'"),
        ((4, None), "write_queue_nums is None"),
        ((4, 4, 16), "perm is 16; write a whole number from 0 to 15"),
    ],
)
def test_numbers_that_no_topic_can_have_are_refused(numbers, says):
    with pytest.raises(ConfigError, match=says):
        TopicConfigTable([TopicConfig("good", 4, 4), TopicConfig("x", *numbers)])
