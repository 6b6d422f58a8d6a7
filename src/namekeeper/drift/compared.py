"""Which name servers are compared at an instant, with which others, and why some are not."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from namekeeper.answers.render import explain_knowledge
from namekeeper.answers.source import PastAnswers
from namekeeper.common.expected import TOGETHER_END_MS
from namekeeper.common.namesrv_clusters import namesrv_clusters
from namekeeper.common.shadow_names import is_shadow
from namekeeper.drift.witness import MEMORY_MS, Witness
from namekeeper.history.history import History
from namekeeper.history.rows import LiveKey
from namekeeper.journal.reading.coverage import Knowledge

__all__ = [
    "Compared",
    "compared",
    "histories_of",
    "lacking_a_cluster",
    "last_common_instant",
    "why_not_text",
]


class Compared(Struct, frozen=True):
    """The name servers at an instant, grouped by cluster."""

    at: int
    """Wall ms."""
    clusters: Sequence[Sequence[Witness]]
    """The name servers of each cluster, those included that can't be compared."""
    shadow_ids: Sequence[str] = ()
    """Ids of shadows, sorted: no client asks them."""


def last_common_instant(histories: Sequence[History]) -> int:
    """The last instant that is known of all name servers whose records end together; 0 if nothing is known.

    A name server whose records ended long before those of the others is left out: it would be compared as it
    was then.
    """
    ends = [each.knows_up_to for each in histories if each.knows_up_to is not None]
    last = max(ends, default=0)
    return min((end for end in ends if last - end <= TOGETHER_END_MS), default=0)


def compared(
    histories: Sequence[History],
    at: int | None,
    topic_rows: Mapping[str, tuple[int, int]] | None = None,
    *,
    shadow: str = "",
) -> Compared:
    """Group name servers by cluster, as they were at an instant (wall ms); None is the last common one.

    Args:
        histories: of all name servers.
        at: the instant, wall ms.
        topic_rows: name server -> see `Witness`; None: the histories have every row.
        shadow: id of the shadow that is compared, too. Others are left out: no client asks them.
    """
    wanted = [each for each in histories if each.namesrv == shadow or not is_shadow(each.namesrv)]
    instant = last_common_instant(wanted) if at is None else at
    rows = topic_rows or {}
    witnesses = {each.namesrv: Witness(each, instant, rows.get(each.namesrv)) for each in wanted}
    addrs = {name: set(each.recent_addrs()) for name, each in witnesses.items()}
    clusters = namesrv_clusters(addrs, {each.namesrv: each.cluster_label for each in wanted})
    groups = sorted({tuple(sorted(members)) for members in clusters.values()})
    shadow_ids = sorted({each.namesrv for each in histories} - witnesses.keys())
    return Compared(instant, [[witnesses[name] for name in group] for group in groups], shadow_ids)


def lacking_a_cluster(histories: Sequence[History]) -> set[str]:
    """The name servers without any broker of a cluster whose brokers another one has, at any time.

    They may have lost them before their histories begin, so more of these has to be read.
    """
    clusters = {each.namesrv: {key.cluster for key in each.keys(LiveKey)} for each in histories}
    every = set().union(*clusters.values())
    return {namesrv for namesrv, own in clusters.items() if own != every}


def histories_of(source: PastAnswers, at: int | None, back_ms: int) -> list[History]:
    """The histories of all name servers; longer ones of those that may have lost a cluster before.

    Args:
        source: where they are.
        at: the instant in question, wall ms; None is now, or the end of each.
        back_ms: how long before it they begin, at the latest.
    """
    found = source.histories(at, back_ms)
    lacking = lacking_a_cluster(found) if back_ms < MEMORY_MS else set()
    if not lacking:
        return found
    longer = {each.namesrv: each for each in source.histories(at, MEMORY_MS, lacking)}
    return [longer.get(each.namesrv, each) for each in found]


def why_not_text(witness: Witness) -> str:
    """Why a name server is not compared; empty if it is."""
    if witness.has_rows_now:
        return ""
    reason, last = witness.history.knowledge(witness.at), witness.history.knows_up_to
    if reason is Knowledge.NOT_YET and last is not None and witness.at - last > TOGETHER_END_MS:
        return "its records end long before those of the others"
    return explain_knowledge(reason)
