"""Flag over environment over TLS file over file over default."""

import pytest

from namekeeper.config.settings import NamesrvSettings
from namekeeper.config.startup import boot_line, make_startup, with_tls_file
from namekeeper.errors import ConfigError


def test_sources_override_each_other_in_order():
    startup = make_startup(
        file_data=b"listenPort=1\nbindAddress=file\nproductEnvName=file\ntls.ciphers=file\n",
        tls_file_data=b"tls.ciphers=tls\ntls.protocols=tls\ntls.server.mode=disabled\nlistenPort=9",
        environment={
            "NAMEKEEPER_BIND_ADDRESS": "env",
            "NAMEKEEPER_LISTEN_PORT": "2",
            "NAMEKEEPER_TLS_PROTOCOLS": "env",
        },
        flags={"listen_port": "3", "bind_address": None},
    )
    settings = startup.settings
    assert (settings.listen_port, settings.bind_address, settings.product_env_name) == (3, "env", "file")
    assert (settings.tls_ciphers, settings.tls_protocols, settings.tls_server_mode) == (
        "tls",
        "env",
        "permissive",
    )


def test_nothing_given_is_a_server_with_defaults_at_home():
    startup = make_startup(home="/home/rocket")
    assert startup.settings.kv_config_path == "/home/rocket/namesrv/kvConfig.json"
    assert startup.runtime_config.file_text() == ""
    assert startup.warnings == ()


def test_the_file_of_c_is_where_updates_are_written():
    startup = make_startup(file_data=b"configStorePath=/elsewhere\n", config_file="/etc/namesrv.properties")
    assert startup.settings.config_store_path == "/etc/namesrv.properties"
    assert startup.config_file == "/etc/namesrv.properties"


def test_the_home_variable_of_rocketmq_is_a_default():
    environment = {"ROCKETMQ_HOME": "/opt/rocketmq"}
    assert make_startup(environment=environment).settings.rocketmq_home == "/opt/rocketmq"
    file = make_startup(environment=environment, file_data=b"rocketmqHome=/file")
    assert file.settings.rocketmq_home == "/file"


def test_the_home_of_java_is_where_the_files_are():
    environment = {"JAVA_OPT": " -Duser.home=/opt"}
    settings = make_startup(environment=environment, home="/home/rocket").settings
    assert settings.kv_config_path == "/opt/namesrv/kvConfig.json"
    assert settings.log_root == "/opt/logs/rocketmqlogs"
    in_file = make_startup(environment=environment, file_data=b"kvConfigPath=/data/kv.json").settings
    assert in_file.kv_config_path == "/data/kv.json"


def test_system_properties_of_java_count_before_defaults_only():
    environment = {
        "JAVA_OPT_EXT": "-Dtls.server.mode=enforcing -Dcom.rocketmq.remoting.socket.sndbuf.size=65536"
        " -Drocketmq.serialize.type=ROCKETMQ -Drocketmq.home.dir=/opt/rocketmq -DlistenPort=1",
        "ROCKETMQ_HOME": "/elsewhere",
    }
    settings = make_startup(environment=environment).settings
    assert (settings.tls_server_mode, settings.server_socket_snd_buf_size) == ("enforcing", 65536)
    assert (settings.serialize_type, settings.rocketmq_home) == ("ROCKETMQ", "/opt/rocketmq")
    assert settings.listen_port == 9876
    in_file = make_startup(
        environment=environment, file_data=b"tls.server.mode=disabled\nserverSocketSndBufSize=1024\n"
    ).settings
    assert (in_file.tls_server_mode, in_file.server_socket_snd_buf_size) == ("disabled", 1024)


def test_a_system_property_that_can_not_be_used_is_refused_by_name():
    with pytest.raises(ConfigError, match=r"for Java: tls\.server\.mode=strict"):
        make_startup(environment={"JAVA_OPT": "-Dtls.server.mode=strict"})


def test_flags_and_environment_do_not_get_into_the_file():
    startup = make_startup(
        file_data=b"theirs=1", flags={"listen_port": "1"}, environment={"NAMEKEEPER_MAX_CONNECTIONS": "5"}
    )
    assert startup.runtime_config.file_text() == "theirs=1\n"
    assert "listenPort=1\n" in startup.runtime_config.text()


def test_a_file_may_hold_what_java_passes_over_and_a_flag_may_not():
    startup = make_startup(file_data=b"listenPort=x\nserverWorkerThreads=9")
    assert len(startup.warnings) == 2
    assert "without effect here: serverWorkerThreads" in startup.warnings[1]
    with pytest.raises(ConfigError, match="listenPort=x: not a number"):
        make_startup(flags={"listen_port": "x"})


@pytest.mark.parametrize("data", [b"listenPort=70000", b"a=\\u12"])
def test_an_error_names_the_file(data):
    with pytest.raises(ConfigError, match=r"^/a/b\.properties"):
        make_startup(file_data=data, config_file="/a/b.properties")


def test_an_error_without_a_file_names_the_property():
    with pytest.raises(ConfigError, match=r"^listenPort=70000"):
        make_startup(file_data=b"listenPort=70000")


def test_the_tls_file_can_be_laid_over_again():
    settings, warnings = with_tls_file(
        NamesrvSettings(), b"tls.server.certPath=/c.pem\ntls.server.authClient=true "
    )
    assert settings.tls_server_cert_path == "/c.pem"
    assert settings.tls_server_auth_client is False
    assert len(warnings) == 1


@pytest.mark.parametrize(("bind", "address"), [("0.0.0.0", "0.0.0.0:9876"), ("::", "[::]:9876")])
def test_the_boot_line_is_javas(bind, address):
    line = boot_line(NamesrvSettings(bind_address=bind), 9876)
    assert line == f"The Name Server boot success. serializeType=JSON, address {address}"


def test_a_byte_order_mark_is_passed_over_with_a_warning():
    startup = make_startup(
        file_data=b"\xef\xbb\xbflistenPort=7",
        config_file="n.properties",
        tls_file_data=b"\xef\xbb\xbftls.ciphers=c",
    )
    assert startup.settings.listen_port == 7
    assert startup.settings.tls_ciphers == "c"
    assert len(startup.warnings) == 2
    assert startup.warnings[0].startswith("n.properties begins with a byte order mark, which Java takes as a")


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_a_file_in_utf_16_is_refused_with_what_to_do(encoding):
    data = "\ufefflistenPort=7".encode(encoding)
    with pytest.raises(ConfigError, match=r"n.properties is in UTF-16: save it as ASCII, with"):
        make_startup(file_data=data, config_file="n.properties")


def test_a_file_of_very_many_lines_is_refused():
    """A file of 4 MiB in lines of two bytes took a minute."""
    with pytest.raises(
        ConfigError, match=r"n.properties has more than 50000 lines: is it a properties file?"
    ):
        make_startup(file_data=b"a\n" * 50_001, config_file="n.properties")


def test_an_empty_value_that_java_starts_with_is_told_and_the_default_used():
    data = b"kvConfigPath=\nconfigStorePath= \ntls.server.mode=\nbindAddress=\nproductEnvName=\n"
    startup = make_startup(file_data=data, config_file="f")
    assert startup.settings.kv_config_path == "~/namesrv/kvConfig.json"
    assert startup.settings.tls_server_mode == "permissive"
    assert startup.settings.bind_address == "127.0.0.1"
    lines = [text.partition(" is empty: ")[0] for text in startup.warnings if " is empty: " in text]
    assert lines == ["kvConfigPath", "tls.server.mode", "bindAddress"]


def test_lines_that_are_not_what_they_seem_are_warnings():
    startup = make_startup(file_data=b"bindAddress='::1'", config_file="f")
    assert startup.warnings[0].startswith("f, line 1: quotes")
    startup = make_startup(tls_file_data=b"tls.server.certPath=\\a", config_file="f")
    assert any("tls.properties, line 1: a single backslash" in text for text in startup.warnings)


def test_lines_of_the_tls_file_are_named_with_the_file_that_was_read():
    startup = make_startup(tls_file_data=b"nonsense", flags={"tls_config_file": "/etc/own.properties"})
    assert [text for text in startup.warnings if text.startswith("/etc/own.properties, line 1: ")]


def test_a_value_of_the_file_that_the_environment_overrides_is_told():
    data = b"kvConfigPath=/data/kv.json\ntls.server.keyPassword=a\nlogRoot=/l\nlistenPort=1\nrocketmq.serialize.type=JSON"
    environment = {
        "NAMEKEEPER_KV_CONFIG_PATH": "/var/kv.json", "NAMEKEEPER_TLS_SERVER_KEY_PASSWORD": "b",
        "NAMEKEEPER_LOG_ROOT": "/l", "NAMEKEEPER_FRONT": "python", "NAMEKEEPER_LISTEN_PORT": "2",
        "ROCKETMQ_SERIALIZE_TYPE": "ROCKETMQ",
    }  # fmt: skip
    startup = make_startup(
        file_data=data, config_file="f", environment=environment, flags={"listen_port": "3"}
    )
    lines = [
        text.split(" in the environment counts, and ") for text in startup.warnings if " counts, and " in text
    ]
    assert lines == [
        [
            "NAMEKEEPER_KV_CONFIG_PATH=/var/kv.json",
            "kvConfigPath=/data/kv.json in f does not: remove one of them",
        ],
        ["NAMEKEEPER_TLS_SERVER_KEY_PASSWORD", "tls.server.keyPassword in f does not: remove one of them"],
        [
            "ROCKETMQ_SERIALIZE_TYPE=ROCKETMQ",
            "rocketmq.serialize.type=JSON in f does not: remove one of them",
        ],
    ]
