"""An attack on the operators' port of a server with 64 descriptors leaves enough of them to clients, brokers and files."""

import contextlib
import json
import socket
import urllib.request
from pathlib import Path

from tests.attacks.peers import Wire, frame, registration, topics
from tests.process.running import PATIENCE_SECONDS, NameServerProcess
from tests.support.server.front import FRONT_UNDER_TEST, serve_command
from tests.support.system.processes import eventually, free_port

DESCRIPTORS = 64
HALF_A_HEAD = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "


def test_routing_goes_on_while_slow_peers_take_all_places_of_the_operators_port(tmp_path: Path) -> None:
    http_port = free_port()
    flags = {
        "listen-port": "0", "bind-address": "127.0.0.1", "http-port": str(http_port), "tls-config-file": "",
        "kv-config-path": f"{tmp_path}/kv.json", "journal-path": f"{tmp_path}/journal", "log-root": f"{tmp_path}/logs",
        "front": FRONT_UNDER_TEST,
    }  # fmt: skip
    words = [word for name, text in flags.items() for word in (f"--{name}", text)]
    limited = ("sh", "-c", f'ulimit -n {DESCRIPTORS}; exec "$@"', "sh", *serve_command(), *words)

    def is_healthy() -> bool:
        with contextlib.suppress(OSError):
            url = f"http://127.0.0.1:{http_port}/healthz"
            with urllib.request.urlopen(url, timeout=PATIENCE_SECONDS) as answer:
                return bool(answer.status == 200)
        return False

    with NameServerProcess(tmp_path, command=limited) as server, contextlib.ExitStack() as stack:
        port = int(server.started().address.rpartition(":")[2])
        eventually(is_healthy, within=PATIENCE_SECONDS, what="pages")
        for _ in range(3 * DESCRIPTORS):
            slow = stack.enter_context(socket.create_connection(("127.0.0.1", http_port), PATIENCE_SECONDS))
            with contextlib.suppress(OSError):
                slow.sendall(HALF_A_HEAD)
        broker = stack.enter_context(Wire(port))
        broker.ask(registration("b", topics("T", 100)))
        for counter in range(1, 20):
            requests = (
                registration(f"b{counter}", topics("T", 100)), frame(105, {"topic": "T000001"}),
                frame(100, {"namespace": "n", "key": "k", "value": str(counter)}),
            )  # fmt: skip
            for request in requests:
                with Wire(port) as wire:
                    header, _ = wire.ask(request)
                assert json.loads(header)["code"] == 0, header
        eventually(is_healthy, within=PATIENCE_SECONDS, what="health")
        assert server.stop() == 0
        assert "Traceback" not in server.err + server.log
