"""The interface of an engine for the steps of gold."""

from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from namekeeper.pipeline.gold.plan import RecomputeRange
from namekeeper.pipeline.gold.sql_text import Views
from namekeeper.pipeline.table import Table

__all__ = ["Engine"]


class Engine(Views, Protocol):
    """An engine that reads and writes the tables of one run."""

    def is_there(self, table: Table) -> bool:
        """Whether anything was ever written to a table."""

    def show_facts(self, ranges: Sequence[RecomputeRange]) -> None:
        """Make fact tables readable by their names; those of changes may lack rows that are in no range."""

    def show_added(self, name: str, table: Table) -> None:
        """Make the rows that this run has added to a fact table readable by a name."""

    def replace(
        self, table: Table, name: str, *, by: str | None = None, values: Collection[str] | None = None
    ) -> None:
        """Replace the rows of a table, or those of some of its partitions, by the rows of `name`."""

    def concurrently(self, steps: Sequence[Callable[[], Any]]) -> list[Any]:
        """Run independent steps, in threads if that is faster; returns their results."""

    def in_background(self, step: Callable[[], Any]) -> AbstractContextManager[Callable[[], Any]]:
        """Run a step beside others; returns a function that waits for its end."""
