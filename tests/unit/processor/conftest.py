"""Name servers in memory for every module here."""

import pytest

from tests.support.server.in_memory import InMemoryNameServer
from tests.unit.processor.samples import V6_BODY

__all__: list[str] = []


@pytest.fixture
def server() -> InMemoryNameServer:
    return InMemoryNameServer()


@pytest.fixture
def registered(server: InMemoryNameServer) -> InMemoryNameServer:
    """A server that knows TopicTest and TBW102 of one master."""
    assert server.register(V6_BODY, enableActingMaster="false").code == 0
    return server
