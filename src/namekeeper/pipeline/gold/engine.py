"""What the steps of gold ask of an engine, and what they get as new records."""

from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol

from namekeeper.pipeline.gold.plan import RecomputeRange
from namekeeper.pipeline.gold.sql_text import Views
from namekeeper.pipeline.table import Table

__all__ = ["Engine", "NewRecords"]


class NewRecords(NamedTuple):
    """New records of one boot, as far as planning needs them."""

    namesrv: str
    boot: int
    first_seq: int
    last_seq: int
    first_ts: int


class Engine(Views, Protocol):
    """An engine that reads and writes the tables of one run."""

    load_id: int
    """The load that brought the new records."""

    def is_there(self, table: Table) -> bool:
        """Whether anything was ever written to a table."""

    def show_facts(self, ranges: Sequence[RecomputeRange]) -> None:
        """Name every fact table; those of changes may leave out rows that are in no range."""

    def replace(
        self, table: Table, name: str, *, by: str | None = None, values: Collection[str] | None = None
    ) -> None:
        """Replace the rows of a table, or those of some of its partitions, by the rows of `name`."""

    def concurrently(self, steps: Sequence[Callable[[], Any]]) -> list[Any]:
        """Run steps that don't need each other, in threads if that is quicker; returns what they return."""

    def in_background(self, step: Callable[[], Any]) -> AbstractContextManager[Callable[[], Any]]:
        """Run a step beside others; gives a function that waits for its end."""
