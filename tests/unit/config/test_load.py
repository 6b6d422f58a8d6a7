"""Properties become settings; what can't work is refused by name."""

import pytest

from namekeeper.config.load import (
    environment_properties,
    flag_properties,
    parse_networks,
    settings_from,
    unknown_properties,
)
from namekeeper.config.settings import SPECS, NamesrvSettings
from namekeeper.errors import ConfigError


def test_nothing_given_means_the_defaults():
    assert settings_from({}) == (NamesrvSettings(), [])


def test_given_values_are_taken_and_the_others_stay_as_in_the_base():
    base = NamesrvSettings(listen_port=1, product_env_name="x")
    settings, warnings = settings_from({"listenPort": "2", "tls.server.mode": "disabled"}, base=base)
    assert (settings.listen_port, settings.product_env_name, settings.tls_server_mode) == (2, "x", "disabled")
    assert warnings == []


def test_names_of_system_properties_are_taken_too():
    settings, _ = settings_from({"com.rocketmq.remoting.frameMaxLength": "2048"})
    assert settings.remoting_frame_max_length == 2048


def test_unknown_names_are_passed_over_and_known():
    properties = {"listenPort": "2", "brokerName": "a", "com.rocketmq.remoting.frameMaxLength": "2048"}
    assert settings_from(properties)[1] == []
    assert unknown_properties(properties) == {"brokerName": "a"}


def test_a_name_in_the_wrong_case_is_unknown_with_a_hint():
    settings, warnings = settings_from({"listenport": "2"})
    assert settings.listen_port == 9876
    assert warnings == ["listenport is not a property: did you mean listenPort?"]


@pytest.mark.parametrize(
    ("name", "meant"),
    [("listenPrt", "listenPort"), ("jurnalPath", "journalPath"), ("tlsServerMode", "tls.server.mode")],
)
def test_a_misspelt_property_is_a_warning_that_names_the_nearest(name, meant):
    assert settings_from({name: "x"})[1] == [f"{name} is not a property: did you mean {meant}?"]


def test_a_misspelt_variable_is_a_warning_that_names_the_nearest():
    environment = {"NAMEKEEPER_LISTENPORT": "1", "NAMEKEEPER_SOMETHING": "2", "OTHER": "3"}
    assert environment_properties(environment) == (
        {},
        [
            "NAMEKEEPER_LISTENPORT in the environment is not a property: did you mean NAMEKEEPER_LISTEN_PORT?",
            "NAMEKEEPER_SOMETHING in the environment is not a property: `namekeeper serve --help` lists them",
        ],
    )


@pytest.mark.parametrize(
    "name",
    ["SERVICE_HOST", "SERVICE_PORT", "SERVICE_PORT_HTTP", "PORT", "PORT_9876_TCP", "PORT_9876_TCP_ADDR"],
)
def test_what_kubernetes_sets_beside_a_service_of_our_name_is_no_typo(name):
    assert environment_properties({f"NAMEKEEPER_{name}": "tcp://10.0.0.1:9876"}) == ({}, [])


def test_what_java_passes_over_in_silence_is_a_warning():
    settings, warnings = settings_from({"waitSecondsForService": "8 ", "orderMessageEnable": "true "})
    assert (settings.wait_seconds_for_service, settings.order_message_enable) == (45, False)
    assert len(warnings) == 2


def test_paths_begin_at_the_home_that_is_given():
    settings, _ = settings_from({"logRoot": "~/logs", "productEnvName": "~/x"}, home="/home/rocket/")
    assert settings.log_root == "/home/rocket/logs"
    assert settings.kv_config_path == "/home/rocket/namesrv/kvConfig.json"
    assert settings.product_env_name == "~/x"


@pytest.mark.parametrize(
    ("properties", "text"),
    [
        ({"enableControllerInNamesrv": "true"}, "namekeeper has no controller; run RocketMQ's own"),
        ({"bodyBytesInFlightLimit": "2048"}, "must be at least remotingFrameMaxLength"),
        (
            {"writeBufferLowWaterMark": "2", "writeBufferHighWaterMark": "1"},
            "writeBufferLowWaterMark=2: must not",
        ),
        ({"proxyProtocolTrustedNetworks": "10.0.0.0/8,nowhere"}, "proxyProtocolTrustedNetworks=.*'nowhere'"),
        ({"proxyProtocolTrustedNetworks": "10.1.2.3/8"}, "bits beyond its prefix: write 10.0.0.0/8"),
        ({"tls.server.need.client.auth": "require", "tls.test.mode.enable": "false"}, "trustCertPath"),
    ],
)
def test_what_can_not_work_is_refused_in_one_line(properties, text):
    with pytest.raises(ConfigError, match=text) as raised:
        settings_from(properties)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("also", [{"tls.server.mode": "disabled"}, {"tls.server.trustCertPath": "ca.pem"}])
def test_requiring_client_certificates_is_fine_with_authorities_or_without_tls(also):
    settings, _ = settings_from(
        {"tls.server.need.client.auth": "require", "tls.test.mode.enable": "false", **also}
    )
    assert settings.tls_server_need_client_auth == "require"


def test_networks_are_read_with_any_separator():
    networks = parse_networks("proxyProtocolTrustedNetworks", "10.0.0.0/8; fd00::/8,192.0.2.1")
    assert [str(network) for network in networks] == ["10.0.0.0/8", "fd00::/8", "192.0.2.1/32"]
    assert parse_networks("proxyProtocolTrustedNetworks", " ") == ()


@pytest.mark.parametrize("name", ["proxyProtocolTrustedNetworks", "brokerNetworks", "notifyNetworks"])
def test_a_network_of_ipv4_in_ipv6_notation_is_one_of_ipv4(name):
    networks = parse_networks(name, "::ffff:10.0.0.0/104,::ffff:192.0.2.1")
    assert [str(network) for network in networks] == ["10.0.0.0/8", "192.0.2.1/32"]


def test_the_environment_is_read_by_our_names_and_javas():
    found, warnings = environment_properties({
        "NAMEKEEPER_LISTEN_PORT": "1", "NAMEKEEPER_TLS_SERVER_MODE": "disabled", "NAMEKEEPER_BIND_ADDRESS": "",
        "ROCKETMQ_SERIALIZE_TYPE": "ROCKETMQ", "PATH": "/bin",
    })  # fmt: skip
    assert found == {"listenPort": "1", "tls.server.mode": "disabled", "serializeType": "ROCKETMQ"}
    assert warnings == []


def test_our_name_wins_over_javas():
    found, _ = environment_properties(
        {"ROCKETMQ_SERIALIZE_TYPE": "JSON", "NAMEKEEPER_SERIALIZE_TYPE": "ROCKETMQ"}
    )
    assert found == {"serializeType": "ROCKETMQ"}


def test_a_variable_that_kubernetes_made_for_a_service_is_passed_over():
    found, warnings = environment_properties({"NAMEKEEPER_HTTP_PORT": "tcp://10.0.0.7:80"})
    assert found == {}
    assert "Kubernetes" in warnings[0]


def test_a_misspelt_port_is_no_variable_of_kubernetes():
    """Only its value tells the two apart."""
    found, warnings = environment_properties(
        {"NAMEKEEPER_LISTN_PORT": "9876", "NAMEKEEPER_WEB_PORT": "tcp://10.0.0.7:80"}
    )
    assert found == {}
    assert warnings == [
        "NAMEKEEPER_LISTN_PORT in the environment is not a property: did you mean NAMEKEEPER_LISTEN_PORT?"
    ]


def test_flags_are_properties_by_field_name():
    fields = dict.fromkeys((spec.field for spec in SPECS.values()), None)
    assert flag_properties({**fields, "listen_port": "1", "tls_server_key_path": "k"}) == {
        "listenPort": "1",
        "tls.server.keyPath": "k",
    }
