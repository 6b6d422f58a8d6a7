import pickle

import pytest

from namekeeper.client.client_config import ClientConfig, make_remoting_client, name_servers_of
from namekeeper.errors import ConfigError
from namekeeper.remoting.tls_settings import TlsSettings
from namekeeper.wire.command import RemotingCommand


@pytest.mark.parametrize(
    ("config", "environ", "expected"),
    [
        (ClientConfig(namesrv_addr="a:1;b:2"), {"NAMESRV_ADDR": "c:3"}, (["a:1", "b:2"], None)),
        (ClientConfig(namesrv_addr=" http://a:1/ ; [::1]:2 ;"), {}, (["a:1", "[::1]:2"], None)),
        (ClientConfig(), {"NAMESRV_ADDR": "c:3"}, (["c:3"], None)),
        (ClientConfig(namesrv_domain="ns"), {"NAMESRV_ADDR": " "}, ([], "http://ns:8080/rocketmq/nsaddr")),
        (
            ClientConfig(namesrv_domain="ns:80", namesrv_domain_subgroup="sub", unit_name="u"),
            {},
            ([], "http://ns:80/rocketmq/sub-u?nofix=1"),
        ),
    ],
)
def test_what_is_given_first_counts(config, environ, expected):
    assert name_servers_of(config, environ) == expected


@pytest.mark.parametrize(
    ("config", "environ", "says"),
    [
        (ClientConfig(), {}, "give namesrv_addr=.*set NAMESRV_ADDR.*namesrv_domain"),
        (ClientConfig(namesrv_addr=";;"), {}, "namesrv_addr: address list ';;' is empty"),
        (
            ClientConfig(),
            {"NAMESRV_ADDR": "host"},
            "NAMESRV_ADDR: address 'host' can't be used: write host:port",
        ),
    ],
)
def test_a_list_that_can_not_be_used_says_where_it_came_from(config, environ, says):
    with pytest.raises(ConfigError, match=says):
        name_servers_of(config, environ)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"poll_name_server_interval_ms": 0}, "poll_name_server_interval_ms must be more than 0"),
        (
            {"mq_client_api_timeout_ms": -1},
            "mq_client_api_timeout_ms must be more than 0, in milliseconds, not -1",
        ),
        ({"mq_client_api_timeout_ms": "3s"}, "mq_client_api_timeout_ms must be .* milliseconds, not '3s'"),
        ({"namesrv_addr": None}, "namesrv_addr must be text, not None"),
        ({"namesrv_addr": ["a:1", "b:2"]}, "must be text, not .*; several name servers are one text"),
        ({"access_key": "a"}, "access_key and secret_key go together"),
        ({"secret_key": "s"}, "access_key and secret_key go together"),
    ],
)
def test_settings_that_can_not_work_are_refused(settings, says):
    with pytest.raises(ConfigError, match=says):
        ClientConfig(**settings)


def test_settings_can_be_sent_to_another_process_and_do_not_show_the_key():
    config = ClientConfig(
        namesrv_addr="a:1", access_key="ak", secret_key="very", tls=TlsSettings(enable=True)
    )
    assert pickle.loads(pickle.dumps(config)) == config
    assert "very" not in repr(config)
    assert "signed" in repr(config)


def test_requests_are_signed_if_there_is_a_key():
    signing = make_remoting_client(ClientConfig(access_key="RocketMQ", secret_key="12345678"))
    request = RemotingCommand(ext_fields={"topic": "TopicTest"})
    assert signing._rpc_hook is not None
    signing._rpc_hook("a:1", request)
    assert (request.ext_fields or {})["Signature"] == "0jiwhsaYp5ObE5GObbZH1I8/FT4="
    assert make_remoting_client(ClientConfig())._rpc_hook is None


def test_certificates_that_can_not_be_used_are_refused_at_once():
    tls = TlsSettings(enable=True, test_mode=False, auth_server=True, client_trust_cert_path="/nowhere.pem")
    with pytest.raises(ConfigError, match=r"nowhere\.pem"):
        make_remoting_client(ClientConfig(tls=tls))


def test_a_client_may_be_given_only_its_name_servers():
    assert ClientConfig("a:1;b:2") == ClientConfig(namesrv_addr="a:1;b:2") == ClientConfig.of("a:1;b:2")
    assert ClientConfig.of(None) == ClientConfig()


def test_what_is_no_configuration_is_refused_with_what_to_write():
    with pytest.raises(ConfigError, match=r"takes a ClientConfig, or 'host:port;host:port', not \['a:1'\]"):
        ClientConfig.of(["a:1"])
