"""On a small, hardened, anonymous host: no HOME, no passwd entry, no writable root, nothing to run in /tmp, no time
zone data and a host name that leads nowhere. Needs root, which makes such a host in namespaces of its own."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.process.running import BIN
from tests.support.system.namespaces import why_no_namespaces
from tests.support.system.processes import eventually
from tests.support.system.waiting import PATIENCE

pytestmark = pytest.mark.waits

HOST = r"""
mount --make-rprivate /
mount --bind "$DATA" /mnt
mount --bind "$REPOSITORY" /srv
[ ! -d /usr/share/zoneinfo ] || mount -t tmpfs tmpfs /usr/share/zoneinfo
mount -o remount,bind,ro /
mount -t tmpfs -o noexec,mode=1777 tmpfs /tmp
case $REPOSITORY/ in /tmp/*) mkdir -p "$REPOSITORY"; mount --bind /srv "$REPOSITORY" ;; esac
hostname bare.invalid
exec unshare --user --map-user=54321 --map-group=54321 env -i PATH=/usr/bin:/bin "$@"
"""
REPOSITORY = Path(__file__).resolve().parents[2]
UNSHARE = ["unshare", "--mount", "--uts"]
BOOT = re.compile(r"boot success.*address (\S+)")

BROKER_AND_CLIENT = """
import asyncio, os, sys
from namekeeper.broker.registrar import BrokerRegistrar
from namekeeper.broker.settings import BrokerSettings
from namekeeper.client import ClientConfig, MQClientInstance
from namekeeper.model.topic import TopicConfig

async def main(namesrv):
    settings = BrokerSettings(
        broker_name="broker-a", broker_addr="127.0.0.1:10911", ha_server_addr="127.0.0.1:10912", namesrv_addr=namesrv,
    )
    async with BrokerRegistrar(settings, [TopicConfig("orders", 4, 4)]):
        async with MQClientInstance(ClientConfig(namesrv_addr=namesrv)) as client:
            print((await client.topic_route("orders")).broker_datas[0].broker_addrs[0], os.getuid())

asyncio.run(main(sys.argv[1]))
"""


def why_not() -> str:
    """Why such a host can't be made here; empty if it can."""
    probe = "mount --make-rprivate /; exec unshare --user --map-user=54321 true"
    return why_no_namespaces(("unshare",), [*UNSHARE, "sh", "-ec", probe])


@pytest.fixture(scope="module", autouse=True)
def _possible():
    if reason := why_not():
        pytest.skip(reason)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """The only folder that can be written to; it is /mnt there."""
    folder = tmp_path_factory.mktemp("data")
    folder.chmod(0o755)
    (folder / "namesrv.properties").write_text(
        "listenPort=0\nbindAddress=127.0.0.1\nhttpPort=-1\ntls.config.file=\nkvConfigPath=/mnt/kv.json\n"
        "logRoot=/mnt/log\njournalPath=/mnt/journal\n"
    )
    return folder


def command(data: Path, *words: object) -> tuple[list[str], dict[str, str]]:
    environment = {**os.environ, "DATA": str(data), "REPOSITORY": str(REPOSITORY)}
    return [*UNSHARE, "sh", "-ec", HOST, "sh", *map(str, words)], environment


def run(data: Path, *words: object) -> subprocess.CompletedProcess[str]:
    arguments, environment = command(data, *words)
    done = subprocess.run(
        arguments, env=environment, cwd="/", stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=200 * PATIENCE, check=False,
    )  # fmt: skip
    assert "Traceback" not in done.stdout + done.stderr
    return done


@pytest.fixture(scope="module")
def story(data):
    """A server that ran there, with a broker and a client that came and went; returns what the client printed."""
    arguments, environment = command(data, BIN / "mqnamesrv", "-c", "/mnt/namesrv.properties")
    with (data / "out").open("wb") as out:
        server = subprocess.Popen(
            arguments, env=environment, cwd="/", stdout=out, stderr=out, stdin=subprocess.DEVNULL
        )
        try:
            eventually(
                lambda: server.poll() is not None or BOOT.search((data / "out").read_text()),
                within=60,
                what="the boot line",
            )
            found = BOOT.search((data / "out").read_text())
            assert found, (data / "out").read_text()
            printed = run(data, sys.executable, "-c", BROKER_AND_CLIENT, found[1]).stdout
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(60 * PATIENCE)
    assert server.returncode == 0, (data / "out").read_text()
    return printed


def test_a_server_a_registrar_and_a_client_work(story):
    assert story == "127.0.0.1:10911 54321\n"


@pytest.mark.parametrize("zone", [[], ["--zone", "+01:00"]])
def test_why_answers_from_the_journal(story, data, zone):
    done = run(data, BIN / "namekeeper", "why", "orders", "--journal", "/mnt/journal", *zone)
    assert (done.returncode, done.stderr) == (0, "")
    assert "the name server was not running" in done.stdout


def test_a_command_that_needs_a_home_says_what_to_give_instead(data):
    for words in (["namekeeper", "why", "orders"], ["mqshutdown", "namesrv"], ["mqnamesrv"]):
        done = run(data, BIN / words[0], *words[1:])
        assert done.returncode != 0
        assert "HOME is not set, and uid 54321 is in no passwd file" in done.stderr


def test_spark_starts_and_the_doctor_says_what_is_special(data):
    done = run(data, BIN / "namekeeper", "pipeline", "doctor")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "uid 54321 has no passwd entry" in done.stdout
    assert "mounted with noexec" in done.stdout
    assert "spark: started and answered" in done.stdout


@pytest.mark.long
def test_a_run_of_the_pipeline_makes_tables_that_can_be_asked(story, data):
    """In the nightly run; that Spark starts there is shown above, and runs are Spark's tests."""
    done = run(
        data, BIN / "namekeeper", "pipeline", "run", "--journal", "/mnt/journal", "--warehouse", "/mnt/wh"
    )
    assert done.returncode == 0, done.stdout + done.stderr
    asked = run(data, BIN / "namekeeper", "history", "orders", "--warehouse", "/mnt/wh")
    assert asked.returncode == 0, asked.stderr
    assert "broker-a" in asked.stdout
