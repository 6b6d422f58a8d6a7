"""A whole fleet against name servers of our own: what the plan says is what they show."""

import asyncio

import pytest
from msgspec import structs

from namekeeper.errors import ConfigError
from namekeeper.fleet.churn import ChurnKind, parse_churn
from namekeeper.fleet.fleet import TEMPLATE, Fleet
from namekeeper.fleet.make_plan import make_plan
from namekeeper.fleet.plan import CreateTopic, Die, FleetSettings, Partition, Start, WipeWritePerm
from namekeeper.model.topic import TopicConfig
from tests.support.system.waiting import PATIENCE, eventually, turns
from tests.unit.app.parts import name_server
from tests.unit.fleet.parts import scene


async def test_entered_everybody_is_registered_left_nobody_is(tmp_path):
    async with scene(tmp_path) as stage:
        async with stage.fleet as fleet:
            for number in (0, 1):
                assert len(stage.addresses(number)) == 2
                assert all(set(group) == {0, 1} for group in stage.addresses(number).values())
                assert stage.topics(number) == {"cluster-1-topic-00001", "cluster-1-topic-00002"}
            assert (fleet.summary.running, fleet.summary.topics, len(fleet.registrars)) == (4, 8, 4)
            assert fleet.summary.registrations == dict.fromkeys(stage.addrs, 4)
        assert stage.addresses() == stage.addresses(1) == {}
        assert fleet.summary.running == 0


async def test_brokers_with_the_same_topics_send_the_same_bytes(tmp_path):
    async with scene(tmp_path, slaves=0) as stage, stage.fleet as fleet:
        tables = {id(broker.topics.table) for broker in fleet.brokers.values()}
        assert len(tables) == 1
        await fleet.perform(CreateTopic(0, ChurnKind.TOPICS, "cluster-1", TopicConfig("new")))
        tables = {id(broker.topics.table) for broker in fleet.brokers.values()}
        versions = {broker.topics.data_version for broker in fleet.brokers.values()}
        assert (len(tables), len(versions)) == (1, 1)


async def test_a_wild_plan_is_played_to_its_end_in_order(tmp_path):
    async with scene(tmp_path, churn=parse_churn("wild"), duration_seconds=60) as stage:
        async with stage.fleet as fleet:
            await fleet.play(fast=True)
            assert [action for action, _ in stage.seen] == list(stage.plan.actions)
            assert [failure for _, failure in stage.seen if failure] == []
            assert sum(fleet.summary.actions.values()) == len(stage.plan.actions)
            running = {
                addr: broker.settings.broker_id
                for addr, broker in fleet.brokers.items()
                if broker.registrar is not None
            }
            for number in (0, 1):
                cut = cut_off(stage.plan, number)
                await eventually(
                    lambda number=number, cut=cut: (
                        {
                            addr: broker_id
                            for group in stage.addresses(number).values()
                            for broker_id, addr in group.items()
                        }
                        == {addr: broker_id for addr, broker_id in running.items() if addr not in cut}
                    )
                )
        assert stage.addresses() == {}


def cut_off(plan, number):
    """Brokers that at the end of a plan have no way to a name server."""
    cut = set()
    for action in plan.actions:
        if isinstance(action, Partition) and action.namesrv == number:
            cut.add(action.broker_addr)
        elif getattr(action, "broker_addr", None) in cut:
            cut.discard(action.broker_addr)
    return cut


async def test_in_real_time_actions_wait_for_their_time(tmp_path):
    async with (
        scene(tmp_path, churn={ChurnKind.TOPICS: 3600}, duration_seconds=10) as stage,
        stage.fleet as fleet,
    ):
        playing = asyncio.create_task(fleet.play())
        for second in range(1, 10):
            await stage.time.advance(1)
            due = [action for action in stage.plan.actions if action.at_ms <= second * 1000]
            await eventually(lambda due=due: [action for action, _ in stage.seen] == due)
            assert not playing.done()
        await stage.time.advance(1)
        await asyncio.wait_for(playing, 10 * PATIENCE)


async def test_it_can_be_left_in_the_middle(tmp_path):
    async with scene(tmp_path, churn=parse_churn("wild")) as stage:
        async with stage.fleet as fleet:
            playing = asyncio.create_task(fleet.play())
            await stage.time.advance(5)
            playing.cancel()
            await asyncio.gather(playing, return_exceptions=True)
        assert stage.addresses() == stage.addresses(1) == {}


async def test_it_can_be_stopped_while_it_starts(tmp_path, monkeypatch):
    monkeypatch.setattr("namekeeper.fleet.fleet.BROKERS_AT_ONCE", 1)
    async with scene(tmp_path, brokers=20) as stage:
        starting = asyncio.create_task(stage.fleet.__aenter__())
        await eventually(lambda: len(stage.addresses()) > 2)
        starting.cancel()
        await asyncio.gather(starting, return_exceptions=True)
        await eventually(lambda: stage.addresses() == stage.addresses(1) == {})


async def test_without_any_name_server_it_runs_and_counts():
    plan = make_plan(FleetSettings(churn={ChurnKind.DEATHS: 600, ChurnKind.WIPES: 600}))
    async with Fleet(plan, "127.0.0.1:1") as fleet:
        await fleet.play(fast=True)
        assert fleet.summary.failures["127.0.0.1:1"] >= 4
        assert (
            fleet.summary.failed_actions
            == fleet.summary.actions["WipeWritePerm"] + fleet.summary.actions["AddWritePerm"]
        )
        assert "127.0.0.1:1" in fleet.summary.last_failure


async def test_a_crash_of_all(tmp_path):
    async with scene(tmp_path) as stage:
        fleet = await stage.fleet.__aenter__()
        await fleet.abort()
        await eventually(lambda: stage.addresses() == {})


async def test_what_is_not_in_the_plan_is_an_answer(tmp_path):
    async with scene(tmp_path) as stage, stage.fleet as fleet:
        failure = await fleet.perform(Die(0, ChurnKind.DEATHS, "9.9.9.9:1"))
        assert isinstance(failure, ConfigError)
        assert await fleet.perform(Start(0, ChurnKind.DEATHS, stage.plan.brokers[0].broker_addr)) is None
        await turns()


RULES = """
mode = "enforce"
keys = "keys.toml"
[[rule]]
name = "the fleet"
requests = ["any"]
users = ["fleet"]
"""


def write_rules(folder):
    (folder / "access.toml").write_text(RULES)
    (folder / "keys.toml").write_text('[users]\nfleet = "secret"\n')
    (folder / "keys.toml").chmod(0o600)
    return str(folder / "access.toml")


@pytest.mark.parametrize(("secret", "failed"), [("secret", 0), ("guessed", 1)])
async def test_brokers_and_those_who_administer_them_sign(tmp_path, secret, failed):
    file = await asyncio.to_thread(write_rules, tmp_path)
    plan = make_plan(FleetSettings(brokers=1, topics=1))
    template = structs.replace(TEMPLATE, access_key="fleet", secret_key=secret)
    async with name_server(tmp_path, access_file=file) as server:
        async with Fleet(plan, f"127.0.0.1:{server.port}", template=template) as fleet:
            await fleet.perform(WipeWritePerm(0, ChurnKind.WIPES, plan.brokers[0].broker_name))
            assert (fleet.summary.failed_actions, sum(fleet.summary.failures.values())) == (failed, failed)
            assert len(server.state.tables.broker_addr_table) == 1 - failed
        await eventually(lambda: not server.server.connections)


@pytest.mark.parametrize("addrs", ["", "a:1", "a:1;b:1;c:1", "a:1;b"])
def test_name_servers_must_be_those_of_the_plan(addrs):
    with pytest.raises(ConfigError):
        Fleet(make_plan(FleetSettings(namesrvs=2)), addrs)
