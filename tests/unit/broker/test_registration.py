"""What is built once for all name servers."""

import pytest

from namekeeper.broker.registration import BrokerState, Registration
from namekeeper.broker.topic_config_table import TopicConfigTable
from namekeeper.errors import ConfigError
from namekeeper.messages.registration import decode_register_broker_header
from namekeeper.messages.registration_body import decode_registration_body
from namekeeper.model.topic import TopicConfig
from namekeeper.model.version import DataVersion
from tests.unit.broker.parts import T1, T2, settings
from tests.unit.messages.samples import finish

VERSION = DataVersion(3, 2, 1)


def registration(*topics, changed=(), **more):
    return Registration(
        BrokerState(settings(**more), TopicConfigTable(topics or (T1, T2)), VERSION), changed=changed
    )


def read(request):
    header = decode_register_broker_header(request.ext_fields)
    return header, finish(
        decode_registration_body(request.body, version=request.version, compressed=header.compressed)
    )


@pytest.mark.parametrize("compressed", [False, True])
async def test_all_topics_in_a_truthful_form(compressed):
    """Java's broker says that a compressed body is none (trap T9)."""
    (request,) = await registration(compressed_register=compressed).full()
    header, body = read(request)
    assert header.compressed is compressed
    assert (request.body[:1] == b"x") is compressed
    assert (body.data_version, set(body.topics)) == (VERSION, {"T1", "T2"})


async def test_it_is_built_once():
    one = registration()
    assert (await one.full())[0] is (await one.full())[0]


async def test_parts_have_one_version_and_the_rest_is_last_even_if_there_is_none():
    topics = [TopicConfig(f"T{number}") for number in range(4)]
    requests = await registration(*topics, enable_split_registration=True, split_registration_size=2).full()
    bodies = [read(request)[1] for request in requests]
    assert [set(body.topics) for body in bodies] == [{"T3", "T2"}, {"T1", "T0"}, set()]
    assert {body.data_version for body in bodies} == {VERSION}


def test_parts_are_always_sent():
    assert registration(enable_split_registration=True).force
    assert registration().force
    assert not Registration(BrokerState(settings(), TopicConfigTable(), VERSION), force=False).force


def test_changes_go_alone():
    one = registration(changed=(T2,))
    (request,) = one.incremental()
    assert one.is_incremental
    assert not registration().is_incremental
    assert set(read(request)[1].topics) == {"T2"}


def test_what_the_broker_forbids_is_in_changes_too():
    (request,) = registration(changed=(T2,), broker_permission=4).incremental()
    assert read(request)[1].topics["T2"].perm == 4


def test_what_makes_a_broker_known_has_no_topics_and_another_version():
    one = registration(T1)
    (request,) = one.first()
    assert one.has_one_topic
    _, body = read(request)
    assert (body.topics, body.data_version) == ({}, DataVersion(state_version=2))


async def test_one_that_fits_in_no_frame_says_what_to_do():
    """A name server would close the connection."""
    names = [f"{number:06d}" + "x" * 500 for number in range(30_000)]
    with pytest.raises(ConfigError, match=r"30000 topics .* compressed_register"):
        await registration(*map(TopicConfig, names)).full()


async def test_zone_filter_servers_and_who_it_is():
    (request,) = await registration(zone_name="z", filter_servers=("f:1",)).full()
    header, body = read(request)
    assert (header.zone_name, header.broker_addr, body.filter_servers) == ("z", "10.0.0.1:10911", ("f:1",))
