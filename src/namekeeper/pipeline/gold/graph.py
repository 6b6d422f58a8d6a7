"""The order of views, and which of them can run at the same time, from the names that they read."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from graphlib import CycleError, TopologicalSorter

from namekeeper.pipeline.gold.sql_file import View

__all__ = ["Chain", "Graph", "UnexplainedViewError", "UnknownViewError", "UnreadViewError", "ViewCycleError"]

Chain = Sequence[View]
"""Views that need each other, in an order in which they can be computed."""


class UnknownViewError(ValueError):
    """A view reads a name that is neither a view nor a table."""


class ViewCycleError(ValueError):
    """Views read each other in a circle."""


class UnreadViewError(ValueError):
    """The rows of a view are not used."""


class UnexplainedViewError(ValueError):
    """Several views read a view, but its header does not say whether its rows are kept."""


class Graph:
    """Views in an order in which they can be computed. Reading a table depends on the view that writes it."""

    def __init__(self, views: Iterable[View], tables: Collection[str]) -> None:
        """Check and order.

        Args:
            views: All views.
            tables: Names that exist before: facts, tables of earlier runs, values of a run.

        Raises:
            UnknownViewError: A view reads a name that is none of these.
            ViewCycleError: Views read each other in a circle.
            UnreadViewError: A view is neither read nor written to a table nor collected.
            UnexplainedViewError: Several views read one that is silent about being kept.
        """
        self._views = {view.name: view for view in views}
        self._maker = {name: name for name in self._views}
        self._maker |= {view.writes: view.name for view in self._views.values() if view.writes}
        self._needs = {view.name: self._makers_of(view, tables) for view in self._views.values()}
        self._order = self._sorted()
        self._readers = {
            name: [reader for reader in self._order if name in self._needs[reader]] for name in self._order
        }
        for view in self._views.values():
            self._check_use(view)

    def __getitem__(self, name: str) -> View:
        return self._views[name]

    def __iter__(self) -> Iterator[View]:
        """All views; each comes after those that it needs."""
        return map(self._views.__getitem__, self._order)

    def maker(self, name: str) -> str:
        """The name of the view that writes a table; for a view, its own name."""
        return self._maker[name]

    def readers(self, name: str) -> list[View]:
        """The views that read a view, or the table that it writes."""
        return [self._views[reader] for reader in self._readers[self._maker[name]]]

    def from_table(self, name: str) -> frozenset[str]:
        """Names of the views that need a table, directly or through others."""
        found = {self._maker[name]}
        for view in self._order:
            if not found.isdisjoint(self._needs[view]):
                found.add(view)
        return frozenset(found - {self._maker[name]})

    def sources(self, name: str, *, without: str) -> frozenset[str]:
        """Names outside of the graph that a view or a table is made of, directly or through others.

        Args:
            name: The view, or the table that it writes.
            without: A phase; what its views are made of is left out.
        """
        found, views = set[str](), [self._views[self._maker[name]]]
        while views:
            for source in views.pop().reads:
                if source not in self._maker:
                    found.add(source)
                elif (view := self._views[self._maker[source]]).phase != without:
                    views.append(view)
        return frozenset(found)

    def needed(self, chain: Chain, tables: Collection[str]) -> Chain:
        """The views of a chain without those that serve only these tables, which are there already."""
        left_out: set[str] = set()
        for view in reversed(chain):
            readers = self._readers[view.name]
            if view.writes in tables or (readers and not view.writes and left_out.issuperset(readers)):
                left_out.add(view.name)
        return [view for view in chain if view.name not in left_out]

    def chains(self, wanted: Callable[[View], bool]) -> list[Chain]:
        """The chosen views in independent groups; the longest group first."""
        chains: list[list[View]] = []
        for view in filter(wanted, self):
            needed = [chain for chain in chains if any(each.name in self._needs[view.name] for each in chain)]
            for chain in needed:
                chains.remove(chain)
            chains.append([*(each for chain in needed for each in chain), view])
        return sorted(chains, key=len, reverse=True)

    def _makers_of(self, view: View, tables: Collection[str]) -> frozenset[str]:
        needed = view.reads | ({view.filled_from} if view.filled_from else set())
        unknown = [name for name in needed if name not in self._maker and name not in tables]
        if unknown:
            raise UnknownViewError(
                f"{view.name}.sql reads {', '.join(sorted(unknown))}, which is neither a view nor a table"
            )
        return frozenset(self._maker[name] for name in needed if name in self._maker)

    def _sorted(self) -> list[str]:
        try:
            return list(
                TopologicalSorter(
                    {name: sorted(self._needs[name]) for name in sorted(self._needs)}
                ).static_order()
            )
        except CycleError as error:
            raise ViewCycleError(f"views read each other in a circle: {' <- '.join(error.args[1])}") from None

    def _check_use(self, view: View) -> None:
        readers = self._readers[view.name]
        if not readers and not view.writes and not view.collected:
            raise UnreadViewError(f"nobody reads {view.name}, and it has no 'writes' and no 'collected'")
        if len(readers) > 1 and not (view.kept or view.not_kept or view.writes):
            raise UnexplainedViewError(
                f"{', '.join(readers)} read {view.name}: its header must say 'kept' or 'not kept', and why"
            )
