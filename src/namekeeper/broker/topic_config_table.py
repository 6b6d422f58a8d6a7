"""The topics of a broker as an immutable value, which brokers with the same topics share.

A table keeps its last encoded body: brokers that share a table and a data version send the same bytes, and a
broker whose topics don't change encodes once.
"""

import re
import weakref
from collections.abc import Iterable, Iterator

from msgspec import Struct, structs

from namekeeper.errors import ConfigError, TopicNameError
from namekeeper.messages.body_checksum import masked_crc32
from namekeeper.messages.register_broker_body import RegisterBrokerBody, encode_registration_body
from namekeeper.model.perm import Perm
from namekeeper.model.topic import TopicConfig

__all__ = ["BodyForm", "EncodedBody", "TopicConfigTable", "given_topics"]

_SPACE = re.compile(r"\s")
_READ_WRITE = Perm.READ | Perm.WRITE
_ALL_PERMS = Perm.READ | Perm.WRITE | Perm.INHERIT | Perm.PRIORITY
_MAX_QUEUES = 2**31 - 1
"""The largest int of Java."""


class BodyForm(Struct, frozen=True):
    """How a table is encoded: everything in a registration's body except the topics."""

    rest: RegisterBrokerBody
    """A body whose topics are replaced by those of the table."""
    compressed: bool
    version: int


class EncodedBody(Struct, frozen=True):
    """A registration's body with its checksum."""

    data: bytes
    crc32: int


class TopicConfigTable:
    """Topic configurations by name, in the order of their last change."""

    __slots__ = ("__weakref__", "_configs", "_encoded", "_limited", "_next")

    def __init__(self, configs: Iterable[TopicConfig] = ()) -> None:
        """Take configurations; of several with one name the last counts.

        Raises:
            TopicNameError: a name that can't be sent. System topics may have any other name, as in Java.
            ConfigError: a number of queues or a permission that no topic can have.
        """
        self._configs = {config.topic_name: config for config in configs}
        for name in self._configs:
            if not name or _SPACE.search(name):
                raise TopicNameError(name, "a topic needs a name without blanks")
        _check_numbers(self._configs.values())
        self._encoded: tuple[BodyForm, EncodedBody] | None = None
        self._limited: tuple[int, bool, TopicConfigTable] | None = None
        self._next: tuple[tuple[TopicConfig, ...], weakref.ref[TopicConfigTable]] | None = None

    def __len__(self) -> int:
        return len(self._configs)

    def __iter__(self) -> Iterator[TopicConfig]:
        return iter(self._configs.values())

    def __contains__(self, topic: str) -> bool:
        return topic in self._configs

    def get(self, topic: str) -> TopicConfig | None:
        """Return the configuration of a topic, or None."""
        return self._configs.get(topic)

    def with_configs(self, *configs: TopicConfig) -> "TopicConfigTable":
        """Return a table with these added or replaced; brokers that share this table share the new one."""
        if self._next is not None and self._next[0] == configs and (table := self._next[1]()) is not None:
            return table
        changed = {config.topic_name for config in configs}
        kept = (config for name, config in self._configs.items() if name not in changed)
        table = TopicConfigTable([*kept, *configs])
        self._next = (configs, weakref.ref(table))
        return table

    def without(self, topic: str) -> "TopicConfigTable":
        """Return a table that lacks a topic."""
        return TopicConfigTable(config for name, config in self._configs.items() if name != topic)

    def limited_to(self, broker_permission: int, *, is_five: bool) -> "TopicConfigTable":
        """Return the table of a broker that may not be read or not be written (protocol.md 6.2).

        Args:
            broker_permission: what the broker allows; with read and write nothing changes.
            is_five: a 5.x broker takes bits from each topic, a 4.x one replaces all of them.
        """
        if broker_permission & _READ_WRITE == _READ_WRITE:
            return self
        if self._limited is None or self._limited[:2] != (broker_permission, is_five):
            limited = TopicConfigTable(
                structs.replace(
                    config, perm=config.perm & broker_permission if is_five else broker_permission
                )
                for config in self
            )
            self._limited = (broker_permission, is_five, limited)
        return self._limited[2]

    def parts(self, size: int) -> "list[TopicConfigTable]":
        """Split it into tables of `size` topics, last changed ones first, and one with the rest.

        Java name servers update a topic that they know from the first part only (trap T57), so what changed
        must be in it.
        """
        configs = list(self._configs.values())[::-1]
        end = len(configs) // size * size
        return [TopicConfigTable(configs[at : at + size]) for at in range(0, end, size)] + [
            TopicConfigTable(configs[end:])
        ]

    def encode(self, form: BodyForm) -> EncodedBody:
        """Return the registration's body; the last one is kept."""
        if self._encoded is None or self._encoded[0] != form:
            body = structs.replace(form.rest, topics=tuple(self._configs.values()))
            data = encode_registration_body(body, compressed=form.compressed, version=form.version)
            self._encoded = (form, EncodedBody(data, masked_crc32(data)))
        return self._encoded[1]


def given_topics(topics: Iterable[TopicConfig]) -> tuple[TopicConfig, ...]:
    """Return the topics that a program gives.

    Raises:
        ConfigError: they are no topics but text, or one is given twice.
    """
    whole: object = topics
    if isinstance(whole, str | bytes):
        raise ConfigError(f"topics is text: write a list, [TopicConfig({whole!r})]")
    found: dict[str, TopicConfig] = {}
    for topic in topics:
        given: object = topic
        if not isinstance(given, TopicConfig):
            raise ConfigError(f"{given!r} is no topic: write TopicConfig({str(given)!r})")
        if given.topic_name in found:
            raise ConfigError(f"topic {given.topic_name!r} is given twice: leave one out")
        found[given.topic_name] = given
    return tuple(found.values())


def _check_numbers(configs: Iterable[TopicConfig]) -> None:
    """Refuse numbers that no topic can have; the topics of a broker have few different ones."""
    seen: set[tuple[object, ...]] = set()
    for config in configs:
        numbers: tuple[object, ...] = (config.read_queue_nums, config.write_queue_nums, config.perm)
        if numbers in seen:
            continue
        seen.add(numbers)
        for field, number in zip(("read_queue_nums", "write_queue_nums", "perm"), numbers, strict=True):
            most = _ALL_PERMS if field == "perm" else _MAX_QUEUES
            if not isinstance(number, int) or not 0 <= number <= most:
                raise ConfigError(
                    f"topic {config.topic_name!r}: {field} is {number!r}; write a whole number from 0 to"
                    f" {int(most)}"
                )
