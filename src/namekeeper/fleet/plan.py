"""A fleet and its actions, as values."""

from collections.abc import Mapping

from msgspec import Struct, field

from namekeeper.errors import ConfigError
from namekeeper.fleet.churn import ChurnKind
from namekeeper.model.topic import TopicConfig

__all__ = [
    "Action", "AddWritePerm", "CreateTopic", "Die", "FleetPlan", "FleetSettings", "Hang", "Heal", "Partition",
    "PlannedBroker", "Start", "Stop", "SwitchRole", "WipeWritePerm",
]  # fmt: skip

_PORTS_EACH = 10
_LAST_PORT = 65_535


class FleetSettings(Struct, frozen=True, kw_only=True):
    """Settings of a plan; equal settings give equal plans.

    Raises:
        ConfigError: a number that can't work; the message says which.
    """

    brokers: int = 4
    """Broker names, each with a master."""
    clusters: int = 1
    """Number of clusters; broker names belong to them in turn."""
    topics: int = 20
    """Topics of a cluster; each of its brokers has all of them."""
    slaves: int = 0
    """Slaves of each master."""
    churn: Mapping[ChurnKind, float] = field(default_factory=dict)
    """ChurnKind -> times an hour, in the whole fleet; see `parse_churn`."""
    seed: int = 0
    duration_seconds: float = 60.0
    namesrvs: int = 1
    """Number of name servers."""
    first_port: int = 20_911
    """Brokers are at 127.0.0.1, from this port on, ten ports each; nothing listens there."""

    def __post_init__(self) -> None:
        for name, least in (("brokers", 1), ("clusters", 1), ("topics", 0), ("slaves", 0), ("namesrvs", 1)):
            if getattr(self, name) < least:
                raise ConfigError(f"{name} is {getattr(self, name)}: it must be at least {least}")
        if self.clusters > self.brokers:
            raise ConfigError(f"{self.clusters} clusters need as many brokers, not {self.brokers}")
        capacity = (_LAST_PORT - self.first_port) // _PORTS_EACH
        if self.brokers * (1 + self.slaves) > capacity:
            raise ConfigError(
                f"{self.brokers * (1 + self.slaves)} brokers with their slaves don't fit between ports "
                f"{self.first_port} and {_LAST_PORT}: at most {capacity} do"
            )


class PlannedBroker(Struct, frozen=True):
    """One broker process of the fleet."""

    cluster_name: str
    broker_name: str
    broker_id: int
    """Broker id at the start."""
    broker_addr: str
    """Names the broker in actions."""
    ha_server_addr: str


class Action(Struct, frozen=True, tag=True):
    """Something that happens once."""

    at_ms: int
    """Milliseconds after the start."""
    because: ChurnKind
    """The kind of churn that it belongs to."""


class CreateTopic(Action, frozen=True):
    """Every broker of a cluster gets a topic."""

    cluster_name: str
    topic: TopicConfig


class Start(Action, frozen=True):
    """A broker comes back."""

    broker_addr: str


class Stop(Action, frozen=True):
    """A broker stops cleanly: it unregisters."""

    broker_addr: str


class Die(Action, frozen=True):
    """A broker dies: its connections close, it does not unregister."""

    broker_addr: str


class Hang(Action, frozen=True):
    """A broker stays connected and sends nothing until it expires."""

    broker_addr: str


class SwitchRole(Action, frozen=True):
    """A slave becomes the master of its name, and the master becomes that slave."""

    master_addr: str
    slave_addr: str
    state_version: int
    """State version of both from now on, so that name servers of 5.x accept the new master."""


class WipeWritePerm(Action, frozen=True):
    """An administrator wipes the write permission of a broker name at every name server."""

    broker_name: str


class AddWritePerm(Action, frozen=True):
    """The administrator gives the permission back."""

    broker_name: str


class Partition(Action, frozen=True):
    """A broker can no longer reach a name server."""

    broker_addr: str
    namesrv: int
    """Number of the name server, from 0."""


class Heal(Action, frozen=True):
    """The broker can reach the name server again."""

    broker_addr: str
    namesrv: int


class FleetPlan(Struct, frozen=True):
    """A fleet and all its actions."""

    settings: FleetSettings
    brokers: tuple[PlannedBroker, ...]
    topics: dict[str, tuple[TopicConfig, ...]]
    """Cluster -> the topics it has at the beginning."""
    actions: tuple[Action, ...]
    """The actions in the order of time."""
