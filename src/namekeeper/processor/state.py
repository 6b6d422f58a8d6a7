"""The complete state from which a name server answers."""

from namekeeper.config.runtime import RuntimeConfig
from namekeeper.config.settings import NamesrvSettings
from namekeeper.kvconfig.store import KvConfigStore
from namekeeper.lookup_cache.cache import LookupCache
from namekeeper.processor.route_answers import RouteAnswers
from namekeeper.route.events import Event
from namekeeper.route.missing import Missing
from namekeeper.route.tables import RouteRules, RouteTables
from namekeeper.wire.codes import SerializeType

__all__ = ["NameServerState", "rules_of"]


class NameServerState:
    """Route tables, KV configuration and settings; touched from one event loop only, so without locks."""

    def __init__(
        self,
        config: RuntimeConfig,
        kv_config: KvConfigStore,
        *,
        kv_refusal: str | None = None,
        tables: RouteTables | None = None,
    ) -> None:
        """Start with a configuration.

        Args:
            config: the properties.
            kv_config: the KV configuration.
            kv_refusal: see the attribute.
            tables: route tables that a replay has filled; None for empty ones.
        """
        self.tables = tables if tables is not None else RouteTables()
        self.tables.rules = rules_of(config.settings)
        self.kv_config = kv_config
        kv_config.entries_limit = config.settings.kv_entries_limit
        self.kv_refusal = kv_refusal
        """The reason why the server refuses 100 and 102: another process owns the file; None without one."""
        self.is_waiting_for_service = config.settings.need_wait_for_service
        """Whether the server refuses 105 because brokers may not be back yet (needWaitForService)."""
        self._has_waited_for_service = False
        self.is_draining = False
        """Whether the server is about to stop: with `enableShutdownGracefully` it answers GO_AWAY."""
        self.restored = ""
        """One line: the rows that came back from the journal at the start, or why none did."""
        self.config = config
        self.lookup_cache = LookupCache(
            config.settings.lookup_cache_bytes, counts_by_topic=config.settings.journal_enable
        )
        """Queried before a request is decoded, so each change invalidates its answers at once."""
        self.route_answers = RouteAnswers(self.tables, kv_config, config.settings, self.lookup_cache)
        self.missing = Missing()
        """The brokers that went without unregistering."""
        self.revision = 0
        """Number of changes of rows and KV entries: while it stays the same, so do all values that depend on
        them."""
        self.tables.on_change = self.changed

    @property
    def settings(self) -> NamesrvSettings:
        """The settings in effect."""
        return self.config.settings

    @property
    def cache_of_connections(self) -> LookupCache | None:
        """The cache that connections query; None if it is off, or keeps another form of answers."""
        settings = self.settings
        is_usable = settings.serialize_type == SerializeType.JSON.name and not settings.cluster_test
        return self.lookup_cache if is_usable and settings.lookup_cache_bytes else None

    def changed(self, event: Event) -> None:
        """Invalidate answers after an event, which was just applied to the tables or the KV configuration."""
        self.revision += 1
        self.route_answers.forget(event)

    def reconfigure(self, config: RuntimeConfig) -> None:
        """Apply other settings, as far as they are read while running."""
        self.config = config
        settings = config.settings
        self.tables.rules = rules_of(settings)
        self.route_answers.reconfigure(settings)
        self._update_waiting()

    def end_wait_for_service(self) -> None:
        """End the first seconds, in which brokers may not be back yet (waitSecondsForService)."""
        self._has_waited_for_service = True
        self._update_waiting()
        self.lookup_cache.topic_answers.note_lack()

    def _update_waiting(self) -> None:
        self.is_waiting_for_service = self.settings.need_wait_for_service and not self._has_waited_for_service


def rules_of(settings: NamesrvSettings) -> RouteRules:
    """The switches and limits of the route rules among the settings."""
    return RouteRules(
        delete_topic_with_broker_registration=settings.delete_topic_with_broker_registration,
        notify_min_broker_id_changed=settings.notify_min_broker_id_changed,
        broker_names_limit=settings.broker_names_limit,
        cluster_names_limit=settings.cluster_names_limit,
        brokers_limit=settings.brokers_limit,
        broker_ids_limit=settings.broker_ids_limit,
        topic_rows_limit=settings.topic_rows_limit,
        protect_broker_names=settings.protect_broker_names,
    )
