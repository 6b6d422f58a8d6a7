"""Output of `namekeeper fleet` while it runs: a line for each action, and a bar on a terminal."""

import contextlib
from collections.abc import Iterator, Mapping

from msgspec import structs
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from namekeeper.common.counts import shown_count
from namekeeper.errors import NamekeeperError
from namekeeper.fleet.fleet import Fleet
from namekeeper.fleet.plan import (
    Action,
    AddWritePerm,
    CreateTopic,
    Die,
    FleetPlan,
    Hang,
    Heal,
    Partition,
    Start,
    Stop,
    SwitchRole,
    WipeWritePerm,
)

__all__ = ["FleetShow", "describe"]


class FleetShow:
    """Lines on a console; on a terminal with a bar below them."""

    def __init__(self, console: Console, plan: FleetPlan) -> None:
        self._console = console
        self._plan = plan
        self._names = {
            broker.broker_addr: f"{broker.broker_name} ({broker.broker_addr})" for broker in plan.brokers
        }
        self._bar: tuple[Progress, TaskID] | None = None

    @contextlib.contextmanager
    def bar(self) -> Iterator[None]:
        """Show how many of the plan's actions are done, where there is a terminal."""
        if not self._console.is_terminal:
            yield
            return
        columns = TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed}/{task.total}")
        with Progress(*columns, TimeElapsedColumn(), console=self._console, transient=True) as progress:
            total = len(self._plan.actions)
            self._bar = (progress, progress.add_task("registering", total=total))
            yield
            self._bar = None

    def begins(self) -> None:
        """Print the size of the plan."""
        settings = self._plan.settings
        brokers = (
            f"{shown_count(len(self._plan.brokers), 'broker')} in {shown_count(settings.clusters, 'cluster')}"
        )
        self._line(f"{brokers}, {shown_count(settings.topics, 'topic')} each")
        seconds = f"{settings.duration_seconds:g} s"
        self._line(f"{shown_count(len(self._plan.actions), 'action')} in {seconds}, seed {settings.seed}")

    def started(self, fleet: Fleet) -> None:
        """Print the counts of the first registrations."""
        summary = fleet.summary
        for addr in fleet.namesrv_addrs:
            accepted, failed = summary.registrations.get(addr, 0), summary.failures.get(addr, 0)
            self._line(
                f"{addr}: {shown_count(accepted, 'registration')} accepted"
                + (f", {failed} failed" if failed else "")
            )
        if summary.last_failure:
            self._line(f"last failure: {summary.last_failure}")
        self._describe("playing")

    def acted(self, action: Action, failure: NamekeeperError | None) -> None:
        """Print an action."""
        minutes, seconds = divmod(action.at_ms / 1000, 60)
        text = f"{minutes:4.0f}:{seconds:04.1f}  {describe(action, self._names)}"
        self._line(f"{text}  failed: {failure}" if failure else text)
        if self._bar is not None:
            self._bar[0].advance(self._bar[1])

    def stops(self, fleet: Fleet) -> None:
        """Print that the brokers unregister."""
        self._describe("unregistering")
        self._line(f"unregistering {shown_count(fleet.summary.running, 'broker')}")

    def ended(self, fleet: Fleet) -> None:
        """Print the counts."""
        summary = fleet.summary
        done = (
            ", ".join(f"{count} {name}" for name, count in sorted(summary.actions.items()))
            or "nothing happened"
        )
        self._line(
            f"{done}; {summary.failed_actions} failed; {shown_count(summary.running, 'broker')} left running"
        )
        for addr in fleet.namesrv_addrs:
            accepted, failed = summary.registrations.get(addr, 0), summary.failures.get(addr, 0)
            self._line(f"{addr}: {shown_count(accepted, 'registration')} accepted, {failed} failed")

    def _describe(self, what: str) -> None:
        if self._bar is not None:
            self._bar[0].update(self._bar[1], description=what)

    def _line(self, text: str) -> None:
        self._console.print(text, markup=False, soft_wrap=True)


def describe(action: Action, names: Mapping[str, str]) -> str:
    """Return an action in words; `names` has the name of the broker at each address."""
    fields = structs.asdict(action).items()
    values = {name: names.get(value, value) if isinstance(value, str) else value for name, value in fields}
    return _TEXTS[type(action)].format(**values)


_TEXTS: dict[type[Action], str] = {
    CreateTopic: "new topic {topic.topic_name} on every broker of {cluster_name}",
    Start: "{broker_addr} is back ({because})",
    Stop: "{broker_addr} stops cleanly ({because})",
    Die: "{broker_addr} dies ({because})",
    Hang: "{broker_addr} hangs: connected and silent ({because})",
    SwitchRole: "{slave_addr} becomes master in place of {master_addr}",
    WipeWritePerm: "write permission of {broker_name} wiped",
    AddWritePerm: "write permission of {broker_name} given back",
    Partition: "{broker_addr} is cut off from name server {namesrv}",
    Heal: "{broker_addr} finds name server {namesrv} again",
}
