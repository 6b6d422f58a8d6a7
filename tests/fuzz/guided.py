"""The same targets under atheris, which follows coverage; for whoever has it installed (`pip install atheris`).

It has the process to itself and never returns: it exits with the number of seconds spent or at a failure.
"""

import gc
import inspect
import sys
import tempfile
from pathlib import Path

from tests.fuzz.engine import seeds
from tests.fuzz.targets import TARGETS

__all__ = ["run"]


def run(target: str, *, seconds: float, seed: int) -> None:
    """Fuzz one target until time is up; atheris reports what fails and writes the input to a file."""
    import atheris

    for function in gc.get_objects():  # everything is imported already, and all of it would take a minute
        if inspect.isfunction(function) and str(function.__module__).startswith("namekeeper"):
            atheris.instrument_func(function)
    corpus = Path(tempfile.mkdtemp(prefix="fuzz-"))
    for number, data in enumerate(seeds(target)):
        (corpus / str(number)).write_bytes(data)
    options = [
        f"-max_total_time={int(seconds)}",
        f"-seed={seed}",
        "-timeout=5",
        f"-artifact_prefix={corpus}/",
    ]
    atheris.Setup([sys.argv[0], *options, str(corpus)], TARGETS[target])
    atheris.Fuzz()
