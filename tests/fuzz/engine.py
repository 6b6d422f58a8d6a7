"""Runs a target over its seeds and changes of them, until it fails or time is up."""

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

from tests.fuzz.mutations import mutate
from tests.fuzz.targets import REPAIRS, TARGETS
from tests.wire_samples import SAMPLES, load

__all__ = ["MAX_SECONDS_PER_INPUT", "ContractBrokenError", "fuzz", "seeds", "try_input"]

MAX_SECONDS_PER_INPUT = 5
"""Of the processor: a parser that takes longer over 16 KiB hangs the server."""

_KEPT = 500
"""Inputs to take further changes from: changes of changes go deeper than changes of seeds."""

_FOLDER = Path(__file__).parent / "seeds"


class ContractBrokenError(Exception):
    """A target broke its contract."""

    def __init__(self, target: str, data: bytes) -> None:
        super().__init__(
            f"target {target} failed on\n{data.hex()}\nto see it again: python -m tests.fuzz --target {target} --input {data.hex()}"
        )
        self.data = data


def seeds(target: str) -> list[bytes]:
    """Inputs of a target to begin with; the recorded frames serve the target `frame`."""
    files = sorted((_FOLDER / target).glob("*"))
    found = [_from_hex(path.read_text()) if path.suffix == ".hex" else path.read_bytes() for path in files]
    return found + ([load(name) for name in SAMPLES] if target == "frame" else [])


def fuzz(target: str, *, seconds: float, seed: int, most: int | None = None) -> int:
    """Run a target for some seconds, or over `most` inputs; return over how many it ran."""
    random = Random(f"{seed} {target}")
    pool = [b"", *seeds(target)]
    deadline = time.monotonic() + seconds
    count = 0
    for count, data in enumerate(_inputs(target, pool, random)):
        if count == most or time.monotonic() > deadline:
            break
        try_input(target, data)
    return count


def try_input(target: str, data: bytes) -> None:
    """Feed a target once; raise ContractBrokenError if it raises anything, or takes too long."""
    try:
        with _time_limit():
            TARGETS[target](data)
    except Exception as error:
        raise ContractBrokenError(target, data) from error


def _inputs(target: str, pool: list[bytes], random: Random) -> Iterator[bytes]:
    yield from list(pool)
    repair: Callable[[bytes], bytes] = REPAIRS.get(target, bytes)
    own = len(pool)
    while True:
        data = mutate(random.choice(pool), pool, random)
        if random.random() < 0.5:
            data = repair(data)
        yield data
        if len(pool) < own + _KEPT:
            pool.append(data)
        elif random.random() < 0.1:
            pool[random.randrange(own, len(pool))] = data


def _from_hex(text: str) -> bytes:
    return bytes.fromhex("".join(line for line in text.splitlines() if not line.startswith("#")))


@contextmanager
def _time_limit() -> Iterator[None]:
    """Raise TimeoutError in the code inside when it runs too long."""
    previous = signal.signal(signal.SIGPROF, _too_long)
    signal.setitimer(signal.ITIMER_PROF, MAX_SECONDS_PER_INPUT)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, previous)


def _too_long(*_: object) -> None:
    raise TimeoutError(f"took more than {MAX_SECONDS_PER_INPUT} s")
