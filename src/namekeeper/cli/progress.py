"""A line on stderr that shows the progress of long work."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import Progress as Bars
from rich.progress import TaskID

from namekeeper.admin.snapshot import Progress

__all__ = ["shown_progress"]


@contextmanager
def shown_progress(console: Console | None = None) -> Iterator[Progress]:
    """Give a function that shows a bar for each kind of work; the bars go when the work is done."""
    with Bars(console=console or Console(stderr=True), transient=True) as bars:
        tasks: dict[str, TaskID] = {}

        def show(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bars.add_task(what, total=total)
            bars.update(tasks[what], completed=done, total=total)

        yield show
