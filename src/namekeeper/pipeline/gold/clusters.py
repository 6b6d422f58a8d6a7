"""Which name servers belong together on which day, and the label of their cluster.

Only those of one cluster are compared. A label counts from its day on, for this day and for all that its
tables remember: the states of a day are computed as if each name server always had the label of this day.

Shadows are left out here, for all views: these read the labels of the name servers that they count.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from operator import itemgetter
from typing import Any, NamedTuple, TypeVar

from namekeeper.common.namesrv_clusters import SHARED_MS, namesrv_clusters
from namekeeper.common.shadow_names import is_shadow
from namekeeper.pipeline.gold.chains import make_chain
from namekeeper.pipeline.gold.engine import Engine
from namekeeper.pipeline.gold.graph import Graph
from namekeeper.pipeline.gold.plan import BEGINNING, FOREVER, Day, Window, day_at, day_named, days_between
from namekeeper.pipeline.gold.tables import NAME_SERVER_LABEL_DAILY

__all__ = [
    "Labels",
    "NamesrvCluster",
    "find_clusters",
    "parts_with_same_labels",
    "put_labelled_periods",
    "put_labels",
]

_DAY_DDL = "day string, from_ts bigint, to_ts bigint"
_CLUSTER_DDL = "namesrv string, namesrv_cluster string, cluster_label string, from_ts bigint, to_ts bigint"
_LABEL_DDL = "namesrv string, cluster_label string"
_PERIOD_DDL = "namesrv string, cluster_label string, from_ts bigint, to_ts bigint"

T = TypeVar("T")
Labels = Mapping[str, str]
"""Name server -> label of its cluster; empty: none."""


class NamesrvCluster(NamedTuple):
    """A cluster of name servers on a day."""

    first: str
    """The first of its name servers that had a broker, by name; of one without brokers its own name."""
    label: str
    """Empty: none."""


def find_clusters(
    engine: Engine, graph: Graph, cut: Window, args: Mapping[str, Any], starts: Iterable[Mapping[str, Any]]
) -> list[tuple[Day, Mapping[str, NamesrvCluster]]]:
    """The cluster of each name server on each day; makes `namesrv_cluster` if there are several name servers.

    That view has no shadows: they are not compared, because no client asks them (docs/decisions/0041). A
    shadow has its own label, whatever its brokers are.

    Args:
        engine: Runs the queries; it has `registered_broker`.
        graph: All views.
        cut: The days.
        args: Parameters of the queries.
        starts: Rows of `name_server`.
    """
    starts = sorted(starts, key=itemgetter("from_ts"))
    first = {row["namesrv"]: row["cluster_label"] or "" for row in reversed(starts)}
    days = days_between(Window(day_at(cut.from_ts, engine.zone).from_ts, cut.to_ts), engine.zone)
    sharing = _sharing(engine, graph, days, args) if len(first) > 1 else {}
    found: list[tuple[Day, Mapping[str, NamesrvCluster]]] = []
    with_brokers: dict[str, list[tuple[int, NamesrvCluster]]] = {}
    for day in days:
        later = {row["namesrv"]: row["cluster_label"] or "" for row in starts if row["from_ts"] < day.to_ts}
        labels = first | later
        of_day = {namesrv: NamesrvCluster(namesrv, label) for namesrv, label in labels.items()}
        for namesrv, cluster in _clusters_of(sharing.get(day.day, {}), labels).items():
            of_day[namesrv] = cluster
            with_brokers.setdefault(namesrv, []).append((day.from_ts, cluster))
        found.append((day, of_day))
    if len(first) > 1:
        rows = [
            (namesrv, *cluster, *bounds)
            for namesrv, of_days in with_brokers.items()
            for cluster, bounds in _periods(of_days)
        ]
        engine.put("namesrv_cluster", _CLUSTER_DDL, rows)
    return found


def _clusters_of(sharing: Mapping[str, Collection[str]], labels: Labels) -> dict[str, NamesrvCluster]:
    """The cluster of each name server that had a broker in common with some, itself included."""
    return {
        namesrv: NamesrvCluster(min(members), max(labels[each] for each in members))
        for namesrv, members in namesrv_clusters(sharing, labels).items()
    }


def parts_with_same_labels(
    window: Window, clusters: Iterable[tuple[Day, Mapping[str, NamesrvCluster]]]
) -> list[tuple[Window, Labels]]:
    """The days of a window, cut where a name server belongs to another label than on the day before."""
    labels = [
        (day, {namesrv: cluster.label for namesrv, cluster in of_day.items()})
        for day, of_day in clusters
        if window.from_ts <= day.from_ts < window.to_ts
    ]
    parts = []
    for same, some in groupby(labels, itemgetter(1)):
        days = [day for day, _ in some]
        parts.append((Window(days[0].from_ts, days[-1].to_ts), same))
    return parts


def put_labels(engine: Engine, labels: Labels) -> None:
    """Make `recorded_label`: the label of each name server. `namesrv_label` has no shadows."""
    engine.put("recorded_label", _LABEL_DDL, [*labels.items()])
    engine.put("namesrv_label", _LABEL_DDL, [(namesrv, labels[namesrv]) for namesrv in _asked(labels)])


def put_labelled_periods(engine: Engine) -> None:
    """Make `labelled_period`: the label of each name server at all times, but of no shadow; empty: none."""
    boots = engine.rows("computed_name_server_session")
    labels = {namesrv: [(BEGINNING, "")] for namesrv in _asked(row["namesrv"] for row in boots)}
    if engine.is_there(NAME_SERVER_LABEL_DAILY):
        engine.show(NAME_SERVER_LABEL_DAILY.name, NAME_SERVER_LABEL_DAILY)
        for row in sorted(engine.rows(NAME_SERVER_LABEL_DAILY.name), key=itemgetter("namesrv", "day")):
            if of_namesrv := labels.get(row["namesrv"]):
                of_namesrv.append((day_named(row["day"], engine.zone).from_ts, row["cluster_label"] or ""))
    found = [
        (namesrv, label, *bounds) for namesrv, days in labels.items() for label, bounds in _periods(days)
    ]
    engine.put("labelled_period", _PERIOD_DDL, found)


def _asked(name_servers: Iterable[str]) -> list[str]:
    """The name servers that clients ask: all but shadows."""
    return [namesrv for namesrv in name_servers if not is_shadow(namesrv)]


def _sharing(
    engine: Engine, graph: Graph, days: Sequence[Day], args: Mapping[str, Any]
) -> dict[str, dict[str, set[str]]]:
    """Day -> name server -> the sets of name servers that had a broker in common with it, as text."""
    engine.put("compared_day", _DAY_DDL, days)
    make_chain(engine, [graph["shared_broker"]], {**args, "shared_ms": SHARED_MS})
    sharing: dict[str, dict[str, set[str]]] = {}
    for row in engine.rows("shared_broker"):
        asked = _asked(row["name_servers"])
        broker = " ".join(asked)
        for namesrv in asked:
            sharing.setdefault(row["day"], {}).setdefault(namesrv, set()).add(broker)
    return sharing


def _periods(of_days: Iterable[tuple[int, T]]) -> Iterator[tuple[T, tuple[int, int]]]:
    """Values with their times, from those of days; the first and the last have no bound."""
    starts = [next(some) for _, some in groupby(of_days, itemgetter(1))]
    bounds = [BEGINNING, *(start for start, _ in starts[1:]), FOREVER]
    return zip((value for _, value in starts), pairwise(bounds), strict=True)
