"""Fixtures of the tests with foreign peers.

Brokers are dear, so one name server serves the whole run and one broker of each release most of its tests.
A failed test shows the end of the output and of the logs of every process that runs.
"""

from collections.abc import Generator, Iterator

import pytest
from xdist.remote import Producer

from tests.interop.releases import repeated
from tests.interop.scheduling import group_of
from tests.interop.servers import NameServer, name_server_under_test
from tests.support.java.artifacts import VERSIONS, require
from tests.support.java.servers import JavaBroker
from tests.support.system.processes import LIVE
from tests.support.system.scheduling import GroupScheduling


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> GroupScheduling:
    """Give the tests of one Java process one process."""
    return GroupScheduling(config, log, group_of)


@pytest.hookimpl(tryfirst=True)  # before `-m` selects by the marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that CI leaves to the nightly run."""
    repeats = repeated([item.nodeid for item in items])
    for item in items:
        if item.nodeid in repeats:
            item.add_marker(pytest.mark.long)


@pytest.fixture(scope="session", autouse=True)
def java() -> None:
    """Java is there, or the test is skipped, or failed if NAMEKEEPER_REQUIRE_JAVA=1."""
    require()


@pytest.fixture(scope="session")
def name_server(java: None) -> Iterator[NameServer]:
    """The name server under test, with order topics switched on."""
    with name_server_under_test({"orderMessageEnable": "true"}) as server:
        yield server


@pytest.fixture
def own_server(java: None) -> Iterator[NameServer]:
    """A name server for one test: a topic that a client creates lands on every broker that accepts new ones."""
    with name_server_under_test() as server:
        yield server


@pytest.fixture(scope="session", params=VERSIONS)
def broker(request: pytest.FixtureRequest, name_server: NameServer) -> Iterator[JavaBroker]:
    """One master of each release in turn, in a cluster of its own, registered with the name server under test."""
    version = request.param
    short = version.replace(".", "")
    timers = {"timerWheelEnable": "true"}  # a 5.x broker without them fails to delete a topic
    with JavaBroker(
        version, [name_server.address], f"broker-{short}", f"cluster-{short}", properties=timers
    ) as running:
        yield running


Reporting = Generator[None, pytest.TestReport, pytest.TestReport]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Reporting:
    report = yield
    if report.failed:
        for process in LIVE.values():
            report.sections.append((process.label, process.report()))
    return report
