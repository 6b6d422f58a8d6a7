"""Measure the client and print a table, with the machine and the workload."""

import argparse
import asyncio
import gc
import os
import platform
import resource
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.table import Table

from benchmarks.client.namesrv import NameServerProcess
from namekeeper.client.client_config import ClientConfig
from namekeeper.client.groups import Consumer, Producer
from namekeeper.client.instance import MQClientInstance
from namekeeper.client.polling import FIRST_DELAY_SECONDS, Timing
from namekeeper.client.queues.selection import ThreadLocalIndex, select_one_message_queue
from namekeeper.client.subscription import SubscriptionData

LOOKUPS = 200_000
INTERVAL_SECONDS = 30.0
"""Of the client, unless --quick; a round is spread over the time that `polling.SPREAD` says."""


@dataclass
class Row:
    """One figure."""

    what: str
    value: str
    promised: str = ""


class Gauge:
    """CPU time of this process, and the most requests under way, between entering and leaving."""

    def __enter__(self) -> Self:
        self.begun = time.perf_counter()
        self._before = resource.getrusage(resource.RUSAGE_SELF)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.seconds = time.perf_counter() - self.begun
        after = resource.getrusage(resource.RUSAGE_SELF)
        self.cpu = (after.ru_utime - self._before.ru_utime) + (after.ru_stime - self._before.ru_stime)


def main(arguments: Sequence[str]) -> int:
    """Take all rows."""
    options = _parsed(arguments)
    topics = 1_000 if options.quick else options.topics
    interval = 3.0 if options.quick else INTERVAL_SECONDS
    console = Console(width=110)
    with NameServerProcess(topics, brokers=options.brokers) as namesrv:
        rows = asyncio.run(_measure(namesrv, interval))
    table = Table("what", "measured", "promised")
    for row in rows:
        table.add_row(row.what, row.value, row.promised)
    console.print(table)
    console.print(
        f"{topics:,} topics, each on {options.brokers} brokers with 4 queues; one producer and one consumer "
        f"have all of them; poll interval {interval:g} s; name server: namekeeper, same machine, loopback"
    )
    console.print(
        f"{platform.machine()}, {os.cpu_count()} CPUs, Python {platform.python_version()}, "
        f"{platform.system()}, load {os.getloadavg()[0]:.1f}"
    )
    if options.quick:
        console.print("a smoke run: sizes and times are cut down, so its figures judge nothing")
    return 0


async def _measure(namesrv: NameServerProcess, interval: float) -> list[Row]:
    gc.collect()
    rss_before = _rss()
    config = ClientConfig(
        namesrv_addr=namesrv.addr,
        poll_name_server_interval_ms=int(interval * 1000),
        mq_client_api_timeout_ms=60_000,
    )
    async with MQClientInstance(config, timing=Timing(sleep=_sleep_in_rounds_only)) as client:
        producer, consumer = client.register_producer("P"), client.register_pull_consumer("C")
        consumer.subscription.update({topic: SubscriptionData(topic) for topic in namesrv.topics})
        rows = await _rounds(client, namesrv, rss_before)
        rows += _lookups(client, producer, consumer, namesrv.topics)
    return rows


async def _sleep_in_rounds_only(seconds: float) -> None:
    """Let the pauses within a round be what they are; the next round never begins by itself."""
    await asyncio.sleep(seconds if FIRST_DELAY_SECONDS < seconds < 1 else 1e6)


async def _rounds(client: MQClientInstance, namesrv: NameServerProcess, rss_before: int) -> list[Row]:
    count = len(namesrv.topics)
    poll_round = client._poller.round  # noqa: SLF001 - a round by hand, to see where it begins and ends
    with Gauge() as first:
        await poll_round()
    gc.collect()
    rss = _rss() - rss_before
    status = client.status()
    assert status.topics == count, status
    lag = asyncio.create_task(_longest_lag())
    with Gauge() as refresh:
        await poll_round()
    lag.cancel()
    longest = await lag
    assert (client.status().oldest_age_ms or 0) <= (time.perf_counter() - refresh.begun) * 1000 + 1
    return [
        Row("first round: all topics asked for", f"{first.seconds:.2f} s"),
        Row("first round: CPU for each topic", f"{first.cpu / count * 1e6:.0f} us"),
        Row("memory for each topic, producer's and consumer's tables included", f"{rss / count:.2f} KB"),
        Row("refresh of unchanged routes: spread over", f"{refresh.seconds:.1f} s", "less than the interval"),
        Row("refresh: CPU for each topic", f"{refresh.cpu / count * 1e6:.0f} us"),
        Row("refresh: share of one core meanwhile", f"{refresh.cpu / refresh.seconds * 100:.1f} %"),
        Row("refresh: requests a second, on average", f"{count / refresh.seconds:,.0f}"),
        Row("refresh: longest pause of the event loop", f"{longest * 1e3:.1f} ms"),
    ]


async def _longest_lag() -> float:
    """How much later than it should a task wakes that sleeps for a millisecond, at worst."""
    longest = 0.0
    try:
        while True:
            begun = time.perf_counter()
            await asyncio.sleep(0.001)
            longest = max(longest, time.perf_counter() - begun - 0.001)
    except asyncio.CancelledError:
        return longest


def _lookups(
    client: MQClientInstance, producer: Producer, consumer: Consumer, topics: Sequence[str]
) -> list[Row]:
    rng = Random(1)
    chosen = [rng.choice(topics) for _ in range(LOOKUPS)]
    publish, subscribe = producer.topic_publish_info_table, consumer.topic_subscribe_info_table
    find = client.tables.find_broker_address_in_publish
    index = ThreadLocalIndex(rng)
    names = [publish[topic].message_queues[0].broker_name for topic in chosen]

    def cost(work: object) -> str:
        return f"{work / LOOKUPS * 1e6:.2f} us"  # type: ignore[operator]

    begun = time.perf_counter()
    for topic in chosen:
        publish[topic]
    after_publish = time.perf_counter()
    for topic in chosen:
        subscribe[topic]
    after_subscribe = time.perf_counter()
    for name in names:
        find(name)
    after_find = time.perf_counter()
    for topic in chosen:
        select_one_message_queue(publish[topic].message_queues, index)
    end = time.perf_counter()
    bound = "a microsecond or two"
    return [
        Row("look-up: queues to publish to", cost(after_publish - begun), bound),
        Row("look-up: queues to consume from", cost(after_subscribe - after_publish), bound),
        Row("look-up: address of a broker", cost(after_find - after_subscribe), bound),
        Row("look-up and choice of the next queue", cost(end - after_find)),
    ]


def _rss() -> int:
    """Resident memory of this process, in KB."""
    with open("/proc/self/status") as file:  # noqa: PTH123 - once
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))


def _parsed(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.client", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a smoke run of a few seconds: 1,000 topics")
    parser.add_argument("--topics", type=int, default=10_000, help="topics of the client (default 10,000)")
    parser.add_argument("--brokers", type=int, default=4, help="brokers that have each topic (default 4)")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
