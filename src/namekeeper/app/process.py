"""Prepares the process of a name server or a fleet.

Its event loop, its descriptors, the garbage collector, and the way its threads share the interpreter.
"""

import contextlib
import gc
import resource
import sys
from collections.abc import Callable
from typing import Any

__all__ = [
    "SWITCH_SECONDS",
    "loop_factory",
    "prepare_process",
    "raise_descriptor_limit",
    "spare_the_collector",
]

SWITCH_SECONDS = 0.0005
"""Time that a thread waits for the interpreter before it interrupts the running thread. With Python's own 5
ms, a lookup would wait that long, more than once, while the journal's writer encodes a large change."""


def prepare_process() -> None:
    """Prepare descriptors, and threads that let each other run, which a server needs from the start."""
    raise_descriptor_limit()
    sys.setswitchinterval(SWITCH_SECONDS)


def spare_the_collector() -> None:
    """Run the garbage collector rarely: there is hardly any cyclic garbage, and with large tables it is slow.

    With the usual thresholds it would take a third of the time of a storm of registrations. It never looks at
    the present objects again: some hundred of them are garbage, and to find them takes 18 of 100 ms of the
    start.
    """
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    gc.enable()  # a command that starts a server turns it off first: imports leave no garbage either


def raise_descriptor_limit() -> None:
    """Raise the limit of descriptors to the hard one: the usual 1,024 are too few for a cluster's clients."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def loop_factory() -> Callable[[], Any] | None:
    """Uvloop if it is installed, else asyncio's own loop."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop
