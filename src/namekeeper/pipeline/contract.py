"""The journal's contract for this package: kinds of records, their members, names of segments.

A copy in code of `namekeeper/journal/contract/v1.json`, so that the pipeline runs where only pyspark and
pyarrow are; a test compares the two.
"""

from collections.abc import Mapping
from typing import NamedTuple

__all__ = [
    "ENVELOPE",
    "HEARTBEAT_GAP_EDGES_MS",
    "KINDS",
    "VERSION",
    "Member",
    "read_schema",
    "types_of_members",
]

VERSION = 1
"""The newest version of the contract that this code reads."""

HEARTBEAT_GAP_EDGES_MS = (1_000, 5_000, 10_000, 20_000, 35_000, 65_000, 125_000)
"""Bounds of `broker_minute.gaps`: a silence counts under the first bound that it is below."""


class Member(NamedTuple):
    """A member of a record."""

    type: str
    required: bool = False


def _members(members: Mapping[str, str]) -> Mapping[str, Member]:
    """Members from their types; a `!` marks those that every record has."""
    return {name: Member(type_.removesuffix("!"), type_.endswith("!")) for name, type_ in members.items()}


ENVELOPE: Mapping[str, Member] = _members(
    {
        "kind": "string!", "v": "long!", "namesrv": "string!", "boot": "long!", "seq": "long!",
        "change": "long!", "end": "boolean", "ts": "long!", "up_ms": "long!", "cause": "string",
        "peer": "string", "checkpoint": "long",
    }
)  # fmt: skip
"""Members of every record."""

KINDS: Mapping[str, Mapping[str, Member]] = {
    "server_started": _members({
        "uuid": "string!", "server_version": "string!", "previous_boot": "long", "previous_seq": "long",
        "previous_alive_ts": "long", "scan_interval_ms": "long", "port": "long", "checksums": "boolean",
    }),
    "server_alive": _members(
        {"connections": "long", "dropped_changes": "long", "dropped_records": "long"}
    ),
    "server_stopped": _members({"last_seq": "long!"}),
    "clock_changed": _members({"step_ms": "long!"}),
    "checkpoint_begin": _members({"reason": "string!"}),
    "checkpoint_end": _members({"counts": "map<string,long>!"}),
    "segments_deleted": _members({"segments": "array<string>!", "bytes": "long!", "reason": "string!"}),
    "broker_live": _members({
        "cluster": "string!", "broker_addr": "string!", "broker_name": "string!", "broker_id": "long!",
        "gen": "long!", "new": "boolean", "ha_server_addr": "string", "timeout_ms": "long",
        "data_version": "array<long>", "channel": "long", "remote_addr": "string", "body_bytes": "long",
        "gone": "boolean", "reason": "string", "idle_ms": "long", "closed_by": "string",
        "owner_host": "string", "owner_user": "string", "owner_certificate": "string",
    }),
    "broker_group": _members({
        "broker_name": "string!", "cluster": "string", "zone": "string", "acting_master": "boolean",
        "broker_addrs": "map<string,string>", "gone": "boolean",
    }),
    "cluster": _members({"cluster": "string!", "broker_names": "array<string>"}),
    "topic_queues": _members({"broker_name": "string!", "rows": "array<array<string>>!"}),
    "broker_name_removed": _members({"broker_name": "string!"}),
    "topic_mapping": _members(
        {"topic": "string!", "broker_name": "string!", "mapping": "json", "gone": "boolean"}
    ),
    "filter_servers": _members(
        {"cluster": "string!", "broker_addr": "string!", "filter_servers": "array<string>"}
    ),
    "kv": _members({"namespace": "string!", "key": "string!", "value": "string", "gone": "boolean"}),
    "config": _members({"properties": "map<string,string>!"}),
    "broker_minute": _members({
        "cluster": "string!", "broker_addr": "string!", "broker_name": "string!", "broker_id": "long!",
        "gen": "long!", "minute": "long!", "last_seen": "long", "count": "long!", "registrations": "long",
        "max_gap_ms": "long", "gaps": "array<long>", "body_bytes": "long",
    }),
    "lookup_hour": _members({"hour": "long!", "lookups": "array<array<string>>!"}),
    "unknown_topic_minute": _members({
        "minute": "long!", "topic": "string", "bucket": "string", "language": "string",
        "client_version": "long", "count": "long!",
    }),
    "denied": _members({"code": "long!", "host": "string", "reason": "string!", "count": "long!"}),
    "access": _members({
        "code": "long!", "allowed": "boolean", "rule": "string", "mode": "string!", "user": "string",
        "claimed": "string",
        "certificate": "string", "about": "array<string>", "count": "long!",
    }),
}  # fmt: skip
"""Members of each kind beside the envelope."""


def read_schema() -> str:
    """Columns, as DDL, of a file with records of all kinds: members that a kind does not have are null."""
    return ", ".join(f"`{name}` {type_}" for name, type_ in types_of_members().items())


def types_of_members() -> Mapping[str, str]:
    """Type in SQL of each member that a record of some kind has, the envelope's first."""
    types: dict[str, str] = {}
    for members in (ENVELOPE, *KINDS.values()):
        types |= {name: _sql_type(member.type) for name, member in members.items()}
    return types


def _sql_type(type_: str) -> str:
    # A member with any JSON value is kept as its text.
    return type_.replace("long", "bigint").replace("json", "string")
