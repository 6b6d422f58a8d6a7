"""A setting with a wrong name is refused with the right one."""

import pytest

from namekeeper.broker.settings import BrokerSettings
from namekeeper.client.client_config import ClientConfig


@pytest.mark.parametrize(
    ("settings", "name", "right"),
    [
        (BrokerSettings, "brokerName", "broker_name"),
        (BrokerSettings, "brokerAddr", "broker_addr"),
        (BrokerSettings, "brokerIP1", "broker_addr"),
        (BrokerSettings, "brokerClusterName", "cluster_name"),
        (BrokerSettings, "namesrvaddr", "namesrv_addr"),
        (BrokerSettings, "registerNameServerPeriod", "register_name_server_period_ms"),
        (ClientConfig, "namesrvAddr", "namesrv_addr"),
        (ClientConfig, "pollNameServerInterval", "poll_name_server_interval_ms"),
        (ClientConfig, "accessKey", "access_key"),
    ],
)
def test_java_s_spelling_gets_the_right_name(settings, name, right):
    with pytest.raises(TypeError) as refused:
        settings(**{name: "x"})
    assert str(refused.value) == f"{settings.__name__} has no setting {name!r}: did you mean {right}?"


def test_a_name_like_no_other_is_refused_without_a_guess():
    with pytest.raises(TypeError, match=r"ClientConfig has no setting 'flavour'$"):
        ClientConfig("a:1", flavour=1)
