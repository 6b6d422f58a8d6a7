"""One registration: its requests are built once and sent to every name server (protocol.md 6.4)."""

import asyncio
from collections.abc import Iterable

from msgspec import Struct, structs

from namekeeper.broker.payload import (
    encoded_register_broker_request,
    query_data_version_request,
    unregister_broker_request,
)
from namekeeper.broker.settings import BrokerSettings
from namekeeper.broker.topic_config_table import BodyForm, TopicConfigTable
from namekeeper.errors import ConfigError
from namekeeper.messages.register_broker_body import RegisterBrokerBody
from namekeeper.messages.registration import QueryDataVersionRequestHeader, UnRegisterBrokerRequestHeader
from namekeeper.model.registration import RegisterBrokerHeader
from namekeeper.model.topic import TopicConfig
from namekeeper.model.version import DataVersion
from namekeeper.wire.codec import encode_command
from namekeeper.wire.command import RemotingCommand
from namekeeper.wire.frames import DEFAULT_MAX_FRAME_BYTES

__all__ = ["BrokerState", "Registration"]


class BrokerState(Struct, frozen=True):
    """The settings, topics and version of a broker at one time."""

    settings: BrokerSettings
    table: TopicConfigTable
    data_version: DataVersion

    @property
    def header(self) -> RegisterBrokerHeader:
        """The header of its registrations."""
        return self.settings.header()

    def query(self, data_version: DataVersion, *, oneway: bool = False) -> RemotingCommand:
        """Build the question whether a name server has this version of the broker (322)."""
        settings = self.settings
        header = QueryDataVersionRequestHeader(
            settings.broker_name, settings.broker_addr, settings.cluster_name, settings.broker_id
        )
        return query_data_version_request(header, data_version, oneway=oneway)

    def unregister(self) -> RemotingCommand:
        """Build UNREGISTER_BROKER (104)."""
        settings = self.settings
        return unregister_broker_request(
            UnRegisterBrokerRequestHeader(
                settings.broker_name, settings.broker_addr, settings.cluster_name, settings.broker_id
            )
        )


class Registration:
    """Requests of one registration; those with all topics are built when the first session needs them."""

    def __init__(
        self,
        state: BrokerState,
        *,
        changed: Iterable[TopicConfig] = (),
        before: DataVersion | None = None,
        force: bool = True,
        oneway: bool = False,
    ) -> None:
        """Build no request yet.

        Args:
            state: what is registered.
            changed: the only topics that a name server with the version `before` lacks; none to send all.
            before: the version before this change.
            force: send without asking for the data version first.
            oneway: request no answers.
        """
        self.state = state
        self.before = before
        self.force = force or state.settings.enable_split_registration
        self.oneway = oneway
        self._changed = TopicConfigTable(changed)
        self._building = asyncio.Lock()
        self._full: list[RemotingCommand] | None = None

    @property
    def is_incremental(self) -> bool:
        """Whether it has only changed topics."""
        return bool(len(self._changed))

    @property
    def has_one_topic(self) -> bool:
        """Whether there is one topic: a 5.x name server refuses this of a new broker (trap T10)."""
        return len(self.state.table) == 1

    def incremental(self) -> list[RemotingCommand]:
        """Build the request with the changed topics only."""
        return [self._request(self._limited(self._changed))]

    def first(self) -> list[RemotingCommand]:
        """Build a registration without topics, under another version than the next one, to add the broker."""
        return [
            self._request(
                TopicConfigTable(), DataVersion(state_version=self.state.data_version.state_version)
            )
        ]

    async def full(self) -> list[RemotingCommand]:
        """Build the requests with all topics, once; ConfigError if they are too large for a frame."""
        async with self._building:
            if self._full is None:
                # Compression is slow; in a thread it does not block the loop.
                compressed = self.state.settings.compressed_register
                self._full = await asyncio.to_thread(self._build) if compressed else self._build()
            return self._full

    def _build(self) -> list[RemotingCommand]:
        settings, table = self.state.settings, self._limited(self.state.table)
        split = settings.enable_split_registration
        tables = table.parts(settings.split_registration_size) if split else [table]
        return [self._request(part) for part in tables]

    def _limited(self, table: TopicConfigTable) -> TopicConfigTable:
        settings = self.state.settings
        return table.limited_to(settings.broker_permission, is_five=settings.is_five)

    def _request(self, table: TopicConfigTable, data_version: DataVersion | None = None) -> RemotingCommand:
        settings = self.state.settings
        rest = RegisterBrokerBody(
            data_version=data_version or self.state.data_version,
            filter_servers=settings.filter_servers,
            mappings=settings.mappings,
            mapping_data_version=data_version or self.state.data_version,
        )
        body = table.encode(BodyForm(rest, compressed=settings.compressed_register, version=settings.version))
        header = structs.replace(
            self.state.header, compressed=settings.compressed_register, body_crc32=body.crc32
        )
        request = encoded_register_broker_request(header, body.data, version=settings.version)
        return _checked(request, len(table))


def _checked(request: RemotingCommand, topics: int) -> RemotingCommand:
    """Refuse a request that is too long: a name server would close the connection, which ends the broker."""
    head = encode_command(structs.replace(request, body=b""))
    size = len(head) + len(request.body)
    if size > DEFAULT_MAX_FRAME_BYTES:
        raise ConfigError(
            f"the registration of {topics} topics has {size} bytes, and a name server takes "
            f"{DEFAULT_MAX_FRAME_BYTES}; set compressed_register or enable_split_registration"
        )
    return request
