"""The verdict about a topic that had a route: whether clients could write to it, and if not, why."""

from namekeeper.answers.evidence import BrokerSession, Evidence, TopicRoute
from namekeeper.answers.phrases import ENDS, by, end_of_session, ended, queues, unconfirmed, with_cause
from namekeeper.answers.verdict import Fact, Judgement, Verdict
from namekeeper.answers.without_route import absent_brokers
from namekeeper.common.writable import is_writable
from namekeeper.model.broker import MASTER_ID
from namekeeper.model.perm import Perm

__all__ = ["judge_with_route"]

_ORDER = (Verdict.WRITE_PERM_WIPED, Verdict.MASTER_GONE, Verdict.NOT_WRITABLE)
"""If rows can't be written to for different reasons, the verdict is the first of these."""


def judge_with_route(one: Evidence, at: int, began: int) -> Judgement:
    """Judge the rows that were valid at a time.

    Args:
        one: what is known of the name server; it has at least one such row.
        at: wall ms.
        began: when the boot at that time began, wall ms.
    """
    rows = one.routes_at(at)
    with_master = {s.broker_name for s in one.sessions if s.broker_id == MASTER_ID and s.is_valid(at)}
    without_master = [row for row in rows if row.broker_name not in with_master]
    facts = [_fact(one, row) for row in rows]
    facts += [_missing_master(one, row.broker_name, at) for row in without_master]
    facts += _unconfirmed(one, {row.broker_name for row in rows}, at)
    if any(_is_writable(row, with_master) for row in rows):
        return Verdict.HAS_ROUTE, _writable_summary(rows, with_master), facts
    absent = absent_brokers(one, at, began)
    facts += [fact for _, found in absent for fact in found]
    reasons = [_reason(one, row, at, has_master=row.broker_name in with_master) for row in rows]
    verdict = min((verdict for verdict, _ in reasons), key=_ORDER.index)
    parts = dict.fromkeys([text for _, text in sorted(reasons, key=lambda reason: _ORDER.index(reason[0]))])
    return verdict, "; ".join([*parts, *(text for text, _ in absent)]), facts


def _is_writable(row: TopicRoute, with_master: set[str]) -> bool:
    return is_writable(row.perm, row.write_queue_nums, has_master=row.broker_name in with_master)


def _writable_summary(rows: list[TopicRoute], with_master: set[str]) -> str:
    others = [row.broker_name for row in rows if not _is_writable(row, with_master)]
    summary = "it had a route with queues to write to"
    return f"{summary}, but none on {', '.join(sorted(others))}" if others else summary


def _reason(one: Evidence, row: TopicRoute, at: int, *, has_master: bool) -> tuple[Verdict, str]:
    """Why a row can't be written to."""
    original = _original(one, row)
    if not row.perm & Perm.WRITE and original.from_cause == "wipe_write_perm":
        return Verdict.WRITE_PERM_WIPED, f"write permission was wiped{by(original.from_peer)}"
    if not row.perm & Perm.WRITE and original.from_cause in ENDS and not has_master:
        text = "its master was gone, and clients can't write to the slave that acts for it"
        return Verdict.MASTER_GONE, text
    if is_writable(row.perm, row.write_queue_nums, has_master=True):
        master = _last_master(one, row.broker_name, at)
        how = "" if master is None else f" (it {ended(master.reason, master.closed_by)})"
        return Verdict.MASTER_GONE, f"{row.broker_name} had no master{how}, and clients write to masters only"
    return Verdict.NOT_WRITABLE, "it had a route, but no queue to write to"


def _fact(one: Evidence, row: TopicRoute) -> Fact:
    original = _original(one, row)
    return Fact.of_begin(with_cause(one, original), original)


def _unconfirmed(one: Evidence, broker_names: set[str], at: int) -> list[Fact]:
    """Brokers that were restored and have not registered since."""
    restored = [session for session in one.sessions if session.is_restored and session.is_valid(at)]
    return [
        Fact(unconfirmed(session), session.valid_from)
        for session in restored
        if session.broker_name in broker_names
    ]


def _missing_master(one: Evidence, broker_name: str, at: int) -> Fact:
    master = _last_master(one, broker_name, at)
    if master is None:
        return Fact(f"{broker_name} had no master, as far as was read")
    return Fact.of_end(f"{broker_name} had no master: {end_of_session(master, 'its master')}", master)


def _last_master(one: Evidence, broker_name: str, at: int) -> BrokerSession | None:
    """The last session of the master of a broker name that had ended at a time."""
    ended = [
        session
        for session in one.sessions_of(broker_name)
        if session.broker_id == MASTER_ID and session.has_ended(at)
    ]
    return max(ended, key=lambda session: session.valid_to or 0, default=None)


def _original(one: Evidence, route: TopicRoute) -> TopicRoute:
    """The row with the cause: a row first seen in a checkpoint, or restored, may continue an earlier one."""
    for before in reversed(one.routes_of(route.broker_name)):
        if route.from_cause not in {None, "restored"}:
            break
        if (
            before.valid_from < route.valid_from
            and before.ended_by in {"unknown", "checkpoint", "stopped"}
            and queues(before) == queues(route)
        ):
            route = before
    return route
