"""What a user sees who starts a name server: one line when it serves, one line when it can't."""

import socket
import sys
from pathlib import Path

import pytest

from tests.process.running import BIN, BOOT, NameServerProcess
from tests.support.wire.ask import ask

HAS_IPV6 = socket.has_ipv6


def ipv6_loopback() -> bool:
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            return True
    except OSError:
        return False


def refused(server: NameServerProcess) -> str:
    """The one line on stderr of a server that can't start; nothing else was said, and the status is Java's."""
    assert server.ended() == 255
    assert not BOOT.search(server.out)
    assert server.err.count("\n") == 1, server.err
    return server.err


def test_one_line_says_that_it_serves(tmp_path):
    with NameServerProcess(tmp_path) as server:
        server.started()
        assert server.out == f"The Name Server boot success. serializeType=JSON, address {server.address}\n"
        assert server.ask(106).code == 0
        server.logged(f"boot success. serializeType=JSON, address {server.address}\n")
        assert server.err == ""
        assert not server.kv_file.exists()  # nothing is written before something changes


IMPORTS_OF_THE_LOOP = """
import asyncio, sys

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name.startswith("namekeeper.") and asyncio._get_running_loop() is not None:
            print(name, file=sys.stderr, flush=True)

sys.meta_path.insert(0, Finder())
from namekeeper.cli.main import main
main()
"""
"""A server that names each module that it imports while its event loop, and so every client, waits."""


def test_the_first_clients_do_not_wait_until_the_journal_and_the_pages_are_imported(tmp_path):
    journal = tmp_path / "journal"
    listening = ("--listen-port", "0", "--bind-address", "127.0.0.1")
    flags = ("--http-port", "0", "--journal-path", str(journal), "--front", "python")
    command = (sys.executable, "-c", IMPORTS_OF_THE_LOOP, "serve", *listening, *flags)
    folders = ("--log-root", str(tmp_path / "logs"), "--kv-config-path", str(tmp_path / "kv.json"))
    with NameServerProcess(tmp_path, *folders, command=command) as server:
        server.started()
        server.logged("operators' pages at")
        server.records_to(journal)
        assert server.err == ""


def test_mqnamesrv_reads_its_file_and_warns_of_a_missing_home_only(tmp_path):
    file = tmp_path / "namesrv.properties"
    file.write_text(
        f"listenPort=0\nbindAddress=127.0.0.1\nhttpPort=-1\nlogRoot={tmp_path}/logs\ntheirs=x\nlistenport=9876\n"
    )
    with NameServerProcess(tmp_path, command=(str(BIN / "mqnamesrv"), "-c", str(file))) as server:
        server.started()
        first, second = server.out.splitlines()
        assert first == f"load config properties file OK, {file}"
        assert second.startswith("The Name Server boot success.")
        server.logged("WARN main - ROCKETMQ_HOME is not set")
        assert "WARN main - listenport is not a property: did you mean listenPort?" in server.log
        shown = server.ask(319).body.decode().splitlines()
        assert "theirs=x" in shown
        assert f"kvConfigPath={tmp_path}/namesrv/kvConfig.json" in shown
        assert server.ask(100, namespace="a", key="b", value="c").code == 0
        assert (tmp_path / "namesrv" / "kvConfig.json").exists()
        assert server.stop() == 0
        assert server.err == "WARN listenport is not a property: did you mean listenPort?\n"


def test_a_port_in_use_says_what_to_do(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        with NameServerProcess(tmp_path, listen_port=port) as server:
            line = refused(server)
    assert line == (
        f"namekeeper: can't listen on 127.0.0.1:{port}: Address already in use;"
        " another process listens there: stop it, or set another listenPort\n"
    )


def test_an_address_of_another_machine_says_what_to_do(tmp_path):
    with NameServerProcess(tmp_path, bind_address="192.0.2.1") as server:
        assert "this machine has no such address: correct bindAddress" in refused(server)


@pytest.mark.skipif(not ipv6_loopback(), reason="this machine has no ::1")
@pytest.mark.parametrize("host", ["::1", "[::1]"])
def test_ipv6(tmp_path, host):
    with NameServerProcess(tmp_path, bind_address=host) as server:
        server.started()
        port = server.address.rpartition(":")[2]
        assert server.address == f"[::1]:{port}"
        with socket.create_connection(("::1", int(port)), 10):
            pass


@pytest.mark.parametrize(
    "text", ['{"configTable":{"a":', '{"configTable":[]}', "no JSON at all", '{"other":{}}']
)
def test_a_kv_file_that_makes_no_sense_is_refused_and_left_alone(tmp_path, text):
    file = tmp_path / "kv.json"
    file.write_text(text)
    with NameServerProcess(tmp_path) as server:
        line = refused(server)
    assert line.startswith(f"namekeeper: {file}: the KV configuration can't be read: ")
    assert line.endswith("; repair the file, or move it away to start empty\n")
    assert file.read_text() == text
    assert [path.name for path in tmp_path.glob("kv.json.*")] == ["kv.json.lock"]


def test_a_kv_file_that_can_not_be_read_is_refused(tmp_path):
    (tmp_path / "kv.json").mkdir()
    with NameServerProcess(tmp_path) as server:
        assert refused(server) == f"namekeeper: can't read the KV file {tmp_path}/kv.json: Is a directory\n"


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda file: file.mkdir(), "Is a directory"),
        (lambda file: None, "No such file or directory"),
        (lambda file: file.write_text("listenPort=1\\u12"), "properties"),
        (lambda file: file.write_text("listenPort=70000"), "listenPort=70000: must be from 0 to 65535"),
        (lambda file: file.write_text("enableControllerInNamesrv=true"), "namekeeper has no controller"),
    ],
    ids=["folder", "missing", "malformed", "out of range", "controller"],
)
def test_a_properties_file_that_can_not_be_used_is_refused_by_name(tmp_path, make, why):
    file = tmp_path / "my.properties"
    make(file)
    with NameServerProcess(tmp_path, "-c", str(file)) as server:
        line = refused(server)
    assert str(file) in line
    assert why in line


def test_a_log_folder_that_can_not_be_written_sends_the_log_to_stderr(tmp_path):
    (tmp_path / "file").touch()
    with NameServerProcess(tmp_path, log_root=str(tmp_path / "file" / "logs")) as server:
        server.started()
        assert server.ask(100, namespace="a", key="b", value="c").code == 0
        assert server.stop() == 0
    first, *rest = server.err.splitlines()
    assert first == f"namekeeper: can't log to {tmp_path}/file/logs (Not a directory): logging to stderr"
    text = "\n".join(rest)
    assert "INFO main - putKVConfig update config item, Namespace: a Key: b Value: c" in text
    assert "mqshutdown won't find this process" in text
    assert "Traceback" not in text


def test_bad_certificates_of_the_server_keep_tls_clients_out_only(tmp_path):
    flags = {
        "tls_test_mode_enable": "false",
        "tls_server_cert_path": "/no/c.pem",
        "tls_server_key_path": "/no/k.pem",
    }
    with NameServerProcess(tmp_path, **flags) as server:
        server.started()
        server.logged(
            "ERROR main - can't build the TLS context, TLS clients are turned away: the port of brokers and clients:"
            " tls.server.certPath=/no/c.pem can't be used"
        )
        assert server.ask(106).code == 0
        with pytest.raises(OSError, match=r"."):
            ask(server.address, 106, tls=True)


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        (
            {"tls_enable": "true", "tls_client_cert_path": "/no/c.pem", "tls_client_key_path": "/no/k.pem"},
            "tls.client.certPath=/no/c.pem can't be used",
        ),
        ({"tls_server_need_client_auth": "require"}, "needs tls.server.trustCertPath"),
        (
            {"tls_enable": "true", "tls_ciphers": "NO_SUCH_WITH_CIPHER"},
            "tls.ciphers has no cipher that OpenSSL knows",
        ),
    ],
    ids=["client certificate", "trust", "ciphers"],
)
def test_tls_settings_that_can_never_work_are_refused(tmp_path, flags, why):
    with NameServerProcess(tmp_path, tls_test_mode_enable="false", **flags) as server:
        assert why in refused(server)


@pytest.mark.parametrize("redirection", [">&-", "2>&-", "> /dev/full"])
def test_nobody_need_listen_to_what_it_says(tmp_path, redirection):
    command = (
        f'"{BIN}/namekeeper" serve --listen-port 0 --bind-address 127.0.0.1 --http-port -1 {redirection}'
    )
    with NameServerProcess(tmp_path, command=("sh", "-c", f"exec {command}")) as server:
        server.log_root = Path(tmp_path, "logs", "rocketmqlogs")
        server.logged("boot success")
        assert server.stop() == 0
    assert "Traceback" not in server.err
