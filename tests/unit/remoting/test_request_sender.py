"""The protocol says what `RemotingClient` does: code that is typed with it works with the real client."""

import inspect

from namekeeper.remoting.client import RemotingClient
from namekeeper.remoting.request_sender import RequestSender


def test_the_remoting_client_has_the_method_as_the_protocol_says_it():
    expected, real = (inspect.signature(each.invoke) for each in (RequestSender, RemotingClient))
    assert list(real.parameters) == list(expected.parameters)
    assert [each.kind for each in real.parameters.values()] == [
        each.kind for each in expected.parameters.values()
    ]
    assert inspect.iscoroutinefunction(RemotingClient.invoke)
