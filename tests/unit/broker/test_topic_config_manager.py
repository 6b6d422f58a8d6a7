"""The rules by which a broker's topics and their version change."""

import asyncio
import logging
from pathlib import Path

import pytest

from namekeeper.broker.topic_config_file import TopicConfigFile
from namekeeper.broker.topic_config_manager import TopicConfigManager
from namekeeper.errors import ConfigError, TopicNameError
from namekeeper.model.topic import TopicConfig
from namekeeper.model.version import DataVersion
from tests.unit.broker.parts import T1, T2, FakeTime

T1_ORDERED = TopicConfig("T1", 4, 4, order=True)


def manager(*topics, **more):
    return TopicConfigManager(topics or (T1, T2), clock=FakeTime(), **more)


async def test_every_change_bumps_the_version_also_an_equal_one():
    held = manager(data_version=DataVersion(5, 0, 1))
    await held.update_topic_config(T1)
    assert held.data_version == DataVersion(6, 0, FakeTime().now().wall_ms)
    await held.next_version()
    assert held.data_version.counter == 7
    assert await held.delete_topic_config("T1")
    assert held.data_version.counter == 8
    assert not await held.delete_topic_config("T1")
    assert held.data_version.counter == 8


async def test_the_state_version_stays_until_it_is_changed():
    held = manager()
    await held.next_version(state_version=9)
    await held.update_topic_config(T1)
    assert held.data_version.state_version == 9


async def test_5x_only_sets_the_mark_of_order_and_4x_takes_it_too():
    for is_five, marked in ((True, {"T1", "T2"}), (False, {"T2"})):
        held = manager(T1_ORDERED, T2)
        assert await held.update_order_topic_config({"T2": "a:4", "T9": "a:4"}, is_five=is_five)
        assert {config.topic_name for config in held.table if config.order} == marked
        assert held.data_version.counter == 2
        assert not await held.update_order_topic_config({"T2": "a:4"}, is_five=is_five)
        assert held.data_version.counter == 2


async def test_a_forbidden_name_changes_nothing():
    held = manager()
    with pytest.raises(TopicNameError):
        await held.update_topic_config(TopicConfig("fine"), TopicConfig("not fine"))
    assert (len(held.table), held.data_version.counter) == (2, 1)


async def test_topics_survive_a_restart(tmp_path):
    path = tmp_path / "store" / "config" / "topics.json"
    first = await TopicConfigManager.open(path, (T1,), clock=FakeTime())
    await first.update_topic_config(T2)
    await first.next_version(state_version=4)
    again = await TopicConfigManager.open(path, (T1,), clock=FakeTime())
    assert list(again.table) == [T1, T2]
    assert again.data_version == first.data_version
    await again.next_version()
    assert (again.data_version.state_version, again.data_version.counter) == (
        4,
        first.data_version.counter + 1,
    )


async def test_what_the_file_lacks_is_added_and_what_it_has_stays(tmp_path):
    path = tmp_path / "topics.json"
    first = await TopicConfigManager.open(path, (T1_ORDERED,))
    again = await TopicConfigManager.open(path, (T1, T2))
    assert list(again.table) == [T1_ORDERED, T2]
    assert again.data_version.counter == first.data_version.counter + 1


async def test_what_can_not_be_stored_does_not_happen(tmp_path):
    held = await TopicConfigManager.open(tmp_path / "topics.json", (T1,))
    before = held.data_version
    (tmp_path / "topics.json").unlink()
    (tmp_path / "topics.json").mkdir()
    for change in (
        held.update_topic_config(T2),
        held.delete_topic_config("T1"),
        held.next_version(state_version=3),
    ):
        with pytest.raises(ConfigError, match="can't write"):
            await change
    assert (list(held.table), held.data_version) == ([T1], before)
    (tmp_path / "topics.json").rmdir()
    await held.update_topic_config(T2)
    assert held.data_version.state_version == 0


async def test_a_backup_in_use_is_a_line_in_the_log(tmp_path, caplog):
    path = tmp_path / "topics.json"
    held = await TopicConfigManager.open(path, (T1,))
    await held.update_topic_config(T2)
    await asyncio.to_thread(Path.write_bytes, path, b"{")
    with caplog.at_level(logging.WARNING, "namekeeper.broker"):
        again = await TopicConfigManager.open(path)
    assert list(again.table) == [T1]
    assert ".bak" in caplog.text


async def test_changes_at_the_same_time_are_all_stored(tmp_path):
    path = tmp_path / "topics.json"
    held = await TopicConfigManager.open(path, (T1,))
    await asyncio.gather(*(held.update_topic_config(TopicConfig(f"N{number}")) for number in range(5)))
    stored = await asyncio.to_thread(TopicConfigFile(path).load)
    assert stored.configs == tuple(held.table)
    assert len(stored.configs) == 6
    assert stored.data_version == held.data_version
