"""What grew in a long run: the last third of the samples compared with the second one."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

__all__ = ["SAMPLES", "Sample", "complaints", "sample_of", "table"]

SAMPLES = 180
"""Samples of a run."""

MEMORY_MIB, MEMORY_SHARE = 12.0, 0.10
"""Growth of memory that is no leak: the larger of the two. Caches with a limit fill in the first third."""
DESCRIPTORS, THREADS = 12, 4
"""Growth of the others that is no leak: connections come and go."""


@dataclass(frozen=True, slots=True)
class Sample:
    """What a process had at one time."""

    memory_mib: float
    descriptors: int
    threads: int


def sample_of(process: Path) -> Sample:
    """What a process has now.

    Args:
        process: its folder in /proc.

    Raises:
        OSError: it is gone.
    """
    status = dict(line.split(":", 1) for line in (process / "status").read_text().splitlines() if ":" in line)
    return Sample(
        memory_mib=int(status["VmRSS"].split()[0]) / 1_024,
        descriptors=sum(1 for _ in (process / "fd").iterdir()),
        threads=int(status["Threads"]),
    )


def complaints(samples: Mapping[str, Sequence[Sample]]) -> list[str]:
    """Say what grew, by process; nothing if all is flat."""
    found = []
    for process, taken in samples.items():
        if len(taken) < 9:
            found.append(f"{process}: only {len(taken)} samples: run it for longer")
            continue
        before, after = _middle(taken), _last(taken)
        allowed = max(MEMORY_MIB, MEMORY_SHARE * before.memory_mib)
        if after.memory_mib - before.memory_mib > allowed:
            found.append(f"{process}: memory grew from {before.memory_mib:.0f} to {after.memory_mib:.0f} MiB")
        if after.descriptors - before.descriptors > DESCRIPTORS:
            found.append(f"{process}: descriptors grew from {before.descriptors} to {after.descriptors}")
        if after.threads - before.threads > THREADS:
            found.append(f"{process}: threads grew from {before.threads} to {after.threads}")
    return found


def table(samples: Mapping[str, Sequence[Sample]]) -> str:
    """A line for each process: what it had in the second third and in the last one, and at most."""
    lines = [
        "| process | memory, MiB: middle / last / most | descriptors | threads |",
        "| --- | --- | --- | --- |",
    ]
    for process, taken in samples.items():
        if len(taken) < 9:
            continue
        three = (_middle(taken), _last(taken), _of(taken, max))
        cells = (
            " / ".join(f"{each.memory_mib:.0f}" for each in three),
            " / ".join(f"{each.descriptors}" for each in three),
            " / ".join(f"{each.threads}" for each in three),
        )
        lines.append(f"| {process} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _middle(taken: Sequence[Sample]) -> Sample:
    third = len(taken) // 3
    return _of(taken[third : 2 * third], median)


def _last(taken: Sequence[Sample]) -> Sample:
    return _of(taken[-(len(taken) // 3) :], median)


def _of(taken: Sequence[Sample], choose: Callable[[list[float]], float]) -> Sample:
    return Sample(
        float(choose([sample.memory_mib for sample in taken])),
        int(choose([sample.descriptors for sample in taken])),
        int(choose([sample.threads for sample in taken])),
    )
