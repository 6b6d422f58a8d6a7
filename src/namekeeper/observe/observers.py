"""Observes several name servers at once, also those that come and go behind a name in the DNS."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager

from namekeeper.clock import Clock
from namekeeper.daemon_threads import DaemonThreads
from namekeeper.journal.recording.snapshot import Snapshot
from namekeeper.model.now import Now
from namekeeper.observe.config import ObservedCluster, Observing, Target, journal_settings, writer_settings
from namekeeper.observe.departed import DEPARTED_MS, DepartedJournals
from namekeeper.observe.journal import ObservedJournal
from namekeeper.observe.log_file import ServerLog
from namekeeper.observe.memory import MemoryLimits
from namekeeper.observe.observer import (
    THREADS,
    NameServerObserver,
    ObservedSender,
    ObserverState,
    ObserverStatus,
)
from namekeeper.remoting.address import Address
from namekeeper.remoting.resolving import Resolver

__all__ = ["DISCOVERED_LIMIT", "DISCOVER_SECONDS", "Observers", "OpenSender"]

log = logging.getLogger("namekeeper.observe")

DISCOVER_SECONDS = 15.0
"""How often names in the DNS are looked up."""
DISCOVERED_LIMIT = 64
"""Name servers behind one name: each has a connection and a folder, and the DNS may name any number."""
AFTER_A_BUG_SECONDS = 10.0
REMOVE_SECONDS = 600.0
"""How often journals of name servers that are gone are looked at."""

OpenSender = Callable[[ObservedCluster], AbstractAsyncContextManager[ObservedSender]]
"""Opens a sender to one name server of a cluster."""
Resolve = Callable[[str], Awaitable[Iterable[str]]]


class Observers:
    """The observers of all name servers; `run` goes on until it is cancelled.

    Args:
        observing: what to observe.
        open_sender: opens the sender of each observer.
        clock: the time.
        on_change: called with the id of a name server, and its status, when its state is another.
        on_removed: called with the id of a name server whose journal was removed.
        resolve: gives the addresses of a host; None asks the system.
    """

    def __init__(
        self,
        observing: Observing,
        open_sender: OpenSender,
        *,
        clock: Clock,
        on_change: Callable[[str, ObserverStatus], object] = lambda _id, _status: None,
        on_removed: Callable[[str], object] = lambda _id: None,
        resolve: Resolve | None = None,
    ) -> None:
        self._observing = observing
        self._open_sender = open_sender
        self._clock = clock
        self._on_change, self._on_removed = on_change, on_removed
        self._resolve = resolve
        self._memory = MemoryLimits()
        self._threads = DaemonThreads("answer", THREADS)
        self._removing = DaemonThreads("old journals", 1)
        self._listed = {
            Target.of(cluster, each).id for cluster in observing.clusters for each in cluster.name_servers
        }
        self._observers: dict[str, NameServerObserver] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._found_by: dict[str, tuple[str, Address]] = {}
        """Id of a discovered name server -> label of its cluster, and the name that it was behind."""
        self._absent_since: dict[str, int] = {}
        """Id of a discovered name server that is gone from the DNS -> since when, monotonic ms."""
        self._unresolved: set[tuple[str, Address]] = set()
        """Label of a cluster, and a name in the DNS that never had addresses since the start."""
        self.departed = DepartedJournals(
            observing.journal, observing.limits.max_age_ms, self._is_wanted, clock
        )
        self.undiscovered: dict[str, str] = {}
        """Name in the DNS -> why its addresses are not known now."""

    def status(self) -> Mapping[str, ObserverStatus]:
        """Id of each name server -> its status."""
        return {id_: observer.status() for id_, observer in self._observers.items()}

    async def run(self) -> None:
        """Observe until cancelled; then end every journal at its last answer."""
        resolve = self._resolve or Resolver().addresses
        removing = asyncio.create_task(self._remove_old(), name="remove old journals")
        try:
            for cluster in self._observing.clusters:
                for address in cluster.name_servers:
                    self._start(cluster, Target.of(cluster, address))
            while True:
                for cluster in self._observing.clusters:
                    for name in cluster.discover:
                        await self._discover(cluster, name, resolve)
                await asyncio.sleep(DISCOVER_SECONDS)
        finally:
            tasks = [removing, *self._tasks.values()]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _discover(self, cluster: ObservedCluster, name: Address, resolve: Resolve) -> None:
        """Observe each address behind a name. Those that are gone from it are observed while they answer."""
        try:
            hosts = sorted(await resolve(name.host))
        except OSError as error:
            self._note_undiscovered(name, f"{name.host}: {error.strerror or error}")
            if not self._behind(cluster, name):
                self._unresolved.add((cluster.label, name))
            return
        self._note_undiscovered(name, "")
        self._unresolved.discard((cluster.label, name))
        targets = {
            target.id: target for target in (Target.of(cluster, Address(host, name.port)) for host in hosts)
        }
        found = self._behind(cluster, name)
        now_ms = self._clock.now().mono_ms
        for id_ in found & targets.keys():
            self._absent_since.pop(id_, None)
        for id_ in found - targets.keys():
            observer = self._observers.get(id_)
            is_observed = observer is not None and observer.status().state is ObserverState.OBSERVED
            absent_ms = now_ms - self._absent_since.setdefault(id_, now_ms)
            if not is_observed or absent_ms >= DEPARTED_MS:
                await self._stop(id_)
        room = DISCOVERED_LIMIT - len(self._behind(cluster, name))
        new = [target for id_, target in targets.items() if id_ not in self._tasks]
        for target in new[:room]:
            self._start(cluster, target, found_by=name)

    def _behind(self, cluster: ObservedCluster, name: Address) -> set[str]:
        """Ids of the observed name servers that are behind a name, or were and still answer."""
        return {id_ for id_, by in self._found_by.items() if by == (cluster.label, name)}

    def _note_undiscovered(self, name: Address, why: str) -> None:
        if why and self.undiscovered.get(name.host) != why:
            log.warning("observe: %s", why)
        self.undiscovered.pop(name.host, None)
        if why:
            self.undiscovered[name.host] = why

    def _start(self, cluster: ObservedCluster, target: Target, found_by: Address | None = None) -> None:
        if found_by is not None:
            self._found_by[target.id] = (cluster.label, found_by)
        self._tasks[target.id] = asyncio.create_task(
            self._observe(cluster, target), name=f"observe {target.id}"
        )

    def _is_wanted(self, id_: str) -> bool:
        """Whether a name server is observed, or may be behind a name whose addresses were never known."""
        of_unresolved = any(not label or id_.startswith(f"{label}.") for label, _ in self._unresolved)
        return id_ in self._tasks or id_ in self._listed or of_unresolved

    async def _remove_old(self) -> None:
        """Remove old journals of name servers that are gone; a bug or a disk in it holds up nothing else."""
        while True:
            await asyncio.sleep(REMOVE_SECONDS)
            try:
                for id_ in await self._removing.run(self.departed.remove_old):
                    self._on_removed(id_)
            except Exception:
                log.exception("a bug in the removal of old journals")

    async def _stop(self, id_: str) -> None:
        del self._found_by[id_]
        self._absent_since.pop(id_, None)
        task = self._tasks.pop(id_)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        self._observers.pop(id_, None)

    async def _observe(self, cluster: ObservedCluster, target: Target) -> None:
        """Observe a name server until cancelled; a bug in one observer ends none of the others."""

        def open_journal(restart: str, take_snapshot: Callable[[], Snapshot], now: Now) -> ObservedJournal:
            writer = writer_settings(self._observing, target)
            settings = journal_settings(target, restart, cluster.label)
            return ObservedJournal(settings, writer, target.address.port, take_snapshot, now)

        path = cluster.logs.get(target.address)
        while True:
            try:
                async with self._open_sender(cluster) as sender:
                    self._observers[target.id] = observer = NameServerObserver(
                        str(target.address), sender, open_journal,
                        clock=self._clock, rates=self._observing.rates,
                        on_change=lambda status: self._on_change(target.id, status),
                        memory=self._memory, threads=self._threads,
                        log_file=None if path is None else ServerLog(path, self._clock),
                    )  # fmt: skip
                    await observer.run()
            except Exception:
                log.exception("a bug in the observer of %s", target.id)
                await asyncio.sleep(AFTER_A_BUG_SECONDS)
