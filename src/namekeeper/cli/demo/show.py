"""How the demo looks: steps, notes, and routes as small tables."""

from collections.abc import Iterable

from rich.console import Console
from rich.markup import escape
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from namekeeper.model.perm import format_perm
from namekeeper.model.route import TopicRouteData

__all__ = ["Stage"]


class Stage:
    """The console that shows the story."""

    def __init__(self, console: Console) -> None:
        self.console = console

    def step(self, text: str) -> None:
        """Begin a step of the story."""
        self.console.print(f"\n[bold cyan]>[/] {text}", soft_wrap=True)

    def note(self, text: str) -> None:
        """Say something within a step."""
        self.console.print(f"   {text}")

    def steps(self, first: str, lines: Iterable[str]) -> list[str]:
        """Show what long work does: one line with the time so far on a terminal, else a line for each step.

        Args:
            first: what it does before the first line.
            lines: what it does then; they end with the work.

        Returns:
            The lines.
        """
        said: list[str] = []
        columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
        is_terminal = self.console.is_terminal
        with Progress(*columns, console=self.console, transient=True, disable=not is_terminal) as bar:
            task = bar.add_task(f"{escape(first)}; Ctrl-C stops it")
            for line in lines:
                said.append(line.rstrip())
                bar.update(task, description=f"{escape(said[-1])}; Ctrl-C stops it")
                if not is_terminal:
                    self.note(f"[dim]{escape(said[-1])}[/]")
        return said

    def route(self, topic: str, route: TopicRouteData, where: str) -> None:
        """Show a route."""
        table = Table(title=f"   route of {topic} at {where}", title_justify="left", box=None, pad_edge=True)
        for column in ("", "broker", "master", "slaves", "perm", "queues r/w"):
            table.add_column(column, no_wrap=True)
        queues = {queue.broker_name: queue for queue in route.queue_datas}
        for broker in sorted(route.broker_datas, key=lambda broker: broker.broker_name):
            queue = queues[broker.broker_name]
            slaves = ", ".join(addr for broker_id, addr in broker.broker_addrs.items() if broker_id)
            table.add_row(
                "",
                broker.broker_name,
                broker.broker_addrs.get(0, "[red]none[/]"),
                slaves or "-",
                format_perm(queue.perm),
                f"{queue.read_queue_nums}/{queue.write_queue_nums}",
            )
        self.console.print(table)
