"""Killed at any time, a name server leaves a journal with everything that it had published as durable."""

import contextlib
import json
import random
import threading
import urllib.request
from pathlib import Path

import pytest

from namekeeper.journal.disk.heard_file import load_heard
from namekeeper.journal.reading.verify import verify
from tests.process.running import NameServerProcess
from tests.support.system.processes import eventually, free_port
from tests.support.system.waiting import PATIENCE
from tests.support.wire.ask import ask
from tests.unit.app.parts import registration
from tests.unit.journal.disk_parts import records_in


class Load:
    """Changes the KV configuration and registers brokers until the server is gone; notes what it publishes."""

    def __init__(self, server: NameServerProcess, http_port: int, first: int) -> None:
        self.number = first
        self.confirmed: list[int] = []
        self.durable: list[tuple[int, int]] = []
        self._is_over = threading.Event()
        self._address = server.address
        self._url = f"http://127.0.0.1:{http_port}/status"
        self._threads = [threading.Thread(target=work) for work in (self._change, self._look)]
        for thread in self._threads:
            thread.start()

    def _change(self) -> None:
        try:
            while True:
                self.number += 1
                fields = {"namespace": "ns", "key": f"k{self.number % 7}", "value": str(self.number)}
                assert ask(self._address, 100, **fields).code == 0
                self.confirmed.append(self.number)
                asked = registration(20, version=self.number)
                ask(self._address, asked.code, asked.body, **asked.ext_fields)
        except OSError:
            pass  # it was killed

    def _look(self) -> None:
        while not self._is_over.wait(0.02):
            with contextlib.suppress(
                OSError
            ):  # the page comes a moment after the port, and goes with the server
                with urllib.request.urlopen(self._url, timeout=5 * PATIENCE) as page:
                    journal = json.load(page)["journal"]
                if journal is not None and journal["boot"]:
                    self.durable.append((journal["boot"], journal["durable_seq"]))

    def join(self) -> None:
        self._is_over.set()
        for thread in self._threads:
            thread.join()


def check(folder: Path, load: Load) -> None:
    """What was published is there; changes are whole, in order, up to one position; `verify` says the same."""
    records = records_in(folder)
    boot, durable = max(load.durable)
    seqs = [record["seq"] for record in records if record["boot"] == boot]
    assert seqs == list(range(1, len(seqs) + 1))
    assert len(seqs) >= durable
    written = [
        int(r["value"]) for r in records if r["boot"] == boot and r["kind"] == "kv" and "checkpoint" not in r
    ]
    assert written == sorted(written)
    assert set(written) <= {*load.confirmed, load.number}
    report = verify(str(folder))
    assert report.lost_records == 0
    assert {problem.what for problem in report.problems} <= {
        "torn: no line feed ends it", "of an incomplete change: its end is missing",
        "of an incomplete change: a broken line comes before its end",
    }  # fmt: skip
    assert not report.is_complete
    assert not report.boots[-1].is_stopped


@pytest.mark.parametrize("rounds", [2, pytest.param(6, marks=pytest.mark.long)])
def test_kill_9_at_any_time(tmp_path, rounds):
    chance = random.Random(5)
    port, http_port = free_port(), free_port()
    flags = {
        "listen_port": str(port), "http_port": str(http_port), "journal_namesrv_id": "ns",
        "journal_segment_bytes": "30000", "journal_fsync_interval_ms": "50",
    }  # fmt: skip
    folder = tmp_path / "journal" / str(port)
    number = 0
    for _ in range(rounds):
        with NameServerProcess(tmp_path, **flags) as server:
            server.started()
            load = Load(server, http_port, number)
            wanted = chance.randint(5, 60)
            eventually(
                lambda load=load, wanted=wanted: len(load.confirmed) >= wanted and load.durable,
                within=60, what="changes and a published number",
            )  # fmt: skip
            server.kill()
            load.join()
        check(folder, load)
        number = load.number
    with NameServerProcess(tmp_path, **flags) as server:
        assert server.started().stop() == 0
    report = verify(str(folder))
    assert len(report.boots) == rounds + 1
    assert all(boot.complete_checkpoints >= 1 for boot in report.boots)
    assert [boot.is_stopped for boot in report.boots] == [False] * rounds + [True]
    assert (report.lost_records, report.problems) == (0, [])


def test_a_killed_server_is_known_to_have_run_after_its_last_record(tmp_path):
    """So that its restart is not counted from that record."""
    flags = {"listen_port": str(free_port()), "journal_namesrv_id": "ns"}
    folder = tmp_path / "journal" / flags["listen_port"]
    with NameServerProcess(tmp_path, **flags) as server:
        server.started()
        records = eventually(lambda: records_in(folder), within=20, what="records")
        eventually(
            lambda: load_heard(str(folder)).ts > records[-1]["ts"] + 1_000, within=20, what="it went on"
        )
        server.kill()
    alive = load_heard(str(folder))
    with NameServerProcess(tmp_path, **flags) as server:
        assert server.started().stop() == 0
    records = records_in(folder)
    started = [record for record in records if record["kind"] == "server_started"][1]
    before = [record for record in records if record["boot"] < started["boot"]]
    assert (started["previous_seq"], started["previous_alive_ts"]) == (before[-1]["seq"], alive.ts)
    assert before[-1]["ts"] <= alive.ts < started["ts"]


def test_an_orderly_stop_leaves_a_whole_journal_and_the_next_start_goes_on(tmp_path):
    port = free_port()
    for _ in range(2):
        with NameServerProcess(tmp_path, listen_port=str(port)) as server:
            address = server.started().address
            ask(address, 100, namespace="a", key="b", value="c")
            assert server.stop() == 0
            assert server.err == ""
    report = verify(str(tmp_path / "journal" / str(port)))
    assert report.is_complete
    assert len(report.boots) == 2


def test_two_processes_on_one_folder_both_route_and_one_has_the_journal(tmp_path):
    shared = str(tmp_path / "shared")
    with NameServerProcess(tmp_path / "a", journal_path=shared) as first:
        first.started().logged(f"writes to {shared}")
        with NameServerProcess(tmp_path / "b", journal_path=shared) as second:
            second.started().logged(f"no journal: {shared} is in use by process {first.pid}")
            assert f"namekeeper: no journal: {shared} is in use by process {first.pid}" in second.err
            assert second.ask(106).code == 0
            assert second.stop() == 0
        assert first.ask(106).code == 0
        assert first.stop() == 0
    assert verify(shared).is_complete


@pytest.mark.parametrize("what", ["a file", "somebody's data"])
def test_a_journal_that_can_not_be_stops_no_routing(tmp_path, what):
    path = tmp_path / "there"
    if what == "a file":
        path.touch()
    else:
        path.mkdir()
        (path / "data").touch()
    with NameServerProcess(tmp_path / "server", journal_path=str(path)) as server:
        server.started().logged("no journal: ")
        assert server.ask(106).code == 0
        assert server.stop() == 0
        assert server.log.count(" ERROR ") == 1
