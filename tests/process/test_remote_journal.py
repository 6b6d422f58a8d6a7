"""A running name server is asked about the past over the network, by its own address or by its pages'."""

import subprocess
import sys
from pathlib import Path

from namekeeper.wire.codec import encode_command
from tests.process.running import NameServerProcess, environment, holding
from tests.support.system.processes import eventually, free_port
from tests.support.wire.ask import ask
from tests.unit.app.parts import registration


def test_why_asks_a_running_server_for_its_journal(tmp_path: Path):
    pages = f"127.0.0.1:{free_port()}"
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()

    def says(text: str, *words: str) -> bool:
        command = [sys.executable, "-m", "namekeeper", "why", "orders", *words]
        done = subprocess.run(
            command, capture_output=True, text=True, env=environment(elsewhere), cwd=elsewhere, check=False
        )
        return done.returncode == 0 and text in done.stdout

    with NameServerProcess(tmp_path / "ns", http_port=pages.rpartition(":")[2]) as server:
        server.started()
        with holding(server.address, encode_command(registration(("orders", "payments")))):
            for source in (("-n", server.address), ("--http", pages)):
                eventually(
                    lambda source=source: says("it had a route", *source), within=60, what="the route of now"
                )
            assert ask(server.address, 216, topic="orders").code == 0
            eventually(
                lambda: says("the topic was deleted by 127.0.0.1:", "-n", server.address),
                within=60, what="the cause",
            )  # fmt: skip
        assert server.stop() == 0
