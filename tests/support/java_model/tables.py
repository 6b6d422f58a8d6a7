"""The Java 5.x name server's route tables as plain dicts (protocol.md 4), with a switch for each listed difference.

With every switch off this is an oracle for Java, with all of them on one for namekeeper.
`count` counts each step and branch by its number in protocol.md; `differed` names the switches that had an effect.
"""

from collections import Counter
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

from tests.support.java_model.values import Body, Topic, Version

__all__ = ["RESTORED", "Group", "JavaTables", "Live", "Registration", "Row", "Rules"]

MASTER = 0
WRITE = 2
READ_WRITE = 6
DEFAULT_TIMEOUT_MS = 120_000
RESTORED = -1
"""The connection of a broker that came back after a restart: none."""
NO_ACTING_MASTER = "rmq_sys_SYNC_BROKER_MEMBER_"

Key = tuple[str, str]
"""(cluster, broker address)."""


@dataclass(frozen=True, slots=True)
class Rules:
    """One switch for each listed difference (tests/differential/differences.py says what and why); off is Java."""

    fencing: bool = False
    one_name_per_address: bool = False
    lost_id_ends_registration: bool = False
    unregister_is_whole: bool = False
    close_ends_all: bool = False
    changed_rows: bool = False
    mappings_end: bool = False
    bad_fields_refused: bool = False
    no_decode_time: bool = False
    quoted_keys: bool = False
    lenient_bodies: bool = False
    bare_errors: bool = False
    null_table_is_empty: bool = False
    nameless_topics_refused: bool = False
    empty_mappings_refused: bool = False
    single_topic_accepted: bool = False
    routes_restored: bool = False

    @classmethod
    def ours(cls) -> "Rules":
        """Every switch on."""
        return cls(**{switch.name: True for switch in fields(cls)})


@dataclass(slots=True)
class Group:
    """The row of a broker name."""

    cluster: str
    addrs: dict[int, str] = field(default_factory=dict)
    acting: bool = False
    zone: str | None = None


@dataclass(slots=True)
class Live:
    """A live registration; name, id and gen are what fencing needs, Java does not know them."""

    heard_ms: int
    timeout_ms: int
    version: Version
    conn: int
    ha: str | None
    name: str
    broker_id: int
    gen: int
    full: bool = True
    """Whether it has registered more than single topics; always so where nobody looks at it."""


class Row(NamedTuple):
    """Queue data of one topic on one broker name; `registered` is what the broker last registered, unstripped."""

    read: int
    write: int
    perm: int
    flag: int
    registered: tuple[int, ...] = ()


@dataclass(slots=True)
class Registration:
    """A registration's header, decoded."""

    name: str
    addr: str
    cluster: str
    broker_id: int
    ha: str | None
    timeout_ms: int
    acting: bool | None
    zone: str | None


class JavaTables:
    """RouteInfoManager; every method is one turn under the write lock."""

    def __init__(self, rules: Rules, settings: dict[str, bool], count: Counter[str]) -> None:
        self.rules = rules
        self.settings = settings
        self.count = count
        self.differed: Counter[str] = Counter()
        self.topics: dict[str, dict[str, Row]] = {}
        self.groups: dict[str, Group] = {}
        self.clusters: dict[str, set[str]] = {}
        self.live: dict[Key, Live] = {}
        self.filters: dict[Key, list[str]] = {}
        self.mappings: dict[str, dict[str, Any]] = {}
        self.gen = 0
        self.carried: dict[int, dict[Key, int]] = {}
        self.closed: set[int] = set()

    def restart(self, *, restore_routes: bool) -> None:
        """The process ended and another one began, over no connection; only ours brings rows back.

        A restored broker has no connection, and what it had registered beside what is in effect is forgotten.
        """
        self.closed |= {*self.carried, *(entry.conn for entry in self.live.values())}
        self.carried.clear()
        if self.rules.routes_restored and restore_routes and self.live:
            self._differs("routes_restored")
            self.closed.add(RESTORED)
            for entry in self.live.values():
                entry.conn, entry.full = RESTORED, False
            for rows in self.topics.values():
                for name, row in rows.items():
                    rows[name] = row._replace(registered=(row.read, row.write, row.perm, row.flag))
            return
        tables: list[dict[Any, Any]] = [
            self.topics, self.groups, self.clusters, self.live, self.filters, self.mappings,
        ]  # fmt: skip
        for table in tables:
            table.clear()

    # 4.4 register

    def register(
        self, registration: Registration, body: Body, conn: int, now_ms: int
    ) -> dict[str, str] | None:
        """Return the response's fields, or None when Java's single-topic guard refuses."""
        key = (registration.cluster, registration.addr)
        if self.rules.null_table_is_empty and body.is_table_null:
            self._differs("null_table_is_empty")
        changed = key not in self.live or self.live[key].version != body.version
        full = self._is_full(registration, key, body)
        if self.rules.one_name_per_address:
            self._leave_other_name(registration, key)
        self.count["4.4.1 cluster"] += 1
        self.clusters.setdefault(registration.cluster, set()).add(registration.name)
        first = registration.name not in self.groups
        group = self.groups.setdefault(registration.name, Group(registration.cluster))
        self.count[f"4.4.2 {'new' if first else 'known'} name"] += 1
        group.acting, group.zone = bool(registration.acting), registration.zone
        self.count[f"4.4.3 enableActingMaster {registration.acting}"] += 1
        minimum_changed = registration.broker_id < min(group.addrs, default=0)
        self.count["4.4.4 smaller minimum id"] += minimum_changed
        for broker_id in [
            i for i, addr in group.addrs.items() if addr == registration.addr and i != registration.broker_id
        ]:
            self.count["4.4.5 address changes its id"] += 1
            del group.addrs[broker_id]
        old = group.addrs.get(registration.broker_id)
        self.count["4.4.6 id held by another address"] += old not in {None, registration.addr}
        if self._is_stale(registration, body, old):
            self.count["4.4.7 stale"] += 1
            self._end_stale(registration, key, group)
            return {}
        if old is None and body.is_table_null:
            self.count["4.4.8 null instead of topics"] += 1
            if not self.rules.null_table_is_empty:
                return {}  # an exception that Java only logs
        if old is None and len(body.topics) == 1:
            self.count["4.4.8 single topic refused"] += 1
            if not self.rules.single_topic_accepted:
                self._end_without_id(registration, group)
                return None
            self._differs("single_topic_accepted")
        group.addrs[registration.broker_id] = registration.addr
        first = first or not old
        self.count[f"4.4.9 {'first' if first else 'known id'}"] += 1
        self._end_losers(registration, key, old)
        self._contribute(registration, group, body, first=first, changed=changed, full=full)
        self._put_live(registration, key, body, conn, now_ms, full=full)
        self._put_filters(key, body)
        if minimum_changed:
            self.count["4.4.17 minimum id changed"] += 1
        return self._master_of(registration, group)

    def _is_stale(self, registration: Registration, body: Body, old: str | None) -> bool:
        if not old or old == registration.addr or (registration.cluster, old) not in self.live:
            return False
        self.count["4.4.7 state versions compared"] += 1
        return self.live[registration.cluster, old].version.state > body.version.state

    def _contribute(
        self,
        registration: Registration,
        group: Group,
        body: Body,
        *,
        first: bool,
        changed: bool,
        full: bool,
    ) -> None:
        is_prime_slave = (
            registration.broker_id != MASTER
            and registration.acting is not None
            and registration.broker_id == min(group.addrs)
        )
        if registration.broker_id != MASTER and not is_prime_slave:
            self.count["4.4.10 contributes nothing"] += 1
            return
        self.count[f"4.4.10 {'prime slave' if is_prime_slave else 'master'}"] += 1
        if body.is_table_null and not self.rules.null_table_is_empty:
            return
        deleted = []
        if self.settings["deleteTopicWithBrokerRegistration"] and not body.mappings and full:
            absent = [
                t for t, rows in self.topics.items() if registration.name in rows and t not in body.topics
            ]
            for topic_name in absent:
                self.count["4.4.11 topic deleted"] += 1
                self._drop_row(topic_name, registration.name)
                deleted.append(topic_name)
        for topic in body.topics.values():
            self._apply_topic(
                registration, topic, strip=is_prime_slave and group.acting, upsert=first or changed
            )
        for topic_name in deleted:
            if registration.name not in self.topics.get(topic_name, {}):
                self._end_mapping(topic_name, registration.name)
        for topic_name, info in body.mappings.items():
            if "bname" in info:  # one without is kept, and seen only where somebody has the topic
                self._put_mapping(topic_name, info, upsert=first or changed)

    def _put_mapping(self, topic: str, info: dict[str, Any], *, upsert: bool) -> None:
        if upsert:
            self.count["4.4.13 mapping"] += 1
        elif self.rules.mappings_end and info["bname"] not in self.mappings.get(topic, {}):
            self._differs("mappings_end")
        else:
            return
        self.mappings.setdefault(topic, {})[info["bname"]] = info

    def _apply_topic(self, registration: Registration, topic: Topic, *, strip: bool, upsert: bool) -> None:
        row = self.topics.get(topic.name, {}).get(registration.name)
        raw = (topic.read, topic.write, topic.perm, topic.flag)
        reason = "upsert" if upsert else "missing row" if row is None else "unchanged"
        if reason == "unchanged" and row is not None and row.registered != raw and self.rules.changed_rows:
            self._differs("changed_rows")
            reason = "changed row"
        self.count[f"4.4.12 {reason}{' stripped' if strip else ''}"] += 1
        if reason != "unchanged":
            perm = topic.perm & ~WRITE if strip else topic.perm
            row = Row(topic.read, topic.write, perm, topic.flag, raw)
            self.topics.setdefault(topic.name, {})[registration.name] = row

    def _is_full(self, registration: Registration, key: Key, body: Body) -> bool:
        """Whether other than single topics have come, this registration included."""
        if not self.rules.single_topic_accepted or len(body.topics) != 1:
            return True
        was = self.live.get(key)
        mine = (registration.name, registration.broker_id)
        if was is not None and (was.name, was.broker_id) == mine and was.full:
            return True
        self._differs("single_topic_accepted")
        return False

    def _put_live(
        self, registration: Registration, key: Key, body: Body, conn: int, now_ms: int, *, full: bool
    ) -> None:
        was = self.live.get(key)
        self.count[
            f"4.4.14 {'new entry' if was is None else 'other connection' if was.conn != conn else 'refresh'}"
        ] += 1
        if was is None or (was.name, was.broker_id, was.conn) != (
            registration.name,
            registration.broker_id,
            conn,
        ):
            self.gen += 1
            gen = self.gen
        else:
            gen = was.gen
        self.live[key] = Live(
            now_ms, registration.timeout_ms, body.version, conn, registration.ha, registration.name, registration.broker_id,
            gen, full,
        )  # fmt: skip

    def _put_filters(self, key: Key, body: Body) -> None:
        if body.filters is None:
            self.count["4.4.15 filter servers untouched"] += 1
        elif body.filters:
            self.count["4.4.15 filter servers stored"] += 1
            self.filters[key] = body.filters
        else:
            self.count["4.4.15 filter servers removed"] += 1
            self.filters.pop(key, None)

    def _master_of(self, registration: Registration, group: Group) -> dict[str, str]:
        addr = group.addrs.get(MASTER)
        if registration.broker_id == MASTER or not addr or (registration.cluster, addr) not in self.live:
            self.count["4.4.16 no master named"] += registration.broker_id != MASTER
            return {}
        self.count["4.4.16 master named"] += 1
        ha = self.live[registration.cluster, addr].ha
        return {"masterAddr": addr} | ({"haServerAddr": ha} if ha is not None else {})

    # listed differences at registration

    def _differs(self, name: str) -> None:
        self.differed[name] += 1

    def _leave_other_name(self, registration: Registration, key: Key) -> None:
        was = self.live.get(key)
        if was is not None and was.name != registration.name:
            self._differs("one_name_per_address")
            self.unregister(was.name, registration.addr, registration.cluster, was.broker_id)

    def _end_losers(self, registration: Registration, key: Key, old: str | None) -> None:
        if self.rules.lost_id_ends_registration:
            for other in [k for k, e in self.live.items() if e.name == registration.name and k != key]:
                if other[1] in {old, registration.addr}:
                    self._differs("lost_id_ends_registration")
                    self._end_live(other)

    def _end_without_id(self, registration: Registration, group: Group) -> None:
        if self.rules.lost_id_ends_registration and registration.addr not in group.addrs.values():
            for key in [
                k for k, e in self.live.items() if e.name == registration.name and k[1] == registration.addr
            ]:
                self._differs("lost_id_ends_registration")
                self._end_live(key)

    def _end_stale(self, registration: Registration, key: Key, group: Group) -> None:
        self.live.pop(key, None)
        self._end_without_id(registration, group)
        if self.rules.lost_id_ends_registration and self.filters.pop(key, False):
            self._differs("lost_id_ends_registration")

    def _end_live(self, key: Key) -> bool:
        self.filters.pop(key, None)
        return self.live.pop(key, None) is not None

    def _is_stranger(self, name: str, group: Group, addr: str) -> bool:
        """Whether ours leaves a group alone where Java clears the write bits of one that has no master."""
        if not self.rules.unregister_is_whole or not group.addrs or addr in group.addrs.values():
            return False
        writable = any(name in rows and rows[name].perm & WRITE for rows in self.topics.values())
        if group.acting and min(group.addrs) > MASTER and writable:
            self._differs("unregister_is_whole")
        return True

    # 4.5 unregister

    def unregister(self, name: str, addr: str, cluster: str, broker_id: int | None) -> None:
        """One queued request, alone in its batch."""
        live = self.live.get((cluster, addr))
        self.count[f"4.5 live entry {'unknown' if live is None else 'removed'}"] += 1
        self._end_live((cluster, addr))
        self._leave(name, addr, cluster, broker_id)
        if self.rules.unregister_is_whole and live is not None and live.name != name:
            self._differs("unregister_is_whole")
            self._leave(live.name, addr, cluster, live.broker_id)

    def _leave(self, name: str, addr: str, cluster: str, broker_id: int | None) -> None:
        if self.rules.unregister_is_whole:
            for key in [k for k, e in self.live.items() if e.name == name and k[1] == addr]:
                self._differs("unregister_is_whole")
                self._end_live(key)
        group = self.groups.get(name)
        if group is None:
            self.count["4.5 unknown name"] += 1
            return
        if self._is_stranger(name, group, addr):
            return
        for member in [i for i, a in group.addrs.items() if a == addr]:
            self.count[f"4.5 member removed{'' if member == broker_id else ' under a wrong id'}"] += 1
            del group.addrs[member]
        if group.addrs:
            self._reduce(name, group)
        else:
            self._remove_name(name, cluster)

    def _remove_name(self, name: str, cluster: str) -> None:
        self.count["4.5 name removed"] += 1
        del self.groups[name]
        listing = [c for c, names in self.clusters.items() if name in names]
        if listing != [cluster]:
            self.count["4.5 name stays in another cluster"] += 1
            if self.rules.unregister_is_whole and listing:
                self._differs("unregister_is_whole")
        for listed in listing if self.rules.unregister_is_whole else set(listing) & {cluster}:
            self.clusters[listed].discard(name)
            if not self.clusters[listed]:
                self.count["4.5 cluster removed"] += 1
                del self.clusters[listed]
        for topic in [t for t, rows in self.topics.items() if name in rows]:
            self._drop_row(topic, name)
        self.end_orphans()

    def end_orphans(self) -> None:
        """Forget the mappings that a name which is gone leaves behind: ours looks whenever any name goes."""
        for topic in list(self.mappings):
            self._end_orphans(topic)

    def _end_mapping(self, topic: str, name: str) -> None:
        """Forget the static-topic mapping of a topic that `name` has no more."""
        if self.rules.mappings_end:
            if name in self.mappings.get(topic, {}):
                self._differs("mappings_end")
                del self.mappings[topic][name]
                if not self.mappings[topic]:
                    del self.mappings[topic]
            self._end_orphans(topic)

    def _end_orphans(self, topic: str) -> None:
        """Forget the mappings of a topic that nobody has and none of whose names lives."""
        names = self.mappings.get(topic)
        if not self.rules.mappings_end or names is None or topic in self.topics:
            return
        if not names.keys() & self.groups.keys():
            self._differs("mappings_end")
            del self.mappings[topic]

    def _reduce(self, name: str, group: Group) -> None:
        self.count["4.5 id below 0 left"] += group.acting and min(group.addrs) < MASTER
        if not group.acting or min(group.addrs) <= MASTER:
            self.count["4.5 reduced"] += 1
            return
        self.count["4.5 reduced, write bit cleared"] += 1
        for rows in self.topics.values():
            if name in rows:
                rows[name] = rows[name]._replace(perm=rows[name].perm & ~WRITE)

    def _drop_row(self, topic: str, name: str) -> None:
        del self.topics[topic][name]
        if not self.topics[topic]:
            self.count["4.5 topic removed"] += 1
            del self.topics[topic]

    def is_fenced(self, key: Key, conn: int) -> bool:
        """Whether a 104 over `conn` is meant for an older generation (docs/decisions/0002); never so in Java."""
        live = self.live.get(key)
        if not self.rules.fencing or live is None or live.conn == conn or live.conn in self.closed:
            return False
        stale = self.carried.get(conn, {}).get(key, live.gen) < live.gen
        if stale:
            self._differs("fencing")
        return stale

    def carry(self, conn: int, key: Key) -> None:
        """Note that a 103, 322 or 904 of `key` came over `conn`."""
        self.carried.setdefault(conn, {}).setdefault(key, self.gen)

    # 4.6 scan, 4.7 channel loss

    def scan(self, now_ms: int) -> list[Key]:
        """Remove what has expired; Java also closes the connections."""
        overdue = [key for key, entry in self.live.items() if entry.heard_ms + entry.timeout_ms < now_ms]
        for key in overdue:
            self.count["4.6 expired"] += 1
            self._remove_found(key)
        return overdue

    def closings(self, conn: int) -> list[tuple[Key, str | None]]:
        """Return what Java may remove when `conn` closes: it takes the first live entry and group in hash order."""
        keys = [key for key, entry in self.live.items() if entry.conn == conn]
        nothing: tuple[None, ...] = (None,)
        return [(key, name) for key in keys for name in self._names_of(key) or nothing]

    def close(self, conn: int, choice: tuple[Key, str | None] | None = None) -> None:
        """The connection is gone; `choice`, one of `closings`, says which one Java happened to find."""
        choices = self.closings(conn)
        self.closed.add(conn)
        if self.rules.close_ends_all:
            self.differed["close_ends_all"] += len(choices) > 1
            for key in {key: None for key, _ in choices}:
                self.count["4.7 removed"] += 1
                self._remove_found(key)
        elif choices:
            key, name = choice or choices[0]
            self.count[
                f"4.7 {'removed' if name else 'no group has it'}{'' if len(choices) == 1 else ', others stay'}"
            ] += 1
            self._remove_found(key, name)
        else:
            self.count["4.7 nothing to remove"] += 1

    def end(self, key: Key, gen: int) -> None:
        """Remove one generation of a registration, if it is still the living one: what ours does one by one."""
        if key in self.live and self.live[key].gen == gen:
            self._remove_found(key)

    def _remove_found(self, key: Key, name: str | None = None) -> None:
        """Submit an unregister for a live entry, if a group of its cluster has the address; ours asks no group."""
        name = name or next(iter(self._names_of(key)), None)
        if self.rules.close_ends_all:
            self.differed["close_ends_all"] += name is None
            name = self.live[key].name
        if name is None:
            self.count["4.7 leaked entry stays"] += 1
            return
        group = self.groups.get(name, Group(key[0]))
        broker_id = next((i for i, addr in group.addrs.items() if addr == key[1]), None)
        self.unregister(name, key[1], key[0], broker_id)

    def _names_of(self, key: Key) -> list[str]:
        return [n for n, g in self.groups.items() if g.cluster == key[0] and key[1] in g.addrs.values()]

    # 4.11 wipe, add, delete; 2.12 register topic

    def set_perms(self, name: str, *, wipe: bool) -> int:
        """Apply 205 or 327; return how many topics have queue data of `name`."""
        touched = [rows for rows in self.topics.values() if name in rows]
        for rows in touched:
            self.count[f"4.11 {'wiped' if wipe else 'added'}"] += 1
            rows[name] = rows[name]._replace(perm=rows[name].perm & ~WRITE if wipe else READ_WRITE)
        return len(touched)

    def delete_topic(self, topic: str, cluster: str | None) -> None:
        """Apply 216."""
        names = set(self.topics.get(topic, {}))
        if not cluster:
            self.count["4.11 topic deleted"] += self.topics.pop(topic, None) is not None
        else:
            names &= self.clusters.get(cluster, set())
            for name in names:
                self.count["4.11 topic deleted in cluster"] += 1
                self._drop_row(topic, name)
        for name in names:
            self._end_mapping(topic, name)

    def register_topic(self, topic: str, queues: list[tuple[str, Row]]) -> None:
        """Apply 217: stop at the first unknown name; a new topic is then not stored at all."""
        rows = dict(self.topics.get(topic, {}))
        for name, row in queues:
            if name not in self.groups:
                self.count["2.12 unknown name"] += 1
                if topic not in self.topics:
                    return
                break
            self.count["2.12 stored"] += 1
            rows[name] = row
        if rows:
            self.topics[topic] = rows
