"""Reads and writes the file of the expected state: TOML that people review and edit.

An error is one line that names the place and what to write there.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from namekeeper.access.rules_file import parse_toml
from namekeeper.answers.times import instant_of, iso_text
from namekeeper.common.near_names import did_you_mean
from namekeeper.config.keyed_values import refuse_unknown_keys
from namekeeper.errors import ConfigError
from namekeeper.expected.state import ExpectedCluster, ExpectedQueues, ExpectedState
from namekeeper.files import read_named_text
from namekeeper.model.perm import format_perm

__all__ = ["FILE_LIMIT", "ROWS_LIMIT", "expected_text", "parse_expected", "read_expected"]

FILE_LIMIT = 32 << 20
"""Most bytes of a file: 100,000 topics with rows of their own on four brokers take less."""

ROWS_LIMIT = 5_000_000
"""Most rows of topics, one for each broker: 300 brokers of 10,000 topics have 3,000,000."""

_TOP = ("since", "cluster")
_CLUSTER = (
    "name",
    "name_servers",
    "allow_other_brokers",
    "allow_other_topics",
    "brokers",
    "topics",
    "orders",
    "writable",
)
_QUEUES = ("read", "write", "perm", "on")
_PERMS = {format_perm(perm): perm for perm in range(8)}
_DOTS = 40
"""A name with more dots has them as escapes: `parse_toml` refuses long chains of names."""
_HEAD = """\
# What must be there. Review it and change it: `namekeeper expect check` compares it with what is there.
# Reference: docs/reference/expect.md of Namekeeper.
"""


def read_expected(path: str) -> ExpectedState:
    """Read a file.

    Raises:
        ConfigError: it can't be used; one line says what is wrong, where, and what to do.
    """
    return parse_expected(read_named_text(path, limit=FILE_LIMIT), source=path)


def parse_expected(text: str, *, source: str) -> ExpectedState:
    """Read the text of a file.

    Args:
        text: TOML.
        source: the file's name, for messages.

    Raises:
        ConfigError: a part of it can't be used.
    """
    table = parse_toml(text, source=source)
    refuse_unknown_keys(table, _TOP, source)
    rows = table.get("cluster")
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        raise ConfigError(f"{source}: it expects no cluster: write [[cluster]], and its lines below")
    clusters = tuple(_cluster(row, number, source) for number, row in enumerate(rows, 1))
    _refuse_twins(clusters, source)
    return ExpectedState(_instant(table.get("since"), source), clusters)


def expected_text(state: ExpectedState) -> str:
    """The text of a file that reads as this state.

    Raises:
        ConfigError: a name can't be written as TOML.
    """
    return _HEAD + "".join(f"{line}\n" for line in _lines(state))


def _instant(value: object, source: str) -> int:
    where = f'{source}: since must be a time such as "2026-01-31T03:12:00Z"'
    if isinstance(value, datetime):
        raise ConfigError(f'{where}, in quotes: since = "{value.isoformat()}"')
    if not isinstance(value, str):
        raise ConfigError(f"{where}: nothing before it is a deviation")
    try:
        return instant_of(value, now_ms=0, zone=UTC)
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from None


def _cluster(row: Mapping[str, Any], number: int, source: str) -> ExpectedCluster:
    name = row.get("name")
    if not isinstance(name, str):
        raise ConfigError(f'{source}: cluster number {number} has no name: name = "DefaultCluster"')
    where = f"{source}: cluster {name!r}"
    refuse_unknown_keys(row, _CLUSTER, where)
    brokers = {
        broker: _members(ids, f"{where}: brokers: {broker!r}")
        for broker, ids in _table(row, "brokers", where, '"broker-a" = [0, 1]').items()
    }
    topics = _topics(row, brokers, where)
    orders = _table(row, "orders", where, '"orders" = "broker-a:8;broker-b:8"')
    for topic, text in orders.items():
        if topic not in topics:
            raise ConfigError(
                f"{where}: orders: {topic!r} is not among its topics{did_you_mean(topic, topics)}"
            )
        if not isinstance(text, str):
            raise ConfigError(f'{where}: orders: {topic!r} must be a text such as "broker-a:8;broker-b:8"')
    writable = _table(row, "writable", where, '"orders" = 16')
    for topic, count in writable.items():
        if not _is_count(count) or not count:
            raise ConfigError(
                f'{where}: writable: {topic!r} must be the least number of queues to write to: "orders" = 16'
            )
    return ExpectedCluster(
        name=name,
        name_servers=tuple(_texts(row.get("name_servers"), f'{where}: name_servers = ["10.0.0.1_9876"]')),
        brokers=brokers,
        topics=topics,
        orders=orders,
        writable=writable,
        allow_other_brokers=_flag(row, "allow_other_brokers", where),
        allow_other_topics=_flag(row, "allow_other_topics", where),
    )


def _topics(
    row: Mapping[str, Any], brokers: Mapping[str, object], where: str
) -> dict[str, dict[str, ExpectedQueues]]:
    topics: dict[str, dict[str, ExpectedQueues]] = {}
    count = 0
    for topic, value in _table(
        row, "topics", where, '"orders" = { read = 8, write = 8, perm = "RW-" }'
    ).items():
        topics[topic] = _topic(value, brokers, f"{where}: topic {topic!r}")
        count += len(topics[topic])
        if count > ROWS_LIMIT:
            raise ConfigError(f"{where}: its topics have more than {ROWS_LIMIT:,} rows, one for each broker")
    return topics


def _table(row: Mapping[str, Any], key: str, where: str, example: str) -> Mapping[str, Any]:
    value = row.get(key, {})
    if not isinstance(value, dict):
        raise ConfigError(f"{where}: {key} must be a table [cluster.{key}] with lines such as {example}")
    return value


def _members(value: object, where: str) -> frozenset[int]:
    if not isinstance(value, list) or not value or not all(_is_count(each) for each in value):
        raise ConfigError(f"{where} must be a list of the ids of its members: [0, 1]")
    return frozenset(value)


def _topic(value: object, brokers: Mapping[str, object], where: str) -> dict[str, ExpectedQueues]:
    found: dict[str, ExpectedQueues] = {}
    for row in value if isinstance(value, list) and value else [value]:
        if not isinstance(row, dict):
            raise ConfigError(f'{where} must be {{ read = 8, write = 8, perm = "RW-" }}, or a list of such')
        refuse_unknown_keys(row, _QUEUES, where)
        queues = ExpectedQueues(
            _count(row, "read", where), _count(row, "write", where), _perm(row.get("perm"), where)
        )
        for broker in _texts(row["on"], f'{where}: on = ["broker-a"]') if "on" in row else brokers:
            if broker not in brokers:
                raise ConfigError(
                    f"{where}: on: {broker!r} is not among the brokers of its cluster"
                    f"{did_you_mean(broker, brokers)}"
                )
            if broker in found:
                raise ConfigError(f"{where} has two rows on {broker!r}: leave one out")
            found[broker] = queues
    return found


def _count(row: Mapping[str, Any], key: str, where: str) -> int:
    value = row.get(key)
    if not _is_count(value):
        raise ConfigError(f"{where}: {key} must be a number of queues: {key} = 8")
    assert isinstance(value, int)
    return value


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63


def _perm(value: object, where: str) -> int:
    if isinstance(value, str) and value in _PERMS:
        return _PERMS[value]
    if _is_count(value):
        assert isinstance(value, int)
        return value
    raise ConfigError(f'{where}: perm must be one of {", ".join(sorted(_PERMS))}: perm = "RW-"')


def _texts(value: object, where: str) -> list[str]:
    if not isinstance(value, list) or not value or not all(isinstance(each, str) for each in value):
        raise ConfigError(f"{where}: it must be a list of names, and at least one")
    seen: set[str] = set()
    for each in value:
        if each in seen:
            raise ConfigError(f"{where}: it names {each!r} twice")
        seen.add(each)
    return value


def _flag(row: Mapping[str, Any], key: str, where: str) -> bool:
    value = row.get(key, False)
    if not isinstance(value, bool):
        raise ConfigError(f"{where}: {key} can't be {value!r}: write true or false")
    return value


def _refuse_twins(clusters: Iterable[ExpectedCluster], source: str) -> None:
    """A name server has one cluster of a name, and one broker of a name."""
    seen: dict[tuple[str, str, str], str] = {}
    for cluster in clusters:
        for namesrv in cluster.name_servers:
            for what, name in [("cluster", cluster.name), *(("broker", each) for each in cluster.brokers)]:
                if (namesrv, what, name) in seen:
                    raise ConfigError(
                        f"{source}: {what} {name!r} of name server {namesrv!r} is in two clusters:"
                        " leave one out"
                    )
                seen[namesrv, what, name] = cluster.name


def _lines(state: ExpectedState) -> Iterator[str]:
    yield f"since = {_text(iso_text(state.since))}  # nothing before it is a deviation"
    for cluster in state.clusters:
        yield ""
        yield "[[cluster]]"
        yield f"name = {_text(cluster.name)}"
        yield f"name_servers = {_list(cluster.name_servers)}  # each broker registers with all of them"
        yield f"allow_other_brokers = {_bool(cluster.allow_other_brokers)}"
        yield f"allow_other_topics = {_bool(cluster.allow_other_topics)}  # brokers' own never count"
        yield ""
        yield "[cluster.brokers]  # ids of the members; 0 is the master"
        for name, ids in cluster.brokers.items():
            yield f"{_text(name)} = {sorted(ids)}"
        yield ""
        yield "[cluster.topics]  # without `on`: on every broker above"
        for topic, rows in cluster.topics.items():
            yield f"{_text(topic)} = {_topic_text(rows, cluster.brokers)}"
        if cluster.orders:
            yield ""
            yield "[cluster.orders]"
            yield from (f"{_text(topic)} = {_text(text)}" for topic, text in cluster.orders.items())
        if cluster.writable:
            yield ""
            yield "[cluster.writable]  # the least number of queues to write to, over all brokers"
            yield from (f"{_text(topic)} = {count}" for topic, count in cluster.writable.items())


def _topic_text(rows: Mapping[str, ExpectedQueues], brokers: Mapping[str, object]) -> str:
    of_queues: dict[ExpectedQueues, list[str]] = defaultdict(list)
    for name, queues in rows.items():
        of_queues[queues].append(name)
    found = [
        f"{{ read = {queues.read}, write = {queues.write}, perm = {_perm_text(queues.perm)}"
        + ("" if len(names) == len(brokers) else f", on = {_list(names)}")
        + " }"
        for queues, names in of_queues.items()
    ]
    return found[0] if len(found) == 1 else f"[{', '.join(found)}]"


def _perm_text(perm: int) -> str:
    text = format_perm(perm)
    return f'"{text}"' if _PERMS[text] == perm else str(perm)


def _list(names: Iterable[str]) -> str:
    return f"[{', '.join(map(_text, names))}]"


def _bool(value: bool) -> str:  # noqa: FBT001 - it is what is written
    return "true" if value else "false"


def _text(text: str) -> str:
    """A text of TOML, on one line, that is safe to show on a terminal."""
    has_many_dots = text.count(".") > _DOTS
    return f'"{"".join(_escaped(each, has_many_dots) for each in text)}"'


def _escaped(character: str, has_many_dots: bool) -> str:  # noqa: FBT001 - of the text
    if character in {'"', "\\"}:
        return f"\\{character}"
    if character.isprintable() and not (has_many_dots and character == "."):
        return character
    code = ord(character)
    if 0xD800 <= code < 0xE000:
        raise ConfigError(f"a name has the character U+{code:04X}, which TOML can't hold")
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
