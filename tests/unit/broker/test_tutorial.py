"""docs/tutorial-broker.md works as it is written."""

import re
import subprocess
import sys
from pathlib import Path

from tests.process.running import NameServerProcess, environment
from tests.support.system.processes import Process, eventually
from tests.support.system.waiting import PATIENCE
from tests.support.wire.ask import ask

TUTORIAL = Path(__file__).parents[3] / "docs" / "tutorial-broker.md"


def topics(addr):
    return set(ask(addr, 206).json()["topicList"])


def test_its_programs_do_what_it_says(tmp_path):
    first, second = re.findall(r"^```python\n(.*?)^```", TUTORIAL.read_text(), re.MULTILINE | re.DOTALL)
    with NameServerProcess(tmp_path / "namesrv") as server:
        addr = server.started().address
        for name, code in (("own_broker.py", first), ("blocking.py", second)):
            (tmp_path / name).write_text(code.replace("127.0.0.1:9876", addr))
        env = environment(tmp_path)
        command = [sys.executable, "own_broker.py"]
        for _ in ("started", "started again"):
            with Process("broker", command, output=tmp_path / "out.txt", env=env, cwd=tmp_path) as broker:
                broker.await_line(f"{addr} registered\ntopics: orders payments", within=20)
                assert topics(addr) == {"orders", "payments"}
                broker.terminate()
                assert broker.wait(within=20) == 0
            assert broker.text().endswith("unregistered\n")
            (tmp_path / "out.txt").unlink()
            eventually(lambda: topics(addr) == set(), within=10, what="no topics")
        assert '"payments"' in (tmp_path / "store" / "config" / "topics.json").read_text()
        done = subprocess.run(
            [sys.executable, "blocking.py"], capture_output=True, text=True, env=env, cwd=tmp_path, timeout=30 * PATIENCE, check=True
        )  # fmt: skip
        assert done.stdout == "missing at: []\n"
