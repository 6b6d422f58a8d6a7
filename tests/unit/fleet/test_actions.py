"""Each action, and what name servers show of it."""

import pytest

from namekeeper.fleet.churn import ChurnKind
from namekeeper.fleet.plan import (
    AddWritePerm,
    CreateTopic,
    Die,
    Hang,
    Heal,
    Partition,
    Start,
    Stop,
    SwitchRole,
    WipeWritePerm,
)
from namekeeper.model.topic import TopicConfig
from tests.support.system.waiting import eventually
from tests.unit.fleet.parts import scene

NAME = "cluster-1-broker-001"
MASTER, SLAVE = "127.0.0.1:20911", "127.0.0.1:20921"
WHY = ChurnKind.STOPS


async def test_a_topic_reaches_every_broker_of_the_cluster_also_those_that_are_down(tmp_path):
    async with scene(tmp_path, brokers=2, clusters=2) as stage, stage.fleet as fleet:
        await fleet.perform(Stop(0, WHY, MASTER))
        await fleet.perform(CreateTopic(0, ChurnKind.TOPICS, "cluster-1", TopicConfig("new", 4, 4)))
        await fleet.perform(Start(0, WHY, MASTER))
        with_it = {addr for addr, broker in fleet.brokers.items() if "new" in broker.topics.table}
        assert with_it == {MASTER, SLAVE}
        assert "new" in stage.topics(0) & stage.topics(1)


@pytest.mark.parametrize("leave", [Stop, Die])
async def test_brokers_go_and_come(tmp_path, leave):
    async with scene(tmp_path) as stage, stage.fleet as fleet:
        await fleet.perform(leave(0, WHY, MASTER))
        await fleet.perform(leave(0, WHY, MASTER))
        await eventually(lambda: stage.addresses()[NAME] == stage.addresses(1)[NAME] == {1: SLAVE})
        assert fleet.summary.running == 3
        await fleet.perform(Start(0, WHY, MASTER))
        assert stage.addresses()[NAME] == {0: MASTER, 1: SLAVE}


async def test_one_that_hangs_is_connected_and_silent_until_it_starts_again(tmp_path):
    async with scene(tmp_path) as stage, stage.fleet as fleet:
        await fleet.perform(Hang(0, WHY, MASTER))
        assert stage.addresses()[NAME] == {0: MASTER, 1: SLAVE}
        seen = fleet.summary.registrations[stage.addrs[0]]
        await fleet.perform(Start(0, WHY, MASTER))
        assert fleet.summary.registrations[stage.addrs[0]] == seen + 1
        assert stage.addresses()[NAME] == {0: MASTER, 1: SLAVE}
        await fleet.perform(Hang(0, WHY, SLAVE))


async def test_roles_change_and_stay_over_a_restart(tmp_path):
    async with scene(tmp_path) as stage, stage.fleet as fleet:
        assert await fleet.perform(SwitchRole(0, WHY, MASTER, SLAVE, 1)) is None
        assert stage.addresses()[NAME] == {0: SLAVE, 1: MASTER}
        await fleet.perform(Stop(0, WHY, SLAVE))
        await fleet.perform(SwitchRole(0, WHY, SLAVE, MASTER, 2))
        await fleet.perform(Start(0, WHY, SLAVE))
        assert stage.addresses()[NAME] == stage.addresses(1)[NAME] == {0: MASTER, 1: SLAVE}


async def test_a_permission_is_wiped_everywhere_and_given_back(tmp_path):
    async with scene(tmp_path) as stage, stage.fleet as fleet:
        await fleet.perform(WipeWritePerm(0, WHY, NAME))
        assert stage.perms(NAME, 0) == stage.perms(NAME, 1) == {4}
        await fleet.perform(AddWritePerm(0, WHY, NAME))
        assert stage.perms(NAME, 0) == stage.perms(NAME, 1) == {6}


async def test_one_name_server_is_lost_and_found(tmp_path):
    async with scene(tmp_path) as stage, stage.fleet as fleet:
        await fleet.perform(Partition(0, WHY, MASTER, 1))
        await eventually(lambda: stage.addresses(1)[NAME] == {1: SLAVE})
        assert stage.addresses(0)[NAME] == {0: MASTER, 1: SLAVE}
        await fleet.perform(CreateTopic(0, ChurnKind.TOPICS, "cluster-1", TopicConfig("new", 4, 4)))
        assert stage.addresses(1)[NAME] == {1: SLAVE}
        await fleet.perform(Heal(0, WHY, MASTER, 1), at_once=True)
        assert stage.addresses(1)[NAME] == {0: MASTER, 1: SLAVE}
        await fleet.perform(Stop(0, WHY, MASTER))
        assert await fleet.perform(Heal(0, WHY, MASTER, 1)) is None
        assert await fleet.perform(Partition(0, WHY, MASTER, 1)) is None


async def test_found_again_it_is_told_with_the_next_registration(tmp_path):
    async with scene(tmp_path) as stage, stage.fleet as fleet:
        await fleet.perform(Partition(0, WHY, MASTER, 1))
        await eventually(lambda: stage.addresses(1)[NAME] == {1: SLAVE})
        await fleet.perform(Heal(0, WHY, MASTER, 1))
        assert stage.addresses(1)[NAME] == {1: SLAVE}
        await fleet.brokers[MASTER].registrar.register_broker_all()
        assert stage.addresses(1)[NAME] == {0: MASTER, 1: SLAVE}
