"""Guards that hold for every test: nothing blocks a loop, nothing fails unseen, no thread is left behind."""

import gc
import logging
import os
import signal
import threading
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from blockbuster import BlockBuster, blockbuster_ctx
from hypothesis import HealthCheck, settings

from namekeeper.app.stop_signals import STOP_SIGNALS
from namekeeper.config.settings import SPECS
from namekeeper.remoting.client import DEFAULT_TIMEOUT_MS, RemotingClient
from tests.support.server.front import lend_early
from tests.support.system.loops import CHECKED
from tests.support.system.waiting import PATIENCE

__all__: list[str] = []

THREAD_GRACE_SECONDS = 30.0
"""A thread that was told to stop may need a moment; this is waited for, not slept."""

# The time limit of a test is pytest's. The same examples each time, so that a failure says something about a change;
# `--hypothesis-profile drawn`, as at night, tries new ones. By 40 of them every mutant is caught.
settings.register_profile(
    "namekeeper",
    max_examples=int(os.environ.get("NAMEKEEPER_EXAMPLES", "40")),
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("drawn", settings.get_profile("namekeeper"), derandomize=False)
settings.load_profile("namekeeper")

# asyncio's debug mode reports slow callbacks, which a busy machine has without anybody blocking.
logging.getLogger("asyncio").setLevel(logging.ERROR)

lend_early()


def pytest_configure() -> None:
    """Let SIGTERM end a run as Ctrl-C does, so that the servers that it started end too."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect tests without the garbage collector: they stay until the end, and it would go through all of them."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with tests that wait for long: other workers compute meanwhile, and no core is idle at the end."""
    items.sort(key=lambda item: item.get_closest_marker("waits") is None)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Processes for `--numprocesses auto`: two for each core, because many tests wait for processes and peers."""
    return 2 * (os.cpu_count() or 1)


@pytest.fixture(autouse=True)
def stop_signals_put_back() -> Iterator[None]:
    """A server ends with its process and leaves the signals ignored. A test's process goes on, and what it starts
    would ignore them, too.
    """
    before = {number: signal.getsignal(number) for number in STOP_SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture(autouse=True, scope="session")
def own_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Give the run, and every process that it starts, a home of its own and no settings of the user.

    A journal in `~/namesrv`, keys in the environment or a `NAMEKEEPER_` variable would change what commands find.
    """
    tools = {
        "CARGO_HOME": ".cargo",
        "RUSTUP_HOME": ".rustup",
        "PLAYWRIGHT_BROWSERS_PATH": ".cache/ms-playwright",
    }
    folders = {name: Path.home() / folder for name, folder in tools.items() if name not in os.environ}
    variables = {spec.variable for spec in SPECS.values()} | {
        "NAMEKEEPER_HTTP_TOKEN",
        "NAMEKEEPER_CONSOLE_TOKEN",
        "NAMEKEEPER_MCP_TOKEN",
    }
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name in variables or name.startswith(("ROCKETMQ_", "NAMESRV_")):
                patch.delenv(name)
        for name, folder in folders.items():  # tools that are installed there
            if folder.is_dir():
                patch.setenv(name, str(folder))
        patch.setenv("HOME", str(home))
        yield home


@pytest.fixture(autouse=True, scope="session")
def patient_clients() -> Iterator[None]:
    """Have clients wait longer for a busy machine, where a test gives no time of its own."""
    with pytest.MonkeyPatch.context() as patch:
        for function in (RemotingClient.__init__, RemotingClient.invoke, RemotingClient.invoke_oneway):
            defaults = function.__kwdefaults__
            assert defaults is not None
            for name in {"timeout_ms", "connect_timeout_ms"} & set(defaults):
                patch.setitem(defaults, name, int(DEFAULT_TIMEOUT_MS * PATIENCE))
        yield


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, Any]]:
    """asyncio with its debug mode; anyio's runner fails a test whose loop saw an unhandled error.

    Tests that must hold on uvloop too are marked with `tests.support.system.loops.both_loops`.
    """
    return CHECKED


@pytest.fixture(autouse=True, scope="session")
def no_blocking_call() -> Iterator[BlockBuster]:
    """Fail a test in which our code blocks a running loop; a test itself may read and write files.

    So may a finalizer: it runs wherever garbage happens to be collected. Once for all tests, because to wrap every
    blocking function takes longer than most tests.
    """
    with blockbuster_ctx("namekeeper") as blockbuster:
        for function in blockbuster.functions.values():
            function.can_block_in("weakref.py", "__call__")
            function.can_block_in("coverage/collector.py", "lock_data")  # of `make branches`
        yield blockbuster


@pytest.fixture(autouse=True)
def no_leaked_thread() -> Iterator[None]:
    """Fail a test that leaves a thread which would keep the process from ending."""
    before = set(threading.enumerate())
    yield
    left = [thread for thread in threading.enumerate() if thread not in before and not thread.daemon]
    for thread in left:
        thread.join(THREAD_GRACE_SECONDS)
    assert not [thread for thread in left if thread.is_alive()]
