"""`namekeeper observe --shadow` as a process, beside a name server as a process, with brokers that register with both."""

import contextlib
from collections.abc import Callable
from pathlib import Path

import pytest

from namekeeper.answers.source import JournalAnswers
from namekeeper.drift import shadow as shadow_module
from namekeeper.drift.shadow import ShadowReport, ShadowState, present_shadows
from namekeeper.drift.verdict import DriftKind
from namekeeper.wire.codec import encode_command
from tests.process.running import NameServerProcess, holding
from tests.process.test_observe import WITHIN, fetched, observing, page_of
from tests.support.system.processes import Process, eventually
from tests.support.wire.ask import ask
from tests.unit.app.parts import registration

pytestmark = pytest.mark.waits

DAY_MS = 24 * 60 * 60 * 1_000
DELETE_TOPIC, WIPE = 216, 205
FIRST = encode_command(registration(("T", "U")))
SECOND = encode_command(registration(("V",), broker_name="broker-b", broker_addr="10.0.0.2:10911"))


def comes_to(
    tmp_path: Path, state: ShadowState, is_seen: Callable[[ShadowReport], bool] = lambda _: True
) -> ShadowReport:
    """Wait for a state of the shadow in the journals, as `namekeeper shadow` reads them."""

    def reports() -> list[ShadowReport]:
        found = present_shadows(JournalAnswers([str(tmp_path / "observed")]).histories(None, DAY_MS))
        return [each for each in found if each.state is state and is_seen(each)]

    (found,) = eventually(reports, within=3 * WITHIN, what=f"a shadow that is {state}")
    return found


def address_of(observer: Process) -> str:
    """Where brokers reach the shadow."""
    found = observer.await_line(r"shadow: it listens at 0\.0\.0\.0:([0-9]+)", within=WITHIN)
    return f"127.0.0.1:{found[1]}"


def is_reachable(address: str) -> bool:
    with contextlib.suppress(OSError), holding(address):
        return True
    return False


@pytest.fixture(autouse=True)
def _quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Differences count soon."""
    monkeypatch.setattr(shadow_module, "SETTLE_MS", 1_000)


def test_a_shadow_is_compared_from_the_first_broker_on_and_over_a_crash_of_the_observer(
    tmp_path: Path,
) -> None:
    with NameServerProcess(tmp_path / "server").started() as live, contextlib.ExitStack() as brokers:
        for frame in (FIRST, SECOND):
            brokers.enter_context(holding(live.address, frame))
        with observing(tmp_path, live.address, "--shadow", "0", "--port", "0") as observer:
            page, address = page_of(observer), address_of(observer)
            found = comes_to(tmp_path, ShadowState.INCOMPLETE, lambda one: len(one.not_registered) == 2)
            assert (found.begun, found.equal_since) == (None, None)

            with holding(address, FIRST):
                found = comes_to(tmp_path, ShadowState.INCOMPLETE, lambda one: one.begun is not None)
                assert [each.broker_name for each in found.not_registered] == ["broker-b"]
                assert (found.differences, found.topics) == ([], 2)
                with holding(address, SECOND):
                    comes_to(tmp_path, ShadowState.EQUAL)

                    assert live.ask(DELETE_TOPIC, topic="U").code == 0
                    found = comes_to(tmp_path, ShadowState.DIFFERENT)
                    assert [(each.kind, each.topics) for each in found.differences] == [
                        (DriftKind.TOPIC_MISSING, ["U"])
                    ]
                    assert ask(address, DELETE_TOPIC, topic="U").code == 0
                    mended = comes_to(tmp_path, ShadowState.EQUAL)
                    assert [each.to for each in mended.ended] == [mended.equal_since]

                    for one in (live.address, address):
                        assert ask(one, WIPE, brokerName="broker-a").code == 0
                    found = comes_to(tmp_path, ShadowState.EQUAL, lambda one: one.changes > 0)
                    assert found.equal_since == mended.equal_since
                    assert 'namekeeper_shadow_compared{cluster=""} 1.0' in fetched(f"{page}/metrics")
                    observer.kill()
                    eventually(lambda: not is_reachable(address), within=WITHIN, what="the end of the shadow")
        port = address.rpartition(":")[2]
        (tmp_path / "observe.txt").unlink()  # the output of the first one
        with observing(tmp_path, live.address, "--shadow", port) as observer:
            assert address_of(observer) == address
            with holding(address, FIRST), holding(address, SECOND):
                again = comes_to(tmp_path, ShadowState.EQUAL, lambda one: one.at > found.at)
                assert [each.to for each in again.ended] == [mended.equal_since]
                assert again.unknown_ms > 0
                observer.terminate()
                assert observer.wait(within=20) == 0
                assert not is_reachable(address)


def test_a_shadow_whose_port_is_taken_is_said_and_ends_nothing_else(tmp_path: Path) -> None:
    with NameServerProcess(tmp_path / "server").started() as live:
        port = live.address.rpartition(":")[2]
        with observing(tmp_path, live.address, "--shadow", port, "--port", "0") as observer:
            page = page_of(observer)
            observer.await_line("shadow: it ended with status 255", within=WITHIN)
            observer.await_line("observed: 0 brokers", within=WITHIN)
            assert '"shadow":"shadow: it ended with status 255: ' in fetched(f"{page}/readyz")
            observer.terminate()
            assert observer.wait(within=20) == 0
