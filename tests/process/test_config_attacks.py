"""Nothing that a peer sends chooses a path on disk (CVE-2023-33246, CVE-2023-37582 and their relatives)."""

from pathlib import Path

import pytest

from tests.process.running import NameServerProcess

PATH_KEYS = (
    "configStorePath", "kvConfigPath", "rocketmqHome", "configBlackList", "logRoot", "tls.config.file",
    "tls.server.certPath", "tls.server.keyPath", "configStorePathName", "storePathRootDir",
)  # fmt: skip

GUARDS = (
    "allowConfigUpdate=true", "remotingFrameMaxLength=2147483647", "maxConnections=1", "httpBindAddress=0.0.0.0",
    "proxyProtocolTrustedNetworks=0.0.0.0/0", "tls.server.mode=disabled", "tls.enable=false", "serializeType=ROCKETMQ",
    "rocketmq.namesrv.domain=192.0.2.1", "rocketmq.serialize.type=ROCKETMQ", "enableControllerInNamesrv=true",
)  # fmt: skip
"""No paths, but what protects the server, or chooses whom it talks to."""

ATTEMPTS = [
    *(f"{key}={{evil}}" for key in PATH_KEYS),
    *GUARDS,
    "configStorePath={evil}\nproductEnvName=* * * * * root touch evil\n",
    "configBlackList=nothing\nconfigStorePath={evil}",
    # Java's properties have many ways to spell a key.
    "config\\u0053torePath={evil}",
    "\\u0063\\u006f\\u006e\\u0066igStorePath={evil}",
    "config\\\n   StorePath={evil}",
    "configStorePath : {evil}",
    "  configStorePath {evil}",
    "kvConfig\\Path={evil}",
    "#x\rkvConfigPath={evil}",
    "orderMessageEnable=true\nkvConfigPath={evil}",
    # And its setters don't care about all of it.
    "CONFIGSTOREPATH={evil}",
    "kvconfigpath={evil}",
    " kvConfigPath\\ ={evil}",
]
SMUGGLED = [
    # The published attack: the path, then what is to be written there.
    "configStorePath={evil}\nproductEnvName=test/path\\n* * * * * root touch evil\n",
    "productEnvName=a\\nkvConfigPath={evil}",
    "productEnvName=a\\u000akvConfigPath={evil}",
    "productEnvName=a\\rkvConfigPath={evil}",
]
"""Values that would become lines of their own in a file that is written without escapes."""


def contents(folder: Path) -> dict[str, bytes]:
    """Every file but the log, the journal, and what the process says."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
        and not {"logs", "journal"} & set(path.parts)
        and path.name not in {"stdout.txt", "stderr.txt"}
    }


@pytest.mark.parametrize("allowed", ["false", "true"])
def test_no_request_chooses_a_path(tmp_path, allowed):
    evil = tmp_path / "evil"
    with NameServerProcess(tmp_path, allow_config_update=allowed) as server:
        server.started()
        assert server.ask(100, namespace="a", key="b", value="c").code == 0
        before, shown = contents(tmp_path), server.ask(319).body
        for attempt in ATTEMPTS:
            answer = server.ask(318, attempt.format(evil=evil).encode())
            assert answer.code == 16, attempt
            assert "Can not update config" in (answer.remark or "")
        for attempt in SMUGGLED:
            answer = server.ask(318, attempt.format(evil=evil).encode())
            is_forbidden = allowed == "false" or attempt.startswith("configStorePath")
            assert answer.code == (16 if is_forbidden else 1), attempt
            remark = "Can not update config" if is_forbidden else "control characters"
            assert remark in (answer.remark or "")
        assert server.ask(319).body == shown
        assert contents(tmp_path) == before
        assert server.stop() == 0
    assert not evil.exists()


def test_an_allowed_change_is_written_where_the_operator_said_and_can_not_smuggle(tmp_path):
    file = tmp_path / "my.properties"
    file.write_text("allowConfigUpdate=true\n")
    with NameServerProcess(tmp_path, "-c", str(file)) as server:
        server.started()
        body = "productEnvName=a\\\\nkvConfigPath\\\\=/x\norderMessageEnable=true\n"
        assert server.ask(318, body.encode()).code == 0
        assert server.stop() == 0
    assert (tmp_path / "my.properties.bak").read_text() == "allowConfigUpdate=true\n"
    with NameServerProcess(tmp_path, "-c", str(file)) as server:
        shown = server.started().ask(319).body.decode().splitlines()
        assert "orderMessageEnable=true" in shown
        assert "productEnvName=a\\nkvConfigPath\\=/x" in shown
        assert f"kvConfigPath={server.kv_file}" in shown


@pytest.mark.parametrize("name", ["../../evil", "/tmp/evil", "..\\evil", "a\0b", "a\nb"])
def test_names_in_the_kv_configuration_are_no_paths(tmp_path, name):
    with NameServerProcess(tmp_path / "home") as server:
        server.started()
        assert server.ask(100, namespace=name, key=name, value=name).code == 0
        assert server.ask(101, namespace=name, key=name).fields == {"value": name}
        assert set(contents(tmp_path)) == {"home/kv.json", "home/kv.json.lock"}
        assert server.stop() == 0
        journals = [path.parent.name for path in tmp_path.rglob("identity.json")]
        assert journals == [server.address.rpartition(":")[2]]
    lines = [line for line in server.log.splitlines() if "putKVConfig" in line]
    assert len(lines) == 1
    assert server.log.isascii()
