"""A broker's registrations for programs without an event loop: scripts, threads, Spark's executors."""

import os
from collections.abc import Callable, Coroutine, Iterable, Mapping
from typing import Any, Self, TypeVar

from namekeeper.broker.broker_client import BrokerClient
from namekeeper.broker.namesrv_session import RegisterBrokerResult
from namekeeper.broker.registrar import BrokerRegistrar
from namekeeper.broker.settings import BrokerSettings
from namekeeper.broker.topic_config_manager import TopicConfigManager
from namekeeper.broker.topic_config_table import given_topics
from namekeeper.common.spelled_names import SpelledNames
from namekeeper.errors import ConfigError, RemotingError
from namekeeper.model.topic import TopicConfig
from namekeeper.remoting.loop_thread import loop_thread

__all__ = ["BlockingBrokerRegistrar"]

T = TypeVar("T")


class BlockingBrokerRegistrar(SpelledNames, settings=BrokerSettings):
    """`BrokerRegistrar` in blocking form, a context manager; may be used by several threads at once.

    A thread of this process registers again each period while the program does something else. A forked
    child does not register: there every call raises ConfigError, and leaving the context does nothing.
    """

    def __init__(
        self,
        settings: BrokerSettings,
        topics: Iterable[TopicConfig] = (),
        *,
        topics_file: str | os.PathLike[str] | None = None,
        client: BrokerClient | None = None,
        on_result: Callable[[RegisterBrokerResult], object] | None = None,
    ) -> None:
        """Take the settings; nothing is connected before it is entered.

        Args:
            settings: the broker, and where its name servers are.
            topics: topics that the broker must have.
            topics_file: a `topics.json` that keeps the topics over a restart.
            client: see `BrokerRegistrar`.
            on_result: gets each result as it comes, in the thread of the loop; must not block.

        Raises:
            ConfigError: topics that are text, or one given twice.
        """
        self._settings = settings
        self._topics = given_topics(topics)
        self._topics_file = topics_file
        self._client = client
        self._on_result = on_result
        self._registrar: BrokerRegistrar | None = None
        self._pid: int | None = None

    def __enter__(self) -> Self:
        """Register; raises what `BrokerRegistrar` and `TopicConfigManager.open` do."""
        self._registrar = loop_thread().run(self._open(), timeout_seconds=None)
        self._pid = os.getpid()
        return self

    def __exit__(self, *_: object) -> None:
        if self._pid == os.getpid():
            self.close()

    @property
    def registrar(self) -> BrokerRegistrar:
        """The registrar behind it; its attributes may be read from every thread.

        Raises:
            ConfigError: it isn't entered, or this is a forked child.
        """
        if self._registrar is None or self._pid != os.getpid():
            raise ConfigError(
                f"broker {self._settings.broker_addr} is not registered by this process: use `with`, "
                "and a registrar of its own in each process"
            )
        return self._registrar

    @property
    def last_results(self) -> Mapping[str, RegisterBrokerResult]:
        """As `BrokerRegistrar.last_results`, taken in the thread of the loop."""
        registrar = self.registrar

        async def look() -> Mapping[str, RegisterBrokerResult]:
            return registrar.last_results

        return self._run(look())

    @property
    def settings(self) -> BrokerSettings:
        """As `BrokerRegistrar.settings`; before it is entered, the settings that were given."""
        return self._settings if self._registrar is None else self.registrar.settings

    @property
    def topics(self) -> TopicConfigManager:
        """As `BrokerRegistrar.topics`, to read; change topics by `update_topic_config`."""
        return self.registrar.topics

    @property
    def namesrv_addrs(self) -> list[str]:
        """As `BrokerRegistrar.namesrv_addrs`."""
        return self.registrar.namesrv_addrs

    @property
    def master_addr(self) -> str | None:
        """As `BrokerRegistrar.master_addr`."""
        return self.registrar.master_addr

    @property
    def ha_server_addr(self) -> str | None:
        """As `BrokerRegistrar.ha_server_addr`."""
        return self.registrar.ha_server_addr

    def register_broker_all(
        self, *, check_order_config: bool = True, oneway: bool = False, force: bool = True
    ) -> list[RegisterBrokerResult]:
        """As `BrokerRegistrar.register_broker_all`."""
        return self._run(
            self.registrar.register_broker_all(
                check_order_config=check_order_config, oneway=oneway, force=force
            )
        )

    def need_register(self) -> dict[str, bool | RemotingError]:
        """As `BrokerRegistrar.need_register`."""
        return self._run(self.registrar.need_register())

    def update_topic_config(self, *configs: TopicConfig) -> list[RegisterBrokerResult]:
        """As `BrokerRegistrar.update_topic_config`."""
        return self._run(self.registrar.update_topic_config(*configs))

    def delete_topic_config(self, topic: str) -> bool:
        """As `BrokerRegistrar.delete_topic_config`."""
        return self._run(self.registrar.delete_topic_config(topic))

    def change_broker_permission(self, broker_permission: int) -> list[RegisterBrokerResult]:
        """As `BrokerRegistrar.change_broker_permission`."""
        return self._run(self.registrar.change_broker_permission(broker_permission))

    def change_role(self, broker_id: int, *, state_version: int | None = None) -> list[RegisterBrokerResult]:
        """As `BrokerRegistrar.change_role`."""
        return self._run(self.registrar.change_role(broker_id, state_version=state_version))

    def update_name_server_address_list(self, namesrv_addr: str) -> None:
        """As `BrokerRegistrar.update_name_server_address_list`."""
        self._run(self.registrar.update_name_server_address_list(namesrv_addr))

    def close(self) -> dict[str, RemotingError | None]:
        """As `BrokerRegistrar.close`."""
        return self._run(self.registrar.close())

    def abort(self) -> None:
        """As `BrokerRegistrar.abort`."""
        self._run(self.registrar.abort())

    def hang(self) -> None:
        """As `BrokerRegistrar.hang`."""
        self._run(self.registrar.hang())

    async def _open(self) -> BrokerRegistrar:
        manager = None
        if self._topics_file is not None:
            manager = await TopicConfigManager.open(self._topics_file, self._topics)
        registrar = BrokerRegistrar(
            self._settings, manager or self._topics, client=self._client, on_result=self._on_result
        )
        return await registrar.__aenter__()

    def _run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        # Every call of a registrar has a deadline of its own.
        return loop_thread().run(coroutine, timeout_seconds=None)
