"""The tutorial works as it is written: its broker registers, its commands say what it says they do."""

import json
import re
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

from tests.process.running import BIN, NameServerProcess, environment
from tests.support.documents.shapes import block_after, shows
from tests.support.system.processes import Process, eventually
from tests.support.system.waiting import PATIENCE

TUTORIAL = Path(__file__).parents[2] / "docs" / "tutorial.md"
TEXT = TUTORIAL.read_text()


def test_a_broker_registers_is_found_and_goes(tmp_path):
    (code,) = re.findall(r"^```python\n(.*?)^```", TUTORIAL.read_text(), re.MULTILINE | re.DOTALL)
    with NameServerProcess(tmp_path / "first") as first, NameServerProcess(tmp_path / "second") as second:
        addresses = [server.started().address for server in (first, second)]
        for in_text, real in zip(("127.0.0.1:9876", "127.0.0.1:9877"), addresses, strict=True):
            code = code.replace(in_text, real)
        script = tmp_path / "broker.py"
        script.write_text(code)
        env = {**environment(tmp_path), "NAMESRV_ADDR": ";".join(addresses)}

        def run(*words: str) -> tuple[int, str, str]:
            command = [str(BIN / words[0]), *words[1:]]
            done = subprocess.run(
                command, capture_output=True, text=True, env=env, timeout=30 * PATIENCE, check=False
            )
            return done.returncode, done.stdout, done.stderr

        with Process(
            "broker", [sys.executable, str(script)], output=tmp_path / "broker.txt", env=env
        ) as broker:
            for address in addresses:
                broker.await_line(f"{address} registered", within=20)
            status, out, _ = run("mqadmin", "topicRoute", "-t", "orders")
            assert (status, '0:"127.0.0.1:10911"' in out) == (0, True)
            assert run("mqadmin", "topicList") == (0, "orders\npayments\n", "")
            status, out, _ = run("namekeeper", "compare", *addresses)
            assert (status, out) == (0, f"{addresses[0]} and {addresses[1]} agree on 15 facts.\n")
            assert (
                run(
                    "mqadmin",
                    "updateOrderConf",
                    "-m",
                    "put",
                    "-t",
                    "orders",
                    "-v",
                    "broker-a:4",
                    "-n",
                    addresses[0],
                )[0]
                == 0
            )
            status, out, _ = run("namekeeper", "compare", *addresses)
            assert (status, "differ in 1 of 17 facts" in out) == (1, True)
            assert (
                first.kv_file.read_text() == '{"configTable":{"ORDER_TOPIC_CONFIG":{"orders":"broker-a:4"}}}'
            )
        eventually(
            lambda: run("mqadmin", "topicRoute", "-t", "orders")[0] == 2, within=20, what="the route to go"
        )
        assert "removeTopicByBrokerName, remove one broker's topic orders" in first.log
        places = {
            "first/journal": str(first.folder / "journal"),
            "second/journal": str(second.folder / "journal"),
        }
        for begin in ("namekeeper why orders", "namekeeper history orders"):
            (command,) = re.findall(rf"^    ({begin} .*)$", TEXT, re.MULTILINE)
            status, out, err = run(*(places.get(word, word) for word in command.split()))
            assert status == 0, err
            # Failed look-ups are recorded at the end of their minute: perhaps it has come.
            out = "\n".join(line for line in out.splitlines() if "look-ups without a route" not in line)
            assert shows(block_after(TEXT, command), out), out
        (command,) = re.findall(r"^    (namekeeper console .*)$", TEXT, re.MULTILINE)
        words = [places.get(word, word) for word in command.split()]
        with Process(
            "console",
            [str(BIN / words[0]), *words[1:], "--port", "0"],
            output=tmp_path / "console.txt",
            env=env,
        ) as console:
            address = console.await_line(r"http://\S+", within=20).group(0)
            with urlopen(f"{address}api/why?name=orders", timeout=30 * PATIENCE) as answer:
                explanations = json.load(answer)["explanations"]
        assert [each["verdict"] for each in explanations] == ["broker_gone"] * 2


def test_what_the_tutorial_shows_of_files_and_commands_is_there():
    text = TUTORIAL.read_text()
    for command in re.findall(r"^    (namekeeper|mqadmin|mqshutdown) ", text, re.MULTILINE):
        assert (BIN / command).exists()
    for page in re.findall(r"\]\(([\w/-]+\.md)\)", text):
        assert (TUTORIAL.parent / page).exists(), page
