"""What the tables of a name server were at an instant, by a plain fold over the records of its journal.

The oracle of the law (docs/decisions/0013). It is short so that it can be read and believed, and shares nothing with the
SQL, the replay and the route tables that are compared with it.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

__all__ = ["Story", "StoryStep", "complete_changes", "tell"]

Record = dict[str, Any]
State = dict[str, dict[tuple[Any, ...], Any]]

UP, UNKNOWN, STOPPED = "up", "unknown", "stopped"


@dataclass(frozen=True)
class StoryStep:
    """What is known from `ts` on, until the next step."""

    ts: int
    boot: int
    position: int
    status: str
    state: State
    """Empty unless up."""


@dataclass(frozen=True)
class Story:
    """One name server from its first record to its last."""

    steps: list[StoryStep]
    knows_up_to: int
    began: dict[int, int]
    """Boot -> time of its first record."""

    def at(self, ts: int) -> StoryStep | None:
        """What held at an instant; None before the first record."""
        index = bisect_right([step.ts for step in self.steps], ts)
        return self.steps[index - 1] if index else None

    def periods(self) -> list[tuple[str, int, int | None]]:
        """(status, from, to), without empty ones; the last is open."""
        found: list[tuple[str, int, int | None]] = []
        for step, end in zip(self.steps, [*(m.ts for m in self.steps[1:]), None], strict=True):
            if end == step.ts:
                continue
            if found and found[-1][0] == step.status:
                found[-1] = (step.status, found[-1][1], end)
            else:
                found.append((step.status, step.ts, end))
        return found


def tell(records: Iterable[Record]) -> Story:
    """Fold the records of one name server, in any order and with doubles."""
    whole = complete_changes(records)
    losses = _losses(whole)
    complete = _complete_checkpoints(whole, losses)
    ordered = sorted([*whole, *losses], key=_order)
    times = _effective_times(ordered)
    steps: list[StoryStep] = []
    state, status = _empty(), None
    for record in ordered:
        position = _order(record)[:2]
        kind = record["kind"]
        if kind == "loss":
            status, state = status and UNKNOWN, _empty()
        elif kind == "checkpoint_begin" and position in complete:
            status, state = UP, _empty()
        elif kind == "server_stopped" and status == UP:
            status, state = STOPPED, _empty()
        elif status == UP and ("checkpoint" not in record or position in complete):
            state = {table: dict(rows) for table, rows in state.items()}
            _apply(state, record)
        if status is not None and position in times:  # of a checkpoint whose begin is lost nothing counts
            steps.append(StoryStep(times[position], *position, status, state))
    began = {boot: ts for (boot, _), ts in sorted(times.items(), reverse=True)}
    return Story(steps, max(times.items())[1], began)


def _order(record: Record) -> tuple[int, int, int]:
    seq: int = record["seq"]
    return int(record["boot"]), int(record.get("checkpoint", seq)), seq


def complete_changes(records: Iterable[Record]) -> list[Record]:
    """Records, by (boot, seq), of changes of which nothing is missing; given in any order and with doubles."""
    written = [record for _, record in sorted({(r["boot"], r["seq"]): r for r in records}.items())]
    present = Counter((r["boot"], r["change"]) for r in written)
    ends = {(r["boot"], r["change"]): r["seq"] for r in written if r.get("end")}
    return [
        record
        for record in written
        if (key := (record["boot"], record["change"])) in ends
        and ends[key] - record["change"] + 1 == present[key]
    ]


def _losses(whole: list[Record]) -> list[Record]:
    """Every hole, and every end of a boot that nobody wrote down.

    Each stands in the order at the first seq that is missing, with the time of the last change before it; or
    with the time until which the boot ran after its last record, as the next one says.
    """
    found, last = [], whole[0]
    for before, record in pairwise(whole):
        last = last if "checkpoint" in before else before
        ends, first = before["boot"] != record["boot"], record["kind"] == "server_started"
        if ends:
            lost_a_boot = first and record.get("previous_boot", 0) > before["boot"]
            is_lost = before["kind"] != "server_stopped" or lost_a_boot or record["seq"] != 1
        else:
            is_lost = record["seq"] != before["seq"] + 1
        if is_lost:
            ts = last["ts"]
            if (record.get("previous_boot"), record.get("previous_seq")) == (before["boot"], before["seq"]):
                ts = max(ts, record.get("previous_alive_ts", 0))
            found.append({"kind": "loss", "boot": before["boot"], "seq": before["seq"] + 1, "ts": ts})
    return found


def _complete_checkpoints(whole: list[Record], losses: list[Record]) -> set[tuple[int, int]]:
    counts: Counter[tuple[int, int, str]] = Counter()
    for record in whole:
        if "checkpoint" in record:
            counts[record["boot"], record["checkpoint"], record["kind"]] += 1
    complete = set()
    for end in whole:
        if end["kind"] != "checkpoint_end":
            continue
        boot, begin = end["boot"], end["checkpoint"]
        found = {key[2]: count for key, count in counts.items() if key[:2] == (boot, begin)}
        found.pop("checkpoint_end")
        others = [*losses, *(record for record in whole if record["kind"] == "checkpoint_begin")]
        is_torn = any(other["boot"] == boot and begin < other["seq"] < end["seq"] for other in others)
        if found == {kind: count for kind, count in end["counts"].items() if count} and not is_torn:
            complete.add((boot, begin))
    return complete


def _effective_times(ordered: list[Record]) -> dict[tuple[int, int], int]:
    """Place -> the smallest ts from there on; rows of a checkpoint have the time of its begin."""
    times: dict[tuple[int, int], int] = {}
    smallest = max(record["ts"] for record in ordered)
    for record in reversed(ordered):
        if "checkpoint" not in record:
            smallest = times[_order(record)[:2]] = min(smallest, record["ts"])
    return times


def _empty() -> State:
    return {table: {} for table in ("live", "group", "cluster", "topic", "mapping", "filter", "kv", "config")}


def _put(rows: dict[tuple[Any, ...], Any], key: tuple[Any, ...], value: Any) -> None:
    if value is None:
        rows.pop(key, None)
    else:
        rows[key] = value


def _apply(state: State, r: Record) -> None:
    gone = r.get("gone", False)
    kind: str = r["kind"]
    match kind:
        case "broker_live":
            version = tuple(r.get("data_version", ()))
            live = (
                r["broker_name"],
                r["broker_id"],
                r["gen"],
                r.get("ha_server_addr"),
                r.get("timeout_ms"),
                version,
            )
            _put(state["live"], (r["cluster"], r["broker_addr"]), None if gone else live)
        case "broker_group":
            members = tuple(sorted((int(member), addr) for member, addr in r.get("broker_addrs", {}).items()))
            group = (r.get("cluster"), r.get("zone"), r.get("acting_master", False), members)
            _put(state["group"], (r["broker_name"],), None if gone else group)
        case "cluster":
            _put(state["cluster"], (r["cluster"],), tuple(r.get("broker_names", ())) or None)
        case "topic_queues":
            for topic, *spec in r["rows"]:
                _put(state["topic"], (r["broker_name"], topic), tuple(spec) or None)
        case "broker_name_removed":
            for key in [key for key in state["topic"] if key[0] == r["broker_name"]]:
                del state["topic"][key]
        case "topic_mapping":
            _put(state["mapping"], (r["topic"], r["broker_name"]), None if gone else _frozen(r["mapping"]))
        case "filter_servers":
            _put(
                state["filter"], (r["cluster"], r["broker_addr"]), tuple(r.get("filter_servers", ())) or None
            )
        case "kv":
            _put(state["kv"], (r["namespace"], r["key"]), None if gone else r.get("value", ""))
        case "config":
            state["config"] |= {(name,): value for name, value in r["properties"].items()}
        case _:
            pass  # the other kinds change no table


def _frozen(value: Any) -> Any:
    if isinstance(value, dict):
        return tuple(sorted((key, _frozen(inner)) for key, inner in value.items()))
    return value
