"""Names that are longer than the limit are refused with what to do."""

import pytest

from namekeeper.errors import RequestError
from namekeeper.model.mapping import TopicQueueMappingInfo
from namekeeper.model.registration import RegistrationBody
from namekeeper.model.topic import QueueSpec
from namekeeper.processor.limits import NAMES_PER_SLICE, check_body_names, check_names
from tests.support.server.in_memory import InMemoryNameServer

SPEC = QueueSpec(4, 4, 6, 0)
LONGEST_OF_STOCK = "%RETRY%" + "g" * 255 + "_" + "t" * 127
"""What a 5.x broker makes for a group with the longest name that pops the topic with the longest name."""


def mapped(key, **names):
    return RegistrationBody(mappings={key: TopicQueueMappingInfo(**{"bname": "b", "scope": "s", **names})})


def test_the_remark_says_which_name_is_too_long():
    check_names(3, cluster_name="abc", zone_name=None, broker_name="")
    with pytest.raises(RequestError) as raised:
        check_names(3, cluster_name="abc", broker_name="abcd")
    assert raised.value.code == 1
    assert raised.value.remark == "the broker name has 4 characters; 3 are allowed (nameCharactersLimit)"


@pytest.mark.parametrize(
    ("what", "names"),
    [
        ("topic", RegistrationBody(topics={"short": SPEC, "longer": SPEC})),
        ("topic key", RegistrationBody(topic_keys=frozenset(["longer"]))),
        ("filter server", RegistrationBody(filter_servers=("short", "longer"))),
        ("topic mapping", mapped("longer")),
        ("mapping topic", mapped("T", topic="longer")),
        ("mapping bname", mapped("T", bname="longer")),
        ("mapping scope", mapped("T", scope="longer")),
    ],
)
def test_each_name_in_a_body_has_the_limit(what, names):
    list(check_body_names(6, names))
    with pytest.raises(RequestError) as raised:
        list(check_body_names(5, names))
    assert raised.value.remark == f"the {what} has 6 characters; 5 are allowed (nameCharactersLimit)"


def test_a_body_without_names_is_none_too_long():
    assert list(check_body_names(1, RegistrationBody(filter_servers=None))) == []


def test_names_of_a_body_are_looked_at_in_slices():
    names = {f"{index:06d}": SPEC for index in range(2 * NAMES_PER_SLICE + 1)}
    assert len(list(check_body_names(6, RegistrationBody(topics=names)))) == 3
    with pytest.raises(RequestError):
        list(check_body_names(6, RegistrationBody(topics={**names, "longest": SPEC})))


def test_the_longest_name_that_stock_peers_make_is_allowed():
    limit = InMemoryNameServer().state.settings.name_characters_limit
    assert len(list(check_body_names(limit, RegistrationBody(topics={LONGEST_OF_STOCK: SPEC})))) == 1
