"""Where the time of a look-up goes that the cache does not answer: `python -m benchmarks.misses`.

Each kind of look-up is served in this process, without sockets: read (frame, question to the cache, header),
answered (the route, and what the cache learns), encoded. Prints the CPU's time of each part and of a
connection that does all of it, the least of some rounds.
"""

import argparse
import asyncio
import itertools
import logging
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from benchmarks.load.payload import BASE_BROKERS, base_topic, registration
from namekeeper.lookup_cache.reader import RequestReader
from namekeeper.wire.codec import encode_command, encode_response
from namekeeper.wire.codes import SerializeType
from namekeeper.wire.command import RemotingCommand, Response, request
from tests.unit.app.parts import Parts
from tests.unit.remoting.joined import Joined

__all__: list[str] = []

T = TypeVar("T")
R = TypeVar("R")
TOPICS, LOOK_UPS, ROUNDS = 20_000, 5_000, 9
STAGES = ("read", "answered", "encoded", "all")
FORGOTTEN = "known ones after everything changed"


def main() -> None:
    """Run."""
    parser = argparse.ArgumentParser("python -m benchmarks.misses", description=__doc__)
    parser.add_argument("--topics", type=int, default=TOPICS, help="of each of four brokers")
    topics = parser.parse_args().topics
    logging.disable()
    numbers = itertools.count()

    def look_ups(
        suffix: str = "", *, form: SerializeType = SerializeType.JSON, is_own: bool = False
    ) -> list[bytes]:
        frames = []
        for at in itertools.islice(numbers, LOOK_UPS):
            fields = {"topic": base_topic(at % topics)[0] + suffix} | ({"field": str(at)} if is_own else {})
            frames.append(encode_command(request(105, fields, opaque=1 + at % 1_000), form))
        return frames

    known = look_ups()
    kinds = {
        "known": lambda: known,
        FORGOTTEN: lambda: known,
        "each with a header of its own": lambda: look_ups(is_own=True),
        "binary headers": lambda: look_ups(form=SerializeType.ROCKETMQ),
        "topics without route": lambda: look_ups("-unknown"),
    }
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(_compare(Path(folder), topics, kinds))


async def _compare(folder: Path, topics: int, kinds: dict[str, Callable[[], list[bytes]]]) -> None:
    parts = Parts(folder)
    rows = [base_topic(index) for index in range(topics)]
    for broker in BASE_BROKERS:
        parts.connect().deliver(registration(broker, rows, compressed=False))
        parts.run_turns()
    print(f"us of the CPU for a look-up: {', '.join(STAGES)}")
    for name, frames in kinds.items():
        change = _forget_all if name == FORGOTTEN else _nothing
        rounds = [_stages(parts, frames(), frames(), change) for _ in range(ROUNDS)]
        least = [min(took) / LOOK_UPS * 1e6 for took in zip(*rounds, strict=True)]
        print(f"{name}: {', '.join(f'{us:.1f}' for us in least)}")


def _nothing(_: Parts) -> None:
    """Leave what is kept."""


def _forget_all(parts: Parts) -> None:
    """Keep nothing of any topic, as after a change of all of them."""
    parts.state.route_answers.reconfigure(parts.state.settings)


def _stages(
    parts: Parts, frames: list[bytes], others: list[bytes], change: Callable[[Parts], None]
) -> list[float]:
    """Seconds of each stage for some frames, and of a connection for some others; each after a change."""
    change(parts)
    cache = parts.state.lookup_cache
    reader, joined = RequestReader(cache=cache), Joined(parts.requests, lookup_cache=cache)
    read, items = _timed(lambda frame: reader.feed(frame)[0], frames)
    requests = [item for item in items if isinstance(item, RemotingCommand)]
    answered, answers = _timed(lambda request: parts.requests(request, joined.connection), requests)
    encoded, _ = _timed(lambda response: encode_response(response or Response(), opaque=1), answers)
    change(parts)
    everything, _ = _timed(joined.deliver, others)
    return [read, answered, encoded, everything]


def _timed(act: Callable[[T], R], inputs: list[T]) -> tuple[float, list[R]]:
    """Seconds of the CPU for all inputs, and the results."""
    before = time.process_time()
    results = [act(each) for each in inputs]
    return time.process_time() - before, results


if __name__ == "__main__":
    main()
