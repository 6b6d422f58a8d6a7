"""What a fingerprint of the tables costs: `python -m benchmarks.fingerprints`.

Registers brokers that have the same topics, takes the fingerprint slice by slice as a name server does each
half minute, and prints the CPU's time of a pass, of a row and of the longest slice: requests wait for one.
"""

import argparse
import statistics
import time

from namekeeper.route.fingerprint import fingerprints
from tests.support.server.builders import World, body, channel, header

BROKERS, TOPICS, PASSES = 4, 20_000, 9
HALF_MINUTE_S = 30


def main() -> None:
    """Run."""
    parser = argparse.ArgumentParser("python -m benchmarks.fingerprints", description=__doc__)
    parser.add_argument("--brokers", type=int, default=BROKERS)
    parser.add_argument("--topics", type=int, default=TOPICS, help="of each broker")
    given = parser.parse_args()
    world = World()
    names = [f"topic-{number:06}" for number in range(given.topics)]
    for number in range(given.brokers):
        world.register(header(f"broker-{number}", f"10.0.0.{number}:10911"), body(names), channel(number))
    rows = given.brokers * given.topics
    passes = [_pass(world) for _ in range(PASSES)]
    seconds = statistics.median(took for took, _ in passes)
    print(
        f"{rows:,} rows: {seconds * 1_000:.0f} ms of the CPU in each half minute"
        f" ({100 * seconds / HALF_MINUTE_S:.2f} % of a core), {seconds / rows * 1e6:.2f} us a row;"
        f" the longest slice {statistics.median(longest for _, longest in passes) * 1_000:.2f} ms"
    )


def _pass(world: World) -> tuple[float, float]:
    """One pass: its seconds of the CPU, and those of its longest slice."""
    took = longest = 0.0
    slices = fingerprints(world.tables, {})
    while True:
        before = time.process_time()
        try:
            next(slices)
        except StopIteration:
            return took, longest
        finally:
            seconds = time.process_time() - before
            took, longest = took + seconds, max(longest, seconds)


if __name__ == "__main__":
    main()
