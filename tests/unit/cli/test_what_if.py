"""`namekeeper what-if`."""

import json

import pytest
from click.testing import CliRunner, Result
from msgspec import structs

from namekeeper.cli.connecting import Connector
from namekeeper.cli.what_if import what_if_command
from tests.unit.admin.fake_namesrv import DEAD, A, FakeNamesrv, FakeSender, queues, typical


@pytest.fixture
def server() -> FakeNamesrv:
    return typical()


def run(server: FakeNamesrv, *args: str, namesrv: str = A) -> Result:
    return CliRunner().invoke(
        what_if_command, [*args, "-n", namesrv], obj=Connector(FakeSender({A: server}).opened)
    )


def test_topics_that_could_not_be_written_end_with_1(server: FakeNamesrv) -> None:
    server.topics = {"Alone": [queues("broker-a")], "Both": [queues("broker-a"), queues("broker-b")]}
    result = run(server, "--without", "broker-a", "--load", "10")
    assert result.exit_code == 1
    first, *rest = result.stdout.splitlines()
    assert first.endswith("of 2 topics that can be written now:")
    assert rest == [
        "  1 could not be written",
        "    Alone  on broker-a",
        "  1 could be written on one broker name only",
        "    Both  on broker-b",
    ]


def test_nothing_lost_ends_with_0(server: FakeNamesrv) -> None:
    server.topics = {"Both": [queues("broker-a"), queues("broker-b")]}
    result = run(server, "--without", "broker-a")
    assert result.exit_code == 0
    assert (
        "  1 broker name would have more than 1.5 times the load of today\n    broker-b  2.00"
        in result.stdout
    )


def test_more_topics_than_are_shown_are_counted(server: FakeNamesrv) -> None:
    server.topics = {f"T{number:02}": [queues("broker-a")] for number in range(25)}
    result = run(server, "--without", "broker-a")
    assert "  25 could not be written" in result.stdout
    assert "    and 5 more: --json has all" in result.stdout


def test_a_zone_takes_all_of_its_brokers(server: FakeNamesrv) -> None:
    server.brokers["broker-a"] = structs.replace(server.brokers["broker-a"], zone_name="z1")
    server.topics = {"Alone": [queues("broker-a")]}
    value = json.loads(run(server, "--without-zone", "z1", "--json").stdout)
    assert value["unwritable"] == [{"topic": "Alone", "before": ["broker-a"], "after": []}]


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        ((), 2, "nothing is taken away: give --without BROKER or --without-zone ZONE"),
        (("--without", "brokr-a"), 2, "there is no broker brokr-a: did you mean broker-a"),
        (("--without", "nobody"), 2, "there is no broker nobody; there is broker-a"),
        (("--without", "10.9.9.9:1"), 2, "there is no broker 10.9.9.9:1; there is 127.0.0.1:10911"),
        (("--nonsense",), 2, "--nonsense"),
        (("nonsense",), 2, "nonsense"),
        (("-n", "nowhere", "--without", "broker-a"), 2, "nowhere"),
        (("--without-zone", "z"), 2, "there is no zone z: the name server has no zone"),
        (("--without", "broker-a", "--load", "0.5"), 2, "0.5 is not in the range"),
    ],
)
def test_what_is_not_there_is_refused(
    server: FakeNamesrv, args: tuple[str, ...], code: int, message: str
) -> None:
    result = run(server, *args)
    assert result.exit_code == code
    assert message in result.stderr


def test_a_server_that_hides_its_topics_is_told(server: FakeNamesrv) -> None:
    server.refusals[206] = (1, "disable")
    result = run(server, "--without", "broker-a")
    assert result.exit_code == 2
    assert f"name server {A} does not list its topics: disable" in result.stderr


def test_a_server_that_is_gone_ends_with_3(server: FakeNamesrv) -> None:
    assert run(server, "--without", "broker-a", namesrv=DEAD).exit_code == 3
