"""The row of the journal's checkpoint: what look-ups feel of it when the tables are full.

A name server writes one every six hours; here it has to sooner, because its queue has no room for a storm.
"""

import time

from benchmarks.load.bench import Bench, Meter, Sample
from benchmarks.load.errors import ServerError
from benchmarks.load.fleet import registered
from benchmarks.load.payload import BASE_BROKERS
from benchmarks.load.servers import Server
from benchmarks.load.steady import BACKGROUND, base_frames, check_routes, failures, warm_up
from benchmarks.load.storm import DISTINCT, write_frames

__all__ = ["run"]

KEY = "checkpoint"
NAME = "namekeeper"
SMALL_QUEUE = ("--journal-queue-bytes", str(16 << 20))
CHECKPOINT_SECONDS = 300
POLL_SECONDS = 0.1
QUIET_SECONDS = 2.0


def run(bench: Bench) -> None:
    """Take it, from our name server alone."""
    if not bench.wants(KEY) or NAME not in bench.names:
        return
    frames = bench.scratch / "checkpoint.frames"
    write_frames(frames, DISTINCT, bench.scale)
    for _ in range(min(bench.scale.rounds, bench.scale.storm_rounds)):
        with bench.started(NAME, *SMALL_QUEUE) as server:
            scale = bench.scale
            with registered(server.port, BASE_BROKERS, base_frames(scale.topics)):
                check_routes(server, scale.topics)
                warm_up(bench, server)
                brokers = bench.generator.register(server.port, frames, timeout=scale.storm_seconds)
                brokers.first_line()
                if sample := _sample(bench, server):
                    bench.record(KEY, NAME, sample)
                else:
                    bench.notes.append("no checkpoint: the journal dropped nothing of so small a storm")
                brokers.release()
    frames.unlink()


def _sample(bench: Bench, server: Server) -> Sample | None:
    """From the last answer of the storm until the checkpoint is on the disk; None if none is due."""
    with Meter(server) as meter:
        load = bench.generator.lookups(
            server.port, seconds=2 * CHECKPOINT_SECONDS, topics=bench.scale.topics, **BACKGROUND
        )
        written = _await_quiet(server)
        load.stop_measuring()
        found = load.result()
    if not (dropped := server.journal_status().dropped_records):
        return None
    _, peak = server.memory_mib()
    return {
        "written_s": written,
        "dropped": dropped,
        "p99_ms": found["p99_us"] / 1000,
        "p999_ms": found["p999_us"] / 1000,
        "max_ms": found["max_us"] / 1000,
        "failures": failures(found),
        "cpu_s": meter.cpu_seconds,
        "peak_mib": peak,
        "foreign": meter.foreign,
    }


def _await_quiet(server: Server) -> float:
    """Wait until all that was recorded is on the disk and nothing more comes; when that was, in seconds.

    A checkpoint enters the journal a few records at a time, with no more than a moment between two.
    """
    began = changed = time.monotonic()
    before = server.journal_status()
    while (now := time.monotonic()) - changed < QUIET_SECONDS:
        if now - began > CHECKPOINT_SECONDS:
            raise ServerError(f"the journal is still at work after {CHECKPOINT_SECONDS} s")
        time.sleep(POLL_SECONDS)
        status = server.journal_status()
        if status != before or status.durable_seq < status.last_seq:
            before, changed = status, time.monotonic()
    return changed - began
