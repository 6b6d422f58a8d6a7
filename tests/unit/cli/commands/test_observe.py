"""`namekeeper observe`: what is observed by options or a file, what is printed, exit codes, bad input."""

import asyncio
import json
import signal
import threading

import msgspec
import pytest
from click.testing import CliRunner
from msgspec import structs

from namekeeper.cli.commands import observe as command
from namekeeper.cli.group import namekeeper
from namekeeper.daemon_threads import DaemonThreads
from namekeeper.journal.disk.heard_file import HeardTimes, save_heard
from namekeeper.observe.config import ShadowSettings
from namekeeper.observe.departed import DepartedJournals
from namekeeper.observe.observer import ObserverState, ObserverStatus
from namekeeper.remoting.address import Address
from namekeeper.remoting.client import RemotingClient
from tests.support.system.loops import virtual_time
from tests.unit.answers.story import Story


@pytest.fixture
def made(monkeypatch):
    """What would have been observed; the process does not stay."""
    found = []

    class Observers:
        def __init__(self, observing, open_sender, *, clock, on_change, on_removed):
            found.append((observing, open_sender, on_change))
            self.departed = DepartedJournals(observing.journal, 0, {"a_1"}.__contains__, clock)

    async def run(observers, shadows, companion, status_file):
        found.append(companion)
        found.append(status_file)
        found.extend(shadows)

    monkeypatch.setattr(command, "Observers", Observers)
    monkeypatch.setattr(command, "_run", run)
    monkeypatch.setattr(command, "spare_the_collector", lambda: None)
    return found


def run(*arguments, env=None):
    return CliRunner().invoke(namekeeper, ["observe", *arguments], env=env)


def refused(result):
    assert result.exit_code == 2, result.output
    assert "Traceback" not in result.output
    (line,) = result.stderr.splitlines()
    return line


def test_the_options_name_the_name_servers(made, tmp_path):
    result = run("-n", "a:9876;b:9877", "--journal", str(tmp_path / "j"), "--budget", "0.5")
    assert result.exit_code == 0, result.output
    (observing, _, _), companion, status_file = made
    assert companion is not None
    (cluster,) = observing.clusters
    assert cluster.name_servers == (Address("a", 9876), Address("b", 9877))
    assert observing.rates.budget == 0.005
    assert status_file == tmp_path / "j" / ".observe.json"
    assert (tmp_path / "j").is_dir()


def test_the_log_is_that_of_the_only_name_server(made, tmp_path):
    log = str(tmp_path / "namesrv.log")
    assert run("-n", "a:9876", "--journal", str(tmp_path), "--log", log).exit_code == 0
    (cluster,) = made[0][0].clusters
    assert cluster.logs == {Address("a", 9876): log}


def test_a_shadow_runs_beside_the_name_servers(made, tmp_path):
    words = (
        "-n",
        "a:9876",
        "--journal",
        str(tmp_path),
        "--shadow",
        "9877",
        "--shadow-config",
        "my.properties",
    )
    assert run(*words).exit_code == 0
    (observing, *_), _, _, shadow = made
    assert observing.clusters[0].shadow == ShadowSettings(9877, "my.properties")
    assert shadow.id == "shadow"


def test_each_cluster_of_a_file_may_have_a_shadow(made, tmp_path):
    file = tmp_path / "observe.toml"
    file.write_text(
        'journal = "j"\n[clusters.east]\nname_servers = ["a:1"]\nshadow_port = 9877\n'
        '[clusters.west]\nname_servers = ["b:1"]\n'
    )
    assert run("-c", str(file)).exit_code == 0
    assert [each.id for each in made[3:]] == ["east.shadow"]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("-n", "a:1", "--journal", "{}", "--shadow-config", "f"), "give --shadow PORT"),
        (("--with-journal", "{}", "--shadow", "9877"), "--shadow needs name servers to compare it with"),
        (("-c", "{}/observe.toml", "--shadow", "9877"), "leave out"),
        (("-c", "{}/observe.toml", "--shadow-config", "f"), "leave out"),
        (("-n", "a:1", "--journal", "{}", "--shadow", "70000"), "70000"),
    ],
)
def test_a_shadow_that_can_not_run_is_refused(tmp_path, words, reason):
    result = run(*(word.format(tmp_path) for word in words))
    assert result.exit_code == 2
    assert reason in result.stderr


def test_the_name_servers_of_the_environment_count_where_none_are_given(made, tmp_path):
    environment = {"NAMESRV_ADDR": "e:9876"}
    run("--journal", str(tmp_path), env=environment)
    run("--journal", str(tmp_path), "--discover", "d:9876", env=environment)
    run("--journal", str(tmp_path), "--discover", "d:9876", "-n", "n:9876", env=environment)
    clusters = [observing.clusters[0] for observing, *_ in (one for one in made if isinstance(one, tuple))]
    assert [cluster.name_servers for cluster in clusters] == [
        (Address("e", 9876),),
        (),
        (Address("n", 9876),),
    ]
    assert [len(cluster.discover) for cluster in clusters] == [0, 1, 1]


def test_a_file_names_several_clusters(made, tmp_path):
    file = tmp_path / "observe.toml"
    file.write_text(
        'journal = "j"\n[clusters.a]\nname_servers = ["a:1"]\n[clusters.b]\nname_servers = ["b:1"]\n'
    )
    assert run("-c", str(file)).exit_code == 0
    observing = made[0][0]
    assert ([cluster.label for cluster in observing.clusters], observing.journal) == (
        ["a", "b"],
        str(tmp_path / "j"),
    )


def test_a_cluster_is_reached_with_its_keys_and_over_tls(made, tmp_path):
    (tmp_path / "secret").write_text("s3cret\n")
    file = tmp_path / "observe.toml"
    file.write_text(
        '[clusters.a]\nname_servers = ["a:1"]\ntls = true\naccess_key = "k"\nsecret_key_file = "secret"\n'
    )
    assert run("-c", str(file), "--journal", str(tmp_path)).exit_code == 0
    observing, open_sender, _ = made[0]

    async def opened():
        async with open_sender(observing.clusters[0]) as sender:
            return sender

    sender = asyncio.run(opened())
    assert isinstance(sender, RemotingClient)
    assert sender._tls is not None
    assert sender._rpc_hook is not None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--journal", "j"], "which name servers?"),
        (["-n", "a:1"], "give --journal DIR"),
        (["-n", "a", "--journal", "j"], "address 'a' can't be used"),
        (["-n", "a:1", "--journal", "/dev/null/j"], "/dev/null"),
        (["-c", "/nowhere.toml", "--journal", "j"], "/nowhere.toml does not exist"),
        (["-c", ".", "--journal", "j"], "not a regular file"),
        (["-c", "/nowhere.toml", "--discover", "a:1"], "leave out"),
        (["-c", "/nowhere.toml", "--tls"], "leave out"),
        (["-c", "/nowhere.toml", "--log", "l"], "leave out"),
        (["-n", "a:1;b:1", "--journal", "j", "--log", "l"], "of several, name the files in -c FILE"),
        (["--discover", "a:1", "--journal", "j", "--log", "l"], "of several, name the files in -c FILE"),
        (["--status"], "give --journal DIR"),
        (["--status", "--journal", "/nowhere"], "no observer writes there now"),
    ],
)
def test_what_cannot_be_used_is_one_line(made, arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert message in refused(run(*arguments))


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"[clusters.a]\nname_servers = [1]\n", b"x"])
def test_a_file_that_is_no_toml_of_ours_is_one_line(made, tmp_path, content):
    file = tmp_path / "observe.toml"
    file.write_bytes(content)
    assert str(file) in refused(run("-c", str(file), "--journal", str(tmp_path)))


def test_an_empty_secret_is_refused(made, tmp_path):
    (tmp_path / "secret").write_text("\n")
    file = tmp_path / "observe.toml"
    file.write_text('[clusters.a]\nname_servers = ["a:1"]\naccess_key = "k"\nsecret_key_file = "secret"\n')
    assert "secret must hold one line" in refused(run("-c", str(file), "--journal", str(tmp_path)))


STATUS = {
    "ns": {
        "addr": "a:1", "state": "observed", "reason": "", "answered_at": 1, "restart": "possible", "brokers": 2,
        "topics": 3, "unread": 0, "requests": 7, "cost_us": 2_300_000, "refused": {"319": "no"},
        "windows": {"members_ms": 6_000, "topics_ms": 9_000, "queues_ms": 65_000, "kv_ms": 1, "config_ms": 1},
        "journal": {"folder": "j/ns", "boot": 1, "last_seq": 9, "trouble": "the disk is full", "dropped_records": 0},
    }
}  # fmt: skip


def test_the_status_says_the_windows_and_what_is_wrong(tmp_path):
    (tmp_path / ".observe.json").write_text(json.dumps(STATUS))
    result = run("--status", "--journal", str(tmp_path))
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines() == [
        "ns: observed: 2 brokers, 3 topics",
        "  windows: brokers 6 s, topics 9 s, queues and permissions 1 min 5 s",
        "  7 requests, about 2.3 s of its processor",
        "  request 319 is refused: no",
        "  journal: j/ns: not recording: the disk is full",
    ]
    assert json.loads(run("--status", "--json", "--journal", str(tmp_path)).stdout) == STATUS


def test_the_status_says_how_long_the_first_reading_takes_and_that_a_sweep_is_late():
    status = msgspec.convert(STATUS["ns"], ObserverStatus)
    left = structs.replace(
        status, state=ObserverState.READING, topics=100_000, unread=60_000, reading_ms=1_003_401
    )
    assert next(command._lines("ns", left)) == (
        "ns: reading: 60,000 of 100,000 topics left, about 16 min 43 s within the budget"
    )
    late = structs.replace(status, oldest_ms=125_004)
    assert "  late: queues and permissions of a topic were last read 2 min 5 s ago" in command._lines(
        "ns", late
    )


@pytest.mark.parametrize(
    ("trouble", "line"),
    [("", "  log: l: 3 causes"), ("l: no such file or directory", "  log: l: no such file or directory")],
)
def test_the_status_says_whether_the_log_is_read(tmp_path, trouble, line):
    log = {"path": "l", "trouble": trouble, "entries": 3, "skipped_bytes": 0}
    status = {"ns": {**STATUS["ns"], "log": log}}
    (tmp_path / ".observe.json").write_text(json.dumps(status))
    assert line in run("--status", "--journal", str(tmp_path)).stdout.splitlines()


def test_an_old_status_is_called_old(tmp_path):
    import os

    file = tmp_path / ".observe.json"
    file.write_text(json.dumps(STATUS))
    os.utime(file, (1_000_000_000, 1_000_000_000))
    assert "old: no observer writes there now" in run("--status", "--journal", str(tmp_path)).stderr


def test_a_status_that_is_broken_is_one_line(tmp_path):
    (tmp_path / ".observe.json").write_text("{")
    assert ".observe.json is not valid" in refused(run("--status", "--journal", str(tmp_path)))


async def test_the_status_is_taken_on_the_event_loop(tmp_path):
    """Another thread looked at the observers while they came and went, and no status was written any more."""
    taken_by = asyncio.Queue()
    loop = asyncio.get_running_loop()

    class Observers:
        def status(self):
            loop.call_soon_threadsafe(taken_by.put_nowait, threading.current_thread())
            return {}

    writing = asyncio.create_task(
        command._write_status(Observers(), tmp_path / "status", DaemonThreads("status", 1))
    )
    assert await taken_by.get() is threading.current_thread()
    writing.cancel()
    await asyncio.gather(writing, return_exceptions=True)


@virtual_time
async def test_a_stop_does_not_wait_for_a_status_file_on_a_disk_that_hangs(tmp_path, monkeypatch):
    loop, may_end = asyncio.get_running_loop(), threading.Event()

    class Observers:
        async def run(self):
            await asyncio.Event().wait()

        def status(self):
            return {}

    def hang(_status, _file):
        loop.call_soon_threadsafe(signal.raise_signal, signal.SIGTERM)
        may_end.wait()

    monkeypatch.setattr(command, "_save_status", hang)
    try:
        await command._run(Observers(), [], None, tmp_path / "status")
    finally:
        may_end.set()
    assert not (tmp_path / "status").exists()


def test_journals_of_our_name_servers_need_no_name_server_to_observe(made, tmp_path):
    environment = {"NAMESRV_ADDR": "e:9876"}
    assert run("--with-journal", "a", "--with-journal", "b", env=environment).exit_code == 0
    (observing, _, _), companion, status_file = made
    assert (observing.clusters, observing.with_journals) == ((), ("a", "b"))
    assert companion is not None
    assert status_file is None


def test_a_file_may_name_journals_of_our_name_servers(made, tmp_path):
    file = tmp_path / "observe.toml"
    file.write_text('with_journals = ["own"]\n')
    assert run("-c", str(file), "--with-journal", "more").exit_code == 0
    assert made[0][0].with_journals == (str(tmp_path / "own"), "more")


MESSAGES = """outbox = "outbox"
[{0}receivers.ops]
type = "webhook"
url_env = "OPS"
"""


def test_messages_are_a_file_or_a_table_of_the_file(made, tmp_path):
    messages, file = tmp_path / "messages.toml", tmp_path / "observe.toml"
    messages.write_text(MESSAGES.format(""))
    env = {"OPS": "http://127.0.0.1:1/"}
    words = ("-n", "a:1", "--journal", str(tmp_path / "j"), "--port", "-1", "--messages", str(messages))
    assert run(*words, env=env).exit_code == 0
    file.write_text('with_journals = ["own"]\n[messages]\n' + MESSAGES.format("messages."))
    assert run("-c", str(file), "--port", "-1", env=env).exit_code == 0
    assert [each for each in made[1::3] if each is None] == []
    assert "leave out --messages" in refused(run("-c", str(file), "--messages", str(messages), env=env))
    assert "the environment variable OPS is not set" in refused(run("-c", str(file)))
    file.write_text('with_journals = ["own"]\n[messages]\noutbox = "o"\n')
    assert "needs 1 to 20" in refused(run("-c", str(file)))


def test_a_name_server_that_is_gone_for_long_is_not_on_the_page_and_one_that_is_observed_is(made, tmp_path):
    for name in ("a_1", "gone_1"):
        story = Story(name)
        story.registers()
        save_heard(story.folder(tmp_path / name), HeardTimes(0, [], ts=story.now, is_observed=True))
    assert run("-n", "a:1", "--journal", str(tmp_path), "--port", "0").exit_code == 0
    assert [each.namesrv for each in made[1].histories.all] == ["a_1"]


def test_without_a_page_nobody_reads_the_journals(made, tmp_path):
    assert run("-n", "a:1", "--journal", str(tmp_path), "--port", "-1").exit_code == 0
    assert made[1] is None
