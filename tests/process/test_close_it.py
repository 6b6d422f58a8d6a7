"""The way of close-it.md from open to strict, as it is written: each step, its way back, and no secret anywhere."""

import re
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

from namekeeper.access.signature import sign
from tests.process.running import PATIENCE_SECONDS, NameServerProcess, environment
from tests.support.documents.commands import Typist, commands_of
from tests.support.system.processes import eventually, free_port
from tests.support.system.waiting import PATIENCE
from tests.support.wire.ask import Answer, ask
from tests.support.wire.certificates import Certificates
from tests.unit.app.parts import registration

HOWTO = Path(__file__).parents[2] / "docs" / "howto"
OPERATOR, BROKER, STRANGER = "127.0.9.1", "127.0.1.7", "127.5.0.1"
KEYS = '[users]\nops = "key-of-ops"\nbroker-prod = {}\n'
OLD, NEW = "old-key-of-the-broker", "new-key-of-the-broker"
SECRETS = ("key-of-ops", OLD, NEW)


class Cluster:
    """A name server with the files of the how-to, its broker, an operator and a stranger, all on this host."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.rules, self.keys = folder / "access.toml", folder / "access-keys.toml"
        self.http_port = free_port()
        self.server = NameServerProcess(folder)
        self.version = 0

    def start(self, **flags: str) -> None:
        """Start it again, with other flags."""
        self.server.stop()
        self.server = NameServerProcess(self.folder, http_port=str(self.http_port), **flags).started()

    def write_rules(self, mode: str) -> None:
        example = (HOWTO / "access.toml").read_text().replace('"10.0.', '"127.0.')
        self.rules.write_text(example.replace('mode = "enforce"', f'mode = "{mode}"'))

    def write_keys(self, *of_the_broker: str) -> None:
        self.keys.write_text(KEYS.format(list(of_the_broker)))
        self.keys.chmod(0o600)

    def registers(self, key: str = "", source: str = BROKER) -> int:
        """The broker comes with something new; the code of the answer."""
        self.version += 1
        asked = registration(version=self.version, cluster_name="prod", name="prod-a", addr=f"{BROKER}:10911")
        fields = (
            sign(asked.ext_fields, asked.body, access_key="broker-prod", secret_key=key)
            if key
            else asked.ext_fields
        )
        return self.ask(103, source, asked.body, **fields).code

    def deletes(self, source: str = STRANGER) -> Answer:
        return self.ask(216, source, topic="T2")

    def ask(self, code: int, source: str, body: bytes = b"", **fields: str) -> Answer:
        return ask(self.server.address, code, body, source=source, timeout=PATIENCE_SECONDS, **fields)

    def page(self, path: str) -> str:
        with urllib.request.urlopen(
            f"http://127.0.0.1:{self.http_port}{path}", timeout=PATIENCE_SECONDS
        ) as found:
            return str(found.read().decode())

    def noted(self, what: str) -> int:
        """How many lines of the log say that a request would be refused."""
        return sum("audit only" in line and what in line for line in self.server.log.splitlines())


@pytest.fixture
def cluster(tmp_path: Path):
    made = Cluster(tmp_path)
    made.server.started()
    yield made
    made.server.stop()


def comes_true(fact: Callable[[], object], what: str) -> None:
    eventually(fact, within=PATIENCE_SECONDS, what=what)


@pytest.mark.timeout(240 * PATIENCE)
def test_a_running_cluster_is_closed_in_four_steps_and_each_is_taken_back(cluster: Cluster, tmp_path: Path):
    check, explain, _, audit = commands_of((HOWTO / "close-it.md").read_text())
    operator = Typist(
        environment(tmp_path),
        tmp_path,
        {"/etc/namekeeper/access.toml": str(cluster.rules), "10.0.1.7": BROKER},
    )
    said = []

    # 1. Rules are tried out; nothing is refused. Back: without the property.
    cluster.write_rules("audit")
    cluster.write_keys(OLD)
    for command, wanted in ((check, "can be used"), (explain, "allowed, by rule 'brokers of production'")):
        done = operator.types_in_process(command)
        assert (done.returncode, wanted in done.stdout) == (0, True), done
        said.append(done.stdout + done.stderr)
    cluster.start(access_file=str(cluster.rules))
    assert (cluster.registers(), cluster.deletes().code) == (0, 0)
    comes_true(lambda: cluster.noted("DELETE_TOPIC_IN_NAMESRV"), "a line about the stranger")
    cluster.start()
    assert (cluster.registers(), cluster.deletes().code) == (0, 0)
    cluster.start(access_file=str(cluster.rules))

    # 2. What would be refused is seen.
    before = cluster.noted("REGISTER_BROKER")
    assert (cluster.registers(), cluster.deletes().code) == (0, 0)
    comes_true(lambda: cluster.noted("REGISTER_BROKER") > before, "a line about the broker")
    counted = r'_access_refusals_total\{class="broker",mode="audit",rule="none"\} 1\.0'
    comes_true(lambda: re.search(counted, cluster.page("/metrics")), "a number of the same")

    # 3. The broker signs, and is no longer noted. Back: it does not.
    before = cluster.noted("REGISTER_BROKER")
    assert (cluster.registers(OLD), cluster.deletes().code) == (0, 0)
    assert cluster.registers() == 0
    comes_true(
        lambda: cluster.noted("REGISTER_BROKER") == before + 1, "one line, of the one that is not signed"
    )
    assert cluster.registers("a wrong key") == 0

    # 4. Rules are enforced. Back: mode audit.
    for mode, refused in (("enforce", 16), ("audit", 0), ("enforce", 16)):
        cluster.write_rules(mode)
        comes_true(lambda refused=refused: cluster.deletes().code == refused, f"mode {mode}")
    remark = cluster.deletes().remark
    shown = re.search(r"CODE: 16  DESC: (.*)", (HOWTO / "close-it.md").read_text())
    assert shown is not None
    who = re.compile(r"topics=\S+ of \S+ ")
    assert remark is not None
    assert who.sub("", remark) == who.sub("", shown[1])
    assert (cluster.registers(OLD), cluster.registers(), cluster.registers(OLD, STRANGER)) == (0, 16, 16)
    signed = sign({"brokerName": "prod-a"}, b"", access_key="ops", secret_key="key-of-ops")
    assert cluster.ask(205, OPERATOR, **signed).code == 0
    shown_config = cluster.ask(319, OPERATOR, **sign({}, b"", access_key="ops", secret_key="key-of-ops"))
    assert shown_config.code == 0

    # Keys change: both are right for a while.
    cluster.write_keys(NEW, OLD)
    comes_true(lambda: cluster.registers(NEW) == 0, "the new key")
    assert cluster.registers(OLD) == 0
    cluster.write_keys(NEW)
    comes_true(lambda: cluster.registers(OLD) == 16, "the end of the old key")
    assert cluster.registers(NEW) == 0

    # Who did what.
    pages = [cluster.page(path) for path in ("/metrics", "/status", "/")]
    cluster.server.stop()
    journals = tmp_path / "journal"
    done = operator.types(f"{audit} --journal {journals}")
    assert done.returncode == 0, done.stderr
    assert "allowed WIPE_WRITE_PERM_OF_BROKER (205) brokers=prod-a" in done.stdout
    assert "user ops by rule 'operators'" in done.stdout
    assert f"refused DELETE_TOPIC_IN_NAMESRV (216) topics=T2 from {STRANGER}:" in done.stdout

    # No secret is anywhere but in its file.
    said += [done.stdout, *pages, shown_config.body.decode(), remark]
    files = [file for file in tmp_path.rglob("*") if file.is_file() and file != cluster.keys]
    assert {file.name for file in files} >= {"namesrv.log", "stdout.txt", "stderr.txt", "access.toml"}
    said += [file.read_bytes().decode(errors="replace") for file in files]
    records = [
        operator.types_in_process(f"namekeeper journal cat {journal}").stdout
        for journal in journals.glob("[0-9]*")
    ]
    assert any('"user":"ops"' in text for text in records)
    said += records
    found = [(secret, text[:200]) for secret in SECRETS for text in said if secret in text]
    assert not found
    assert all("a wrong key" not in text for text in said)


PROPERTY = re.compile(r"^ {4}(tls\S+=\S+)$", re.MULTILINE)
RULE = re.compile(r"```toml\n(\[\[rule\]\]\nname = \"operators by certificate.*?)```", re.DOTALL)
PAGES = '[[rule]]\nname = "pages"\nrequests = ["http"]\ncertificates = ["DNS:ops.example"]\n'


@pytest.mark.timeout(120 * PATIENCE)
def test_an_operator_is_known_by_a_certificate_and_each_step_is_taken_back(tmp_path: Path):
    text = (HOWTO / "close-it.md").read_text()
    certificates = Certificates(tmp_path)
    there = {
        "server": certificates.issue("server", "127.0.0.1"),
        "ops": certificates.issue("ops", "ops.example"),
    }
    own = {name: str(path) for name, path in zip(("server.pem", "server.key"), there["server"], strict=True)}
    properties = dict(line.split("=", 1) for line in PROPERTY.findall(text))
    files = {**own, "ca.pem": str(certificates.trust)}
    flags = {
        re.sub(r"[.]|(?=[A-Z])", "_", name).lower(): files.get(value.rpartition("/")[2], value)
        for name, value in properties.items()
    }
    assert len(flags) == 6
    found = RULE.search(text)
    assert found is not None
    rules, http_port = tmp_path / "access.toml", free_port()
    rules.write_text(f'mode = "enforce"\n{found[1]}{PAGES}')
    pages = {
        "http_port": str(http_port),
        "http_tls_mode": "enforcing",
        "http_tls_need_client_auth": "optional",
    }
    command = commands_of(text)[2]
    cert, key = map(str, there["ops"])
    with NameServerProcess(tmp_path, access_file=str(rules), **flags, **pages) as server:
        instead = {
            "ns1:9876": server.started().address, "ca.pem": files["ca.pem"], "ops.pem": cert, "ops.key": key,
        }  # fmt: skip
        operator = Typist(environment(tmp_path), tmp_path, instead)
        assert operator.types(command).returncode == 0
        refused = operator.types_in_process(command.partition(" --tls-cert")[0])
        assert (refused.returncode == 0, "is refused: no rule" in refused.stderr) == (False, True)
        ask_pages = f"namekeeper audit --since '1 hour ago' --http https://127.0.0.1:{http_port} {command[command.index('--tls-ca') :]}"
        server.logged("operators' pages at https://")
        assert operator.types_in_process(ask_pages).returncode == 0
        assert "it answers 403" in operator.types_in_process(ask_pages.partition(" --tls-cert")[0]).stderr
        # Back: without the rule the certificate is worth nothing; then without TLS at the pages.
        rules.write_text('mode = "enforce"\n')
        comes_true(lambda: operator.types_in_process(command).returncode != 0, "the end of the rule")
        server.stop()
    plain = f"namekeeper audit --since '1 hour ago' --http 127.0.0.1:{http_port}"
    with NameServerProcess(tmp_path, access_file=str(rules), http_port=str(http_port)) as server:
        server.started().logged("operators' pages at http://")
        assert Typist(environment(tmp_path), tmp_path, {}).types_in_process(plain).returncode == 0
