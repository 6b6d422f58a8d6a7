"""Lines of RocketMQ's quickstart, of its image and of compose files, literally, with our commands first on the PATH.

Only the port is another one. Topics are made by a broker, which `updatetopic` would ask; a registrar of ours is there
instead. The folder of the commands is laid out as RocketMQ's: `bin` is a link to it.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from namekeeper.broker.blocking import BlockingBrokerRegistrar
from namekeeper.broker.settings import BrokerSettings
from namekeeper.model.topic import TopicConfig
from tests.process.running import BIN
from tests.support.system.processes import eventually, free_port
from tests.support.system.waiting import PATIENCE

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
START = [
    "nohup sh bin/mqnamesrv &",
    "nohup sh bin/mqnamesrv > nohup.out 2>&1 &",
    "nohup sh mqnamesrv -n localhost:9876 &",
    "cd bin && nohup sh mqnamesrv &",
    "cd bin && nohup ./mqnamesrv &",
    "cd bin && sh mqnamesrv >/dev/null 2>&1 &",
    "bash -c 'cd bin && ./mqnamesrv' &",
    "nohup $ROCKETMQ_HOME/bin/mqnamesrv -c conf/namesrv.conf &",
]
ASK = [
    ("sh bin/mqadmin clusterList -n localhost:9876", "broker-a"),
    ("bin/mqadmin clusterList -n localhost:9876", "broker-a"),
    ("sh mqadmin clusterlist -n 'localhost:9876'", "broker-a"),
    ("export NAMESRV_ADDR=localhost:9876; sh bin/mqadmin topicList", "TopicTest"),
    ("mqadmin topicList -n localhost:9876", "TopicTest"),
    ("sh bin/mqadmin topicRoute -n localhost:9876 -t TopicTest", '"brokerName":"broker-a"'),
    ("cd bin && ./mqadmin topicRoute -t TopicTest -n localhost:9876", '"brokerName":"broker-a"'),
    ("bash -c 'cd bin && ./mqadmin topicroute -nlocalhost:9876 -t TopicTest'", '"brokerName":"broker-a"'),
    ("sh bin/mqadmin getNamesrvConfig --namesrvAddr=localhost:9876", "listenPort"),
    ("sh bin/mqadmin wipeWritePerm -b broker-a -n localhost:9876", "OK"),
    (
        "sh bin/mqadmin updateKvConfig -s ORDER_TOPIC_CONFIG -k TopicTest -v broker-a:4 -n localhost:9876",
        "success",
    ),
    ("sh bin/mqadmin help topicRoute", "topicRoute"),
    ("sh bin/mqadmin", "The most commonly used mqadmin commands are:"),
]
"""A command and what it prints."""


def laid_out(folder: Path):
    """A home as RocketMQ's archive makes it, and a shell in it."""
    home = folder / "rocketmq-5.3.2"
    installed = home.parent / "venv" / "bin"
    installed.mkdir(parents=True)
    for name in ("mqadmin", "mqnamesrv", "mqshutdown"):
        shutil.copy(SCRIPTS / name, installed / name)
    (installed / "namekeeper").symlink_to(BIN / "namekeeper")
    (home / "conf").mkdir(parents=True)
    (home / "bin").symlink_to(installed)
    (home / "conf" / "namesrv.conf").write_text("listenPort=9999\n")
    port = free_port()
    environment = {
        "PATH": f"{home / 'bin'}:/usr/bin:/bin", "HOME": str(home.parent), "ROCKETMQ_HOME": str(home),
        "NAMEKEEPER_LISTEN_PORT": str(port), "NAMEKEEPER_BIND_ADDRESS": "127.0.0.1", "NAMEKEEPER_HTTP_PORT": "-1",
        "NAMEKEEPER_TLS_CONFIG_FILE": os.devnull,
    }  # fmt: skip

    def shell(line: str) -> subprocess.CompletedProcess[str]:
        # A process behind & holds the output open: it goes into files.
        with (home / "out").open("w") as out, (home / "err").open("w") as err:
            done = subprocess.run(
                ["sh", "-c", line.replace("localhost:9876", f"127.0.0.1:{port}")], cwd=home, env=environment, stdout=out,
                stderr=err, stdin=subprocess.DEVNULL, timeout=60 * PATIENCE, check=False,
            )  # fmt: skip
        return subprocess.CompletedProcess(
            line, done.returncode, (home / "out").read_text(), (home / "err").read_text()
        )

    shell.log = home.parent / "logs" / "rocketmqlogs" / "namesrv.log"
    shell.namesrv = f"127.0.0.1:{port}"
    return shell


@pytest.fixture
def rocketmq(tmp_path):
    """A home of its own for each start, so that no other server runs there."""
    shell = laid_out(tmp_path)
    yield shell
    shell("sh bin/mqshutdown namesrv")


def started(shell, line: str) -> None:
    shell.log.unlink(missing_ok=True)
    if "sh mqnamesrv -n" in line:
        line = f"cd bin && {line}"
    assert shell(line).returncode == 0
    eventually(
        lambda: shell.log.exists() and "boot success" in shell.log.read_text(),
        within=60,
        what="tail -f namesrv.log",
    )


def stopped(shell, line: str = "sh bin/mqshutdown namesrv") -> None:
    done = shell(line)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].endswith("OK")


@pytest.mark.parametrize("line", START)
def test_a_name_server_starts_and_stops_as_the_quickstart_writes_it(rocketmq, line):
    started(rocketmq, line)
    stopped(rocketmq)
    assert rocketmq("sh bin/mqshutdown namesrv").stdout == "No mqnamesrv running.\n"


@pytest.fixture(scope="module")
def with_broker(tmp_path_factory):
    rocketmq = laid_out(tmp_path_factory.mktemp("rocketmq"))
    started(rocketmq, START[0])
    settings = BrokerSettings(
        broker_name="broker-a", broker_addr="127.0.0.1:10911", ha_server_addr="127.0.0.1:10912",
        namesrv_addr=rocketmq.namesrv,
    )  # fmt: skip
    with BlockingBrokerRegistrar(settings, [TopicConfig("TopicTest", 4, 4), TopicConfig("Other", 4, 4)]):
        yield rocketmq
    stopped(rocketmq, "cd bin && sh ./mqshutdown namesrv")


@pytest.mark.parametrize(("line", "printed"), ASK)
def test_mqadmin_answers_as_the_quickstart_writes_it(with_broker, line, printed):
    if line.startswith("sh mqadmin"):
        line = f"cd bin && {line}"
    done = with_broker(line)
    assert done.returncode == 0, done.stderr
    assert printed in done.stdout
