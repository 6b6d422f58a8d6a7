"""What of an attack's figures is beyond the limits, and the table of all."""

from collections.abc import Sequence

from tests.attacks.bystander import Sample
from tests.attacks.rows import Row
from tests.attacks.run import RECOVERY_SECONDS, STOP_SECONDS, Measured

__all__ = ["HEAD", "complaints", "line", "percentile"]

MEMORY_MIB = 512.0
IDLE_MIB = 46.0
"""An idle server."""
REGISTRATION_SECONDS = 5.0
PROBE_SECONDS = 2.0

HEAD = (
    "| row | what is done | RSS before / most (MiB) | look-ups before p99 / max (max with no time taken off), ms "
    "| during | after "
    "| registration (s) | SIGTERM (s) | memory back (s) | beyond the limits |\n"
    "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"
)


def complaints(row: Row, measured: Measured, *, patience: float = 1.0) -> list[str]:
    """Say what is beyond a limit; nothing if all is well. `patience` stretches the limits of time."""
    longest = max(
        (sample.seconds * 1000 for phase in ("during", "after") for sample in measured.lookups(phase)),
        default=0,
    )
    registration = max((sample.seconds for sample in measured.seen.registrations), default=0)
    probe = max((sample.seconds for sample in measured.seen.probes), default=0)
    most = MEMORY_MIB + max(0.0, measured.held_mib - IDLE_MIB) + row.state_mib
    stopped = measured.stop_seconds
    found = [
        (measured.most_mib > most, f"memory {measured.most_mib:.0f} MiB of {most:.0f}"),
        (longest > row.lookup_ms * patience, f"look-up {longest:.0f} ms of {row.lookup_ms * patience:.0f}"),
        (
            registration > REGISTRATION_SECONDS * patience,
            f"registration {registration:.1f} s of {REGISTRATION_SECONDS * patience:.0f}",
        ),
        (probe > PROBE_SECONDS * patience, f"health page {probe:.1f} s of {PROBE_SECONDS * patience:.0f}"),
        (stopped is None, "SIGTERM not obeyed"),
        (
            stopped is not None and stopped > STOP_SECONDS * patience,
            f"SIGTERM {stopped or 0:.1f} s of {STOP_SECONDS * patience:.0f}",
        ),
        (measured.recovery_seconds is None, f"memory not back in {RECOVERY_SECONDS:.0f} s"),
        (bool(measured.complaint), measured.complaint),
    ]
    return [text for is_beyond, text in found if is_beyond] + _problems(measured)


def line(row: Row, measured: Measured, *, patience: float = 1.0) -> str:
    """One line of the table."""
    registration = max((sample.seconds for sample in measured.seen.registrations), default=0)
    cells = [
        row.key,
        row.about,
        f"{measured.held_mib:.0f} / {measured.most_mib:.0f}",
        *(_times(measured.lookups(phase)) for phase in ("before", "during", "after")),
        f"{registration:.2f}",
        _seconds(measured.stop_seconds),
        _seconds(measured.recovery_seconds),
        "; ".join(complaints(row, measured, patience=patience)) or "-",
    ]
    return f"| {' | '.join(cells)} |"


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which that share of them is; 0 without any."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else 0.0


def _times(samples: Sequence[Sample]) -> str:
    ms = [sample.seconds * 1000 for sample in samples]
    whole = max(((sample.seconds + sample.starved) * 1000 for sample in samples), default=0)
    return f"{percentile(ms, 0.99):.1f} / {max(ms, default=0):.0f} ({whole:.0f})"


def _seconds(value: float | None) -> str:
    return "never" if value is None else f"{value:.1f}"


def _problems(measured: Measured) -> list[str]:
    found = []
    for what, samples in (
        ("look-ups", measured.seen.lookups),
        ("registrations", measured.seen.registrations),
        ("health pages", measured.seen.probes),
    ):
        begun = [sample for sample in samples if sample.began >= measured.attack[0]]
        if problems := [sample.problem for sample in begun if sample.problem]:
            found.append(f"{len(problems)} {what} failed: {problems[0]}")
    return found
