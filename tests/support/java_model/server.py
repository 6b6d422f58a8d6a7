"""A plain model of the Java 5.5.0 name server: requests in, answers as values out (protocol.md 2 and 4).

It is an oracle: for Java with `Rules()`, for namekeeper with `Rules.ours()`. Nothing in it is shared with
the server under test, nothing is fast, and time is an argument.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tests.support.java_model.tables import (
    NO_ACTING_MASTER,
    Group,
    JavaTables,
    Registration,
    Row,
    Rules,
)
from tests.support.java_model.values import (
    ANY,
    Answer,
    BadBodyError,
    Body,
    OneOf,
    Request,
    SomeOf,
    TableOf,
    Text,
    Version,
    flag_of,
    from_json,
    number,
    read_body,
    read_version,
)  # fmt: skip

__all__ = ["SWITCHES", "JavaModel"]

STANDARD_JSON_VERSION = 401  # 4.9.4
HIGHEST_SAFE = 2**53
ORDER = "ORDER_TOPIC_CONFIG"
FAQ = "https://rocketmq.apache.org/docs/bestPractice/06FAQ"
FAILED = Answer(1, ANY)
"""What Java says when a handler throws."""

SWITCHES = {
    "orderMessageEnable": False,
    "supportActingMaster": False,
    "deleteTopicWithBrokerRegistration": False,
    "enableAllTopicList": True,
    "enableTopicList": True,
    "returnOrderTopicConfigToBroker": True,
}
"""The properties that requests depend on, with their defaults; 318 changes them while the server runs."""

BLACK_LIST = {"configBlackList", "configStorePath", "kvConfigPath", "rocketmqHome"}

BROKER = ("brokerName", "brokerAddr", "clusterName", "brokerId")
REQUIRED = {
    100: ("namespace", "key"), 101: ("namespace", "key"), 102: ("namespace", "key"), 103: (*BROKER, "haServerAddr"),
    104: BROKER, 205: ("brokerName",), 216: ("topic",), 217: ("topic",), 219: ("namespace",), 224: ("cluster",),
    322: BROKER, 327: ("brokerName",), 901: ("clusterName", "brokerName"), 904: ("clusterName", "brokerAddr", "brokerName"),
}  # fmt: skip
NUMBERS = {
    103: ("brokerId", "heartbeatTimeoutMillis"), 104: ("brokerId",), 322: ("brokerId",), 904: ("brokerId",),
}  # fmt: skip
MAY_BE_EMPTY = {"haServerAddr"}


class JavaModel:
    """One name server."""

    def __init__(self, rules: Rules = Rules()) -> None:  # noqa: B008 - a frozen value
        self.rules = rules
        self.settings = dict(SWITCHES)
        self.count: Counter[str] = Counter()
        self.tables = JavaTables(rules, self.settings, self.count)
        self.kv: dict[str, dict[str, str | None]] = {}

    def ask(self, request: Request, conn: int = 0, now_ms: int = 0) -> Answer | None:
        """Handle one request; None for a one-way one."""
        if request.binary:  # an empty text is null then (protocol.md 1.4)
            request = replace(request, fields={name: text for name, text in request.fields.items() if text})
        handler = _HANDLERS.get(request.code)
        if handler is None:
            answer = Answer(3, f" request type {request.code} not supported")
        else:
            try:
                answer = self._refuse(request) or handler(self, request, conn, now_ms)
            except BadBodyError:
                answer = FAILED
        if answer.code == 1 and answer.fields == {} and self.rules.bare_errors:
            self.tables.differed["bare_errors"] += 1
            answer = replace(answer, fields=None)
        return None if request.one_way else answer

    def _refuse(self, request: Request) -> Answer | None:
        """Java goes on with null; we name the field (protocol.md 2.10, traps T7 and T47)."""
        is_disabled = request.code == 224 and not self.settings["enableTopicList"]
        if not self.rules.bad_fields_refused or is_disabled:
            return None
        for name in REQUIRED.get(request.code, ()):
            if not request.fields.get(name) and not (name in MAY_BE_EMPTY and name in request.fields):
                self.tables.differed["bad_fields_refused"] += 1
                return Answer(1, Text(name))
        for name in NUMBERS.get(request.code, ()):
            text = request.fields.get(name)
            if text and (number(text) is None or not text.isascii()):
                self.tables.differed["bad_fields_refused"] += 1
                return Answer(1, Text(name))
        return None

    # brokers: 103, 104, 322, 904

    def _register(self, request: Request, conn: int, now_ms: int) -> Answer:
        fields = request.fields
        self.tables.carry(conn, (fields.get("clusterName", ""), fields.get("brokerAddr", "")))
        broker_id = number(fields.get("brokerId"))
        if broker_id is None or request.version < 0:
            return FAILED
        crc = number(fields.get("bodyCrc32"), 0, bits=32)
        if crc and crc != request.crc32():
            return Answer(1, "crc32 not match", {})
        body = self._read_body(request)
        if fields.get("clusterName") is None:
            return self._registered({})
        if self.rules.nameless_topics_refused and not all(topic.name for topic in body.topics.values()):
            self.tables.differed["nameless_topics_refused"] += 1
            return Answer(1, Text("topicName"))
        if self.rules.empty_mappings_refused and not all("bname" in info for info in body.mappings.values()):
            self.tables.differed["empty_mappings_refused"] += 1
            return Answer(1, Text("bname"))
        acting = fields.get("enableActingMaster")
        registration = Registration(
            name=fields["brokerName"],
            addr=fields["brokerAddr"],
            cluster=fields["clusterName"],
            broker_id=broker_id,
            ha=fields.get("haServerAddr"),
            timeout_ms=number(fields.get("heartbeatTimeoutMillis"), 120_000) or 0,
            acting=None if acting is None else flag_of(acting),
            zone=fields.get("__ZONE_NAME"),
        )
        response = self.tables.register(registration, self._dated(body), conn, now_ms)
        return Answer(1, "register broker failed", {}) if response is None else self._registered(response)

    def _read_body(self, request: Request) -> Body:
        if not self.rules.lenient_bodies:
            return read_body(request)
        body = read_body(request, lenient=True)
        try:
            is_same = _undated(read_body(request)) == _undated(body)
        except BadBodyError:
            is_same = False
        self.tables.differed["lenient_bodies"] += not is_same
        return body

    def _dated(self, body: Body) -> Body:
        if self.rules.no_decode_time and not isinstance(body.version.timestamp, int):
            self.tables.differed["no_decode_time"] += 1
            body.version = body.version._replace(timestamp=0)
        return body

    def _registered(self, response: dict[str, str]) -> Answer:
        order = self.kv.get(ORDER) if self.settings["returnOrderTopicConfigToBroker"] else None
        return Answer(0, None, response, None if order is None else _table(order))

    def _unregister(self, request: Request, conn: int, now_ms: int) -> Answer:
        name, addr, cluster = (request.fields.get(name) for name in BROKER[:3])
        if name is None or addr is None or cluster is None:
            return Answer()
        if not self.tables.is_fenced((cluster, addr), conn):
            self.tables.unregister(name, addr, cluster, number(request.fields.get("brokerId")))
        return Answer()

    def _query_version(self, request: Request, conn: int, now_ms: int) -> Answer:
        theirs = read_version(_json(request.body)) if request.body else None
        if theirs is not None and self.rules.no_decode_time and not isinstance(theirs.timestamp, int):
            theirs = theirs._replace(timestamp=0)
        if not {"clusterName", "brokerAddr"} <= request.fields.keys():
            return FAILED
        ours = self._hear(request, conn, now_ms)
        live = self.tables.live.get((request.fields["clusterName"], request.fields["brokerAddr"]))
        is_known = live is not None and live.full and ours == theirs
        changed = {"changed": "false" if is_known else "true"}
        return Answer(0, None, changed, None if ours is None else ours.shown())

    def _heartbeat(self, request: Request, conn: int, now_ms: int) -> Answer:
        if not {"clusterName", "brokerAddr"} <= request.fields.keys():
            return FAILED
        self._hear(request, conn, now_ms)
        return Answer()

    def _hear(self, request: Request, conn: int, now_ms: int) -> Version | None:
        key = (request.fields.get("clusterName", ""), request.fields.get("brokerAddr", ""))
        self.tables.carry(conn, key)
        live = self.tables.live.get(key)
        if live is None:
            return None
        live.heard_ms = now_ms
        return live.version

    # readers: 105, 106, 901

    def _route(self, request: Request, conn: int, now_ms: int) -> Answer:
        topic = request.fields.get("topic")
        route = self._pick_up(topic)
        if topic is None or route is None:
            self.count["4.8 not found"] += 1
            shown = "null" if topic is None else topic
            text = (
                f"No topic route info in name server for the topic: {shown}\nSee {FAQ} for further details."
            )
            return Answer(17, text)
        if self.settings["orderMessageEnable"] and self.kv.get(ORDER, {}).get(topic) is not None:
            self.count["4.8 order configuration"] += 1
            route["orderTopicConf"] = self.kv[ORDER][topic]
        zone = request.fields.get("__ZONE_NAME", "")
        if flag_of(request.fields.get("__ZONE_MODE")) and zone.strip():
            return Answer(body=self._with_filters(self._in_zone(route, zone)))
        route = self._with_filters(route)
        standard = request.version >= STANDARD_JSON_VERSION or flag_of(
            request.fields.get("acceptStandardJsonOnly")
        )
        return Answer(body=_quoted(route) if standard else route)

    def _pick_up(self, topic: str | None) -> dict[str, Any] | None:
        tables = self.tables
        rows = tables.topics.get(topic or "")
        groups = {name: tables.groups[name] for name in rows or {} if name in tables.groups}
        if rows is None or not groups:
            return None
        self.count["4.8 found"] += 1
        filters: dict[str, set[tuple[str, ...]]] = {}
        for group in groups.values():
            for addr in group.addrs.values():
                filters.setdefault(addr, set()).add(tuple(tables.filters.get((group.cluster, addr), ())))
        acting = self._shows_acting_master(topic or "", groups)
        route: dict[str, Any] = {
            "brokerDatas": [
                _shown_group(
                    name,
                    groups[name],
                    self._addrs(groups[name], rows[name]) if acting else groups[name].addrs,
                )
                for name in sorted(groups)
            ],
            "queueDatas": [_shown_row(name, rows[name]) for name in sorted(rows)],
            "filterServerTable": filters,
        }
        if topic in tables.mappings:
            self.count["4.8.1 mapping attached"] += 1
            route["topicQueueMappingByBroker"] = dict(tables.mappings[topic])
        return route

    def _shows_acting_master(self, topic: str, groups: dict[str, Group]) -> bool:
        if not self.settings["supportActingMaster"]:
            return False
        if topic.startswith(NO_ACTING_MASTER):
            self.count["4.8.2 topic of the member group"] += 1
            return False
        needed = any(group.addrs and 0 not in group.addrs for group in groups.values())
        self.count[f"4.8.2 {'some' if needed else 'no'} group without master"] += 1
        return needed

    def _addrs(self, group: Group, row: Row) -> dict[int, str]:
        if not group.addrs or 0 in group.addrs or not group.acting:
            return group.addrs
        if row.perm & 2:
            self.count["4.8.3 writable, not replaced"] += 1
            return group.addrs
        self.count["4.8.3 acting master"] += 1
        lowest = min(group.addrs)
        return {0 if broker_id == lowest else broker_id: addr for broker_id, addr in group.addrs.items()}

    def _in_zone(self, route: dict[str, Any], zone: str) -> dict[str, Any]:
        dropped = [
            group
            for group in route["brokerDatas"]
            if 0 in group["brokerAddrs"] and group.get("zoneName", "\0").lower() != zone.lower()
        ]
        self.count[f"2.1.1 zone {'drops' if dropped else 'keeps all'}"] += 1
        names = {group["brokerName"] for group in dropped}
        addrs = {addr for group in dropped for addr in group["brokerAddrs"].values()}
        return route | {
            "brokerDatas": [group for group in route["brokerDatas"] if group not in dropped],
            "queueDatas": [row for row in route["queueDatas"] if row["brokerName"] not in names],
            "filterServerTable": {a: s for a, s in route["filterServerTable"].items() if a not in addrs},
        }

    def _with_filters(self, route: dict[str, Any]) -> dict[str, Any]:
        """Show filter servers; an address in groups of two clusters has those of whichever hashes last."""
        found = route["filterServerTable"]
        if any(len(choices) > 1 for choices in found.values()):
            return route | {"filterServerTable": TableOf(found)}
        shown = {addr: list(choice) for addr, (choice,) in found.items() if choice}
        self.count["4.8 filter servers"] += bool(shown)
        return route | {"filterServerTable": shown}

    def _cluster_info(self, request: Request, conn: int, now_ms: int) -> Answer:
        tables = self.tables
        info = {
            "brokerAddrTable": {
                name: _shown_group(name, group, group.addrs) for name, group in tables.groups.items()
            },
            "clusterAddrTable": {cluster: sorted(names) for cluster, names in tables.clusters.items()},
        }
        return Answer(body=self._by_release(request, info))

    def _member_group(self, request: Request, conn: int, now_ms: int) -> Answer:
        cluster, name = request.fields.get("clusterName"), request.fields.get("brokerName")
        addrs = self.tables.groups[name].addrs if name in self.tables.groups else {}
        group = {"cluster": cluster, "brokerName": name, "brokerAddrs": dict(addrs)}
        shown = {key: value for key, value in group.items() if value is not None}
        return Answer(
            0, "not set any response code", None, self._by_release(request, {"brokerMemberGroup": shown})
        )

    def _by_release(self, request: Request, body: dict[str, Any]) -> dict[str, Any]:
        quoted: dict[str, Any] = _quoted(body)
        if not self.rules.quoted_keys or request.version < STANDARD_JSON_VERSION or quoted == body:
            return body
        self.tables.differed["quoted_keys"] += 1
        return quoted

    # topics: 205, 327, 216, 217 and the lists

    def _perms(self, request: Request, conn: int, now_ms: int) -> Answer:
        wipe = request.code == 205
        touched = self.tables.set_perms(request.fields.get("brokerName", ""), wipe=wipe)
        return Answer(0, None, {"wipeTopicCount" if wipe else "addTopicCount": str(touched)})

    def _delete_topic(self, request: Request, conn: int, now_ms: int) -> Answer:
        self.tables.delete_topic(request.fields.get("topic", ""), request.fields.get("clusterName"))
        return Answer()

    def _register_topic(self, request: Request, conn: int, now_ms: int) -> Answer:
        route = (_json(request.body) if request.body else None) or {}
        queues = route.get("queueDatas") or []
        rows = [(queue["brokerName"], _row_of(queue)) for queue in queues]
        if "topic" in request.fields:
            self.tables.register_topic(request.fields["topic"], rows)
        return Answer()

    def _all_topics(self, request: Request, conn: int, now_ms: int) -> Answer:
        if not self.settings["enableAllTopicList"]:
            return Answer(1, "disable")
        return _topic_list(self.tables.topics)

    def _cluster_topics(self, request: Request, conn: int, now_ms: int) -> Answer:
        if not self.settings["enableTopicList"]:
            return Answer(1, "disable")
        names = self.tables.clusters.get(request.fields.get("cluster", ""), set())
        return _topic_list(topic for topic, rows in self.tables.topics.items() if names & set(rows))

    def _system_topics(self, request: Request, conn: int, now_ms: int) -> Answer:
        tables = self.tables
        names = set(tables.clusters).union(*tables.clusters.values())
        addrs: set[str | None] = {addr for group in tables.groups.values() for addr in group.addrs.values()}
        if any(not group.addrs for group in tables.groups.values()) or not addrs:
            addrs.add(None)
        return Answer(body={"topicList": sorted(names), "brokerAddr": OneOf(frozenset(addrs))})

    def _unit_topics(self, request: Request, conn: int, now_ms: int) -> Answer:
        if not self.settings["enableTopicList"]:
            return Answer(1, "disable")
        wanted = {311: (1, 3), 312: (2, 3), 313: (2,)}[request.code]
        shown: dict[str, set[bool]] = {
            topic: {row.flag & 3 in wanted for row in rows.values()}
            for topic, rows in self.tables.topics.items()
        }
        must = frozenset(topic for topic, answers in shown.items() if answers == {True})
        may = frozenset(topic for topic, answers in shown.items() if answers == {True, False})
        return Answer(body={"topicList": SomeOf(must, may) if may else sorted(must)})

    # KV and configuration: 100 to 102, 219, 318

    def _put_kv(self, request: Request, conn: int, now_ms: int) -> Answer:
        namespace, key = request.fields.get("namespace"), request.fields.get("key")
        if namespace is None or key is None:
            return Answer(1, "namespace or key is null")
        self.kv.setdefault(namespace, {})[key] = request.fields.get("value")
        return Answer()

    def _get_kv(self, request: Request, conn: int, now_ms: int) -> Answer:
        namespace, key = request.fields.get("namespace", "null"), request.fields.get("key", "null")
        value = self.kv.get(namespace, {}).get(key)
        if value is None:
            return Answer(22, f"No config item, Namespace: {namespace} Key: {key}", {})
        return Answer(0, None, {"value": value})

    def _delete_kv(self, request: Request, conn: int, now_ms: int) -> Answer:
        self.kv.get(request.fields.get("namespace", ""), {}).pop(request.fields.get("key", ""), None)
        return Answer()

    def _list_kv(self, request: Request, conn: int, now_ms: int) -> Answer:
        namespace = request.fields.get("namespace", "null")
        if namespace not in self.kv:
            return Answer(22, f"No config item, Namespace: {namespace}")
        return Answer(body=_table(self.kv[namespace]))

    def _update_config(self, request: Request, conn: int, now_ms: int) -> Answer:
        lines = [line.partition("=") for line in request.body.decode().splitlines()]
        if any(key in BLACK_LIST for key, _, _ in lines):
            return Answer(16, "Can not update config in black list.")
        for key, _, value in lines:
            if key in self.settings:
                self.settings[key] = flag_of(value)
        return Answer()


_HANDLERS: dict[int, Callable[[JavaModel, Request, int, int], Answer]] = {
    100: JavaModel._put_kv, 101: JavaModel._get_kv, 102: JavaModel._delete_kv, 103: JavaModel._register,
    104: JavaModel._unregister, 105: JavaModel._route, 106: JavaModel._cluster_info, 205: JavaModel._perms,
    206: JavaModel._all_topics, 216: JavaModel._delete_topic, 217: JavaModel._register_topic, 219: JavaModel._list_kv,
    224: JavaModel._cluster_topics, 304: JavaModel._system_topics, 311: JavaModel._unit_topics,
    312: JavaModel._unit_topics, 313: JavaModel._unit_topics, 318: JavaModel._update_config,
    322: JavaModel._query_version, 327: JavaModel._perms, 901: JavaModel._member_group, 904: JavaModel._heartbeat,
}  # fmt: skip


def _json(body: bytes) -> Any:
    try:
        return from_json(body)
    except ValueError as error:
        raise BadBodyError(str(error)) from error


def _undated(body: Body) -> tuple[Any, ...]:
    stamp = body.version.timestamp
    version = body.version._replace(timestamp=stamp if isinstance(stamp, int) else None)
    return version, body.topics, body.filters, body.mappings


def _table(entries: dict[str, str | None]) -> dict[str, Any]:
    return {"table": {key: value for key, value in entries.items() if value is not None}}


def _topic_list(topics: Any) -> Answer:
    return Answer(body={"topicList": sorted(topics)})


def _row_of(queue: dict[str, Any]) -> Row:
    read, write, perm = (queue.get(name, 0) for name in ("readQueueNums", "writeQueueNums", "perm"))
    flag = queue.get("topicSysFlag", 0)
    return Row(read, write, perm, flag, (read, write, perm, flag))


def _shown_group(name: str, group: Group, addrs: dict[int, str]) -> dict[str, Any]:
    shown = {
        "brokerAddrs": dict(addrs),
        "brokerName": name,
        "cluster": group.cluster,
        "enableActingMaster": group.acting,
    }
    return shown if group.zone is None else shown | {"zoneName": group.zone}


def _shown_row(name: str, row: Row) -> dict[str, Any]:
    numbers = {
        "perm": row.perm,
        "readQueueNums": row.read,
        "topicSysFlag": row.flag,
        "writeQueueNums": row.write,
    }
    return {"brokerName": name, **numbers}


def _quoted(value: Any) -> Any:
    """Return the standard form: integer keys as strings, and integers that JavaScript would round."""
    if isinstance(value, dict):
        return {str(key): _quoted(member) for key, member in value.items()}
    if isinstance(value, list):
        return [_quoted(member) for member in value]
    is_unsafe = isinstance(value, int) and not -HIGHEST_SAFE < value < HIGHEST_SAFE
    return str(value) if is_unsafe else value
