"""What each request of an observer costs the name server: `python -m benchmarks.observe_costs`.

It starts Java name servers, registers brokers with them, and asks at the rate of an observer. It prints
the time of the server's processor per request, without what the idle server takes, as the rows of
docs/reference/observe.md. `--seconds` is the length of a sample.
"""

import argparse
import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from statistics import median

from benchmarks.load.fleet import registered
from benchmarks.load.payload import Broker, base_topic, registration
from namekeeper.admin import operations
from namekeeper.admin.operations import Namesrv
from namekeeper.kvconfig.store import ORDER_TOPIC_CONFIG
from namekeeper.observe.schedule import AT_ONCE
from namekeeper.remoting.client import RemotingClient
from tests.support.java.servers import JavaNameServer

__all__: list[str] = []

JVM = ("-Xms512m", "-Xmx2g", "-Xmn256m", "-Dtls.server.mode=disabled")
VERSIONS = ("4.8.0", "5.5.0")
BROKERS, TOPICS, KEYS = (4, 40), (1_000, 20_000), (100, 2_000)
PER_SECOND = 100
"""Requests in a second: as many as an observer sends. A faster client would show a warmer server."""
WARM_UP = {"105": 60_000, "106": 5_000, "206": 1_000, "219": 2_000, "319": 2_000}
"""Requests before the first sample: Java's compiler has done its work then, as in a server with clients."""
SECONDS = 1.0
ROUNDS = 9

Ask = Callable[[Namesrv, int], Awaitable[object]]


def main() -> None:
    """Run."""
    parser = argparse.ArgumentParser("python -m benchmarks.observe_costs", description=__doc__)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of each sample")
    parser.add_argument("--versions", default=",".join(VERSIONS))
    arguments = parser.parse_args()
    print("| release | request | size | us of the processor |")
    print("| --- | --- | --- | --- |")
    for version in arguments.versions.split(","):
        for brokers, topics, keys in ((BROKERS[0], TOPICS[0], KEYS[0]), (BROKERS[0], TOPICS[1], KEYS[1]),
                                      (BROKERS[1], TOPICS[0], KEYS[0])):  # fmt: skip
            with JavaNameServer(version, base_jvm=JVM) as server:
                some = [Broker(f"bench-{n:02}", f"10.0.2.{n + 1}:9091") for n in range(brokers)]
                rows = [base_topic(index) for index in range(topics)]
                frames = [registration(broker, rows, compressed=False) for broker in some]
                asyncio.run(_put(server.address, keys))
                with registered(server.port or 0, some, frames) as fleet:
                    took = asyncio.run(
                        _measure(
                            server.address, server.process.pid, topics, arguments.seconds,
                            partial(fleet.send, frames),
                        )
                    )  # fmt: skip
            for request, us in took.items():
                size = f"{brokers} brokers, {topics} topics, {keys} keys"
                print(f"| {version} | {request} | {size} | {us:.0f} |", flush=True)


async def _put(address: str, keys: int) -> None:
    async with RemotingClient() as client:
        for key in range(keys):
            await operations.put_order_conf(
                Namesrv(address, client), f"OrderTopic{key:05}", "bench-00:8;bench-01:8"
            )


async def _measure(
    address: str, pid: int, topics: int, seconds: float, register: Callable[[], object]
) -> Mapping[str, float]:
    """Microseconds of each request; `register` keeps the brokers registered."""
    asks: dict[str, tuple[Ask, int]] = {  # and how many a second
        "105": (lambda namesrv, n: operations.topic_route(namesrv, base_topic(n % topics)[0]), PER_SECOND),
        "106": (lambda namesrv, _: operations.cluster_info(namesrv), PER_SECOND // 5),
        "206": (lambda namesrv, _: operations.all_topics(namesrv), PER_SECOND // 10),
        "219": (lambda namesrv, _: operations.kv_list(namesrv, ORDER_TOPIC_CONFIG), PER_SECOND // 10),
        "319": (lambda namesrv, _: operations.get_namesrv_config(namesrv), PER_SECOND // 10),
    }
    async with RemotingClient() as client:
        namesrv = Namesrv(address, client, timeout_ms=30_000)
        for name, (ask, _) in asks.items():
            register()
            for number in range(0, WARM_UP[name], AT_ONCE):
                await asyncio.gather(*(ask(namesrv, number + at) for at in range(AT_ONCE)))
        took: dict[str, list[float]] = {name: [] for name in asks}
        for _ in range(ROUNDS):
            register()
            for name, (ask, per_second) in asks.items():
                at_once = AT_ONCE if name == "105" else 1
                took[name].append(await _paced(partial(ask, namesrv), pid, per_second, seconds, at_once))
        return {name: median(some) for name, some in took.items()}


async def _paced(
    ask: Callable[[int], Awaitable[object]], pid: int, per_second: int, seconds: float, at_once: int
) -> float:
    """Microseconds of the server's processor for each request, without those of the idle server."""
    before = _cpu_seconds(pid)
    await asyncio.sleep(seconds / 2)
    idle = _cpu_seconds(pid) - before
    begin, before, count = time.perf_counter(), _cpu_seconds(pid), 0
    while (passed := time.perf_counter() - begin) < seconds:
        await asyncio.sleep(max(0.0, count / per_second - passed))
        await asyncio.gather(*(ask(count + at) for at in range(at_once)))
        count += at_once
    busy = _cpu_seconds(pid) - before
    before = _cpu_seconds(pid)
    await asyncio.sleep(seconds / 2)
    idle += _cpu_seconds(pid) - before
    return (busy - idle * passed / seconds) / count * 1e6


def _cpu_seconds(pid: int) -> float:
    """User and system time of all threads of a process."""
    return time.clock_gettime((~pid << 3) | 2)


if __name__ == "__main__":
    main()
