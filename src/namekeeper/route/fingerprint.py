"""Fingerprints of a name server's state: equal where two name servers hold the same (docs/decisions/0024).

A fingerprint is the sum of the hashes of all rows, so the order of rows does not matter. It leaves out values
that may differ between name servers that agree: generations, versions and times. It also leaves out the zone
and the acting master of a group, which its newest registration sets for all members.
"""

from collections.abc import Generator, Iterable, Iterator, Mapping
from hashlib import blake2b
from itertools import islice

import msgspec
from msgspec import structs

from namekeeper.route.tables import RouteTables

__all__ = ["Fingerprints", "fingerprints"]

BITS = 48
"""A metric is a double, which holds integers of up to 53 bits."""
SLICE_ROWS = 64
"""Rows in one event-loop iteration; one takes about 0.9 us."""

Fingerprints = Mapping[str, int]
"""Part (`brokers`, `topics`, `kv`) -> fingerprint of its rows."""

_encode = msgspec.json.Encoder().encode


def fingerprints(
    tables: RouteTables, kv: Mapping[str, Mapping[str, str]]
) -> Generator[None, None, Fingerprints]:
    """Return the fingerprints of the tables and of the KV configuration as they are at the call.

    The slices may run later, while the tables change: no change modifies a row in place. So the function
    copies only the containers of the rows.
    """
    rows = {
        "brokers": _broker_rows(tables),
        "topics": _topic_rows(tables),
        "kv": _kv_rows({namespace: dict(entries) for namespace, entries in kv.items()}),
    }
    return _summed(rows)


def _summed(rows_of: Mapping[str, Iterator[object]]) -> Generator[None, None, Fingerprints]:
    sums = dict.fromkeys(rows_of, 0)
    for part, rows in rows_of.items():
        while hashes := [_hash(row) for row in islice(rows, SLICE_ROWS)]:
            sums[part] = (sums[part] + sum(hashes)) % 2**BITS
            yield
    return sums


def _hash(row: object) -> int:
    return int.from_bytes(blake2b(_encode(row), digest_size=BITS // 8).digest())


def _broker_rows(tables: RouteTables) -> Iterator[object]:
    groups = list(tables.broker_addr_table.values())
    clusters, filter_servers = dict(tables.cluster_addr_table), dict(tables.filter_server_table)

    def rows() -> Iterable[object]:
        for group in groups:
            yield "group", group.broker_name, group.cluster, sorted(group.broker_addrs.items())
        for cluster, names in clusters.items():
            for name in names:
                yield "cluster", cluster, name
        for key, servers in filter_servers.items():
            yield "filter servers", key, servers

    return iter(rows())


def _topic_rows(tables: RouteTables) -> Iterator[object]:
    by_name, mappings = dict(tables.topic_queue_table), dict(tables.topic_queue_mapping_info_table)

    def rows() -> Iterable[object]:
        for name, topics in by_name.items():
            for topic, row in topics.items():
                yield "queues", name, topic, row.effective
        for topic, mapping_of in mappings.items():
            for name, mapping in mapping_of.items():
                in_order = dict(sorted(mapping.curr_id_map.items()))
                yield "mapping", name, topic, structs.replace(mapping, curr_id_map=in_order)

    return iter(rows())


def _kv_rows(kv: Mapping[str, Mapping[str, str]]) -> Iterator[object]:
    return ((namespace, key, value) for namespace, entries in kv.items() for key, value in entries.items())
