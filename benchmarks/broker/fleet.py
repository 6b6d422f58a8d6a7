"""A large fleet in one process, against a name server of ours in another."""

import asyncio
import gc
import os
import resource
import time
from pathlib import Path

from benchmarks.client.namesrv import NameServerProcess
from namekeeper.fleet.churn import ChurnKind
from namekeeper.fleet.fleet import Fleet
from namekeeper.fleet.make_plan import make_plan
from namekeeper.fleet.plan import CreateTopic, FleetSettings
from namekeeper.model.topic import TopicConfig

__all__ = ["fleet_rows"]

Row = tuple[str, str, str]


def fleet_rows(brokers: int, topics: int) -> list[Row]:
    """Return what a fleet takes to start, to register again, and to get a new topic."""
    with NameServerProcess(0, brokers=0) as namesrv:
        return asyncio.run(_rows(namesrv.addr, brokers, topics))


async def _rows(addr: str, brokers: int, topics: int) -> list[Row]:
    gc.collect()
    before = _rss_mib()
    plan = make_plan(FleetSettings(brokers=brokers, topics=topics))
    fleet = Fleet(plan, addr)
    begun, cpu = time.perf_counter(), _cpu()
    async with fleet:
        rows = [("start: every broker has registered", _cost(begun, cpu), "")]
        for what in ("all register again", "all register again, once more"):
            begun, cpu = time.perf_counter(), _cpu()
            await asyncio.gather(
                *(registrar.register_broker_all() for registrar in fleet.registrars.values())
            )
            rows.append((what, _cost(begun, cpu), ""))
        begun, cpu = time.perf_counter(), _cpu()
        await fleet.perform(CreateTopic(0, ChurnKind.TOPICS, "cluster-1", TopicConfig("new-topic", 4, 4)))
        rows.append(("a new topic on every broker", _cost(begun, cpu), ""))
        summary = fleet.summary
        assert summary.topics == brokers * (topics + 1), summary
        assert not summary.failures, summary.last_failure
        gc.collect()
        rows.append(("memory of the process for the fleet", f"{_rss_mib() - before:.0f} MiB", ""))
    return rows


def _cost(begun: float, cpu: float) -> str:
    return f"{time.perf_counter() - begun:.1f} s, CPU of the fleet's process {_cpu() - cpu:.1f} s"


def _cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def _rss_mib() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20
