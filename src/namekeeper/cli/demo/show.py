"""How the demo looks: steps, notes, and routes as small tables."""

from rich.console import Console
from rich.table import Table

from namekeeper.model.perm import format_perm
from namekeeper.model.route import TopicRouteData

__all__ = ["Stage"]


class Stage:
    """Where the story is told."""

    def __init__(self, console: Console) -> None:
        self.console = console

    def step(self, text: str) -> None:
        """Begin a step of the story."""
        self.console.print(f"\n[bold cyan]>[/] {text}", soft_wrap=True)

    def note(self, text: str) -> None:
        """Say something within a step."""
        self.console.print(f"   {text}")

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
