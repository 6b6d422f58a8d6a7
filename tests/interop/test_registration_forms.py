"""Brokers that register in a form other than the usual one: compressed, in parts, topic by topic."""

import pytest

from tests.interop.clients import JavaClient, numbers
from tests.interop.routes import assert_routes_match, route, topics
from tests.interop.servers import JAVA_UNDER_TEST, NameServer
from tests.support.java.servers import FIVE, VERSIONS, JavaBroker
from tests.support.system.processes import eventually

pytestmark = [pytest.mark.interop, pytest.mark.slow]

COMPRESSED = {"compressedRegister": "true"}
SPLIT = {"enableSplitRegistration": "true", "splitRegistrationSize": "3"}
SINGLE = {"enableSingleTopicRegister": "true"}


def compressed(version: str):
    """Return the case of a compressed body, which Java's own name server can't read from a 5.x broker."""
    wrong = pytest.mark.xfail(
        JAVA_UNDER_TEST and version in FIVE, reason="5.x brokers deny that they compress", run=False
    )
    return pytest.param(version, COMPRESSED, id=f"compressed-{version}", marks=wrong)


FORMS = [
    *map(compressed, VERSIONS),
    *(pytest.param(version, SPLIT, id=f"split-{version}") for version in FIVE),
    *(pytest.param(version, SINGLE, id=f"single-{version}") for version in FIVE),
    pytest.param("5.5.0", COMPRESSED | SPLIT, id="compressed-split-5.5.0", marks=compressed("5.5.0").marks),
]


@pytest.mark.parametrize(("version", "properties"), FORMS)
def test_a_registration_in_any_form_routes_all_topics_of_the_broker(
    version: str, properties: dict[str, str], own_server: NameServer
):
    address = own_server.address
    with JavaBroker(version, [address], properties=properties) as broker:
        eventually(lambda: assert_routes_match(address, broker) is None, within=60, what="equal topics")
        events = JavaClient(version, address).exchange("created-on-demand", "group", 4)
        assert sorted(numbers(events, "received")) == [0, 1, 2, 3]
        eventually(lambda: assert_routes_match(address, broker) is None, within=60, what="equal topics")
        assert "created-on-demand" in topics(address)
    eventually(lambda: route(address, "created-on-demand") is None, within=60, what="no route")
