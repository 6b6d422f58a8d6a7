"""Changes of a broker's topics by the rules of Java's TopicConfigManager.

Each bumps the data version, and is stored before it takes effect.
"""

import asyncio
import logging
import os
from collections.abc import Iterable, Mapping
from typing import Self

from msgspec import structs

from namekeeper.broker.topic_config_file import StoredTopics, TopicConfigFile
from namekeeper.broker.topic_config_table import TopicConfigTable, given_topics
from namekeeper.clock import Clock, SystemClock
from namekeeper.common.spelled_names import SpelledNames
from namekeeper.errors import ConfigError
from namekeeper.model.topic import TopicConfig
from namekeeper.model.version import DataVersion
from namekeeper.topic_name import check_topic

__all__ = ["TopicConfigManager"]

_log = logging.getLogger("namekeeper.broker")


class TopicConfigManager(SpelledNames):
    """The topics of one broker and their data version, in memory or in a `topics.json`.

    A change is stored first; if that fails, a ConfigError is raised and nothing has changed.
    """

    def __init__(
        self,
        topics: Iterable[TopicConfig] | TopicConfigTable = (),
        data_version: DataVersion | None = None,
        *,
        clock: Clock | None = None,
    ) -> None:
        """Hold topics in memory only; `open` holds them in a file.

        Args:
            topics: the topics at the beginning.
            data_version: the version of these topics; by default a first version with the present time.
            clock: gives the time stamps of versions.
        """
        self._clock = clock or SystemClock()
        self._table = topics if isinstance(topics, TopicConfigTable) else TopicConfigTable(topics)
        self._state_version = 0
        self._data_version = data_version or self._next_version(DataVersion())
        self._file: TopicConfigFile | None = None
        self._stored = StoredTopics()
        """Keeps the members of the file that we don't know."""
        self._changing = asyncio.Lock()

    @classmethod
    async def open(
        cls,
        path: str | os.PathLike[str],
        topics: Iterable[TopicConfig] = (),
        *,
        clock: Clock | None = None,
    ) -> Self:
        """Read a `topics.json`, or begin one.

        Args:
            path: the file; its folder is made when the first change is stored.
            topics: topics that the broker must have; those that the file lacks are added, as a change.
            clock: gives the time stamps of versions.

        Raises:
            ConfigError: the file and its `.bak` can't be used, or not written; the message says what to do.
            TopicNameError: a name that can't be sent.
        """
        topics = given_topics(topics)
        file = TopicConfigFile(path)
        stored = await asyncio.to_thread(file.load)
        if file.was_broken is not None:
            _log.warning("%s: %s; %s", file.path, file.was_broken, file.used_instead)
        for remark in stored.remarks:
            _log.warning("%s: %s", file.path, remark)
        manager = cls(stored.configs, stored.data_version, clock=clock)
        manager._state_version = stored.data_version.state_version
        manager._file, manager._stored = file, stored
        await manager.add_missing(topics)
        return manager

    @property
    def table(self) -> TopicConfigTable:
        """The topics as they are now."""
        return self._table

    @property
    def data_version(self) -> DataVersion:
        """The version of the table."""
        return self._data_version

    async def add_missing(self, topics: Iterable[TopicConfig]) -> None:
        """Add topics that are not there yet, as one change; those that are there stay as they are.

        Raises:
            TopicNameError: a name that can't be sent.
            ConfigError: it could not be stored.
        """
        async with self._changing:
            missing = [topic for topic in topics if topic.topic_name not in self.table]
            if missing:
                await self._change(self.table.with_configs(*missing))

    async def update_topic_config(self, *configs: TopicConfig) -> None:
        """Add topics or replace their configurations; also an equal one is a change, as in Java.

        Raises:
            TopicNameError: a name that RocketMQ forbids.
            ConfigError: it could not be stored.
        """
        for config in given_topics(configs):
            check_topic(config.topic_name)
        async with self._changing:
            await self._change(self._table.with_configs(*configs))

    async def delete_topic_config(self, topic: str) -> bool:
        """Forget a topic; returns whether there was one. Raises ConfigError if that can't be stored."""
        async with self._changing:
            if topic not in self._table:
                return False
            await self._change(self._table.without(topic))
            return True

    async def update_order_topic_config(
        self, order_topics: Mapping[str, str], *, is_five: bool = True
    ) -> bool:
        """Mark topics as ordered, as a name server's order-topic table says.

        Args:
            order_topics: topic -> order configuration, of which only the names count.
            is_five: a 4.x broker also takes the mark from topics that aren't in the table.

        Returns:
            Whether anything changed.

        Raises:
            ConfigError: it could not be stored.
        """
        async with self._changing:
            changed = [
                structs.replace(config, order=not config.order)
                for config in self._table
                if config.order != (config.topic_name in order_topics) and (is_five <= (not config.order))
            ]
            if changed:
                await self._change(self._table.with_configs(*changed))
            return bool(changed)

    async def next_version(self, *, state_version: int | None = None) -> None:
        """Change only the version: a permission of the whole broker or its role has changed.

        Args:
            state_version: that of the store from now on; name servers of 5.x let a broker with a lower one
                not take over an id.

        Raises:
            ConfigError: it could not be stored.
        """
        async with self._changing:
            before = self._state_version
            if state_version is not None:
                self._state_version = state_version
            try:
                await self._change(self._table)
            except ConfigError:
                self._state_version = before
                raise

    async def _change(self, table: TopicConfigTable) -> None:
        version = self._next_version(self._data_version)
        if self._file is not None:
            self._stored = structs.replace(self._stored, data_version=version, configs=tuple(table))
            await asyncio.to_thread(self._file.save, self._stored)
        self._table, self._data_version = table, version

    def _next_version(self, before: DataVersion) -> DataVersion:
        return DataVersion(before.counter + 1, self._state_version, self._clock.now().wall_ms)
