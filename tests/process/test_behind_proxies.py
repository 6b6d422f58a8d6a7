"""The operators' port behind nginx and HAProxy with their default settings, and probes of every kind."""

import csv
import http.client
import re
import socket
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.process.running import PATIENCE_SECONDS, NameServerProcess
from tests.support.system.processes import eventually, free_port
from tests.support.system.proxies import haproxy, needs_haproxy, needs_nginx, nginx

pytestmark = pytest.mark.timeout(300)

HTML = {"Accept": "text/html"}
STREAM = {"Accept": "text/event-stream"}


class Served(NamedTuple):
    """A name server that runs."""

    server: NameServerProcess
    http_port: int


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One for all tests: each looks at what its own peers add to the log."""
    port = free_port()
    with NameServerProcess(tmp_path_factory.mktemp("ns"), http_port=str(port)) as server:
        server.started().logged("operators' pages at")
        status = f"http://127.0.0.1:{port}/status"
        eventually(lambda: '"revision":"' in got(status)[1], within=20, what="the journal")
        yield Served(server, port)


def got(url: str, **headers: str) -> tuple[int, str]:
    asked = urllib.request.Request(
        url, headers={name.replace("_", "-"): text for name, text in headers.items()}
    )
    try:
        with urllib.request.urlopen(asked, timeout=PATIENCE_SECONDS) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def first_event(url: str) -> bytes:
    """The first words of a stream; it hangs where a proxy holds them back."""
    with urllib.request.urlopen(
        urllib.request.Request(url, headers=STREAM), timeout=PATIENCE_SECONDS
    ) as stream:
        assert stream.headers["Content-Type"].startswith("text/event-stream")
        found: bytes = stream.readline()
        return found


@needs_nginx
@pytest.mark.parametrize("prefix", ["/", "/ns1/"])
def test_page_streams_and_health_come_through_nginx(served: Served, tmp_path: Path, prefix: str) -> None:
    with nginx(tmp_path / "nginx", served.http_port, prefix) as address:
        base = f"{address}{prefix}"
        assert got(f"{base}healthz")[0] == got(f"{base}readyz")[0] == got(f"{base}metrics")[0] == 200
        status, page = got(base, **HTML)
        assert status == 200
        named = re.findall(r'(?:href|src)="([^"#]+)"', page)
        assert len(named) > 9
        for name in named:
            assert got(f"{base}{name}")[0] == 200, name
        assert first_event(f"{base}watch?topic=T") == b"event: ready\n"
        eventually(lambda: got(f"{base}api/overview")[0] == 200, within=60, what="the console")
        assert first_event(f"{base}api/events").startswith(b"data: ")


def was_up(numbers: str, seconds: int = 3) -> bool:
    """Whether the server was up at each check of some seconds; there are ten in each."""
    rows = list(csv.DictReader(got(numbers)[1].removeprefix("# ").splitlines()))
    (row,) = (each for each in rows if each["svname"] == "one")
    assert row["status"] == "UP", row
    return int(row["lastchg"]) >= seconds


CHECKS = {
    "a connection": "",
    "the default of httpchk": "option httpchk",
    "readiness": "option httpchk GET /readyz",
    "health by HEAD": "option httpchk HEAD /healthz",
    "with a host": "option httpchk\n    http-check send meth GET uri /readyz ver HTTP/1.1 hdr Host anything.example.com",
}  # fmt: skip


@needs_haproxy
@pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS.keys())
def test_haproxy_finds_the_server_alive_and_leaves_its_log_readable(
    served: Served, tmp_path: Path, check: str
) -> None:
    with haproxy(tmp_path / "haproxy", served.http_port, check) as (address, numbers):
        before = served.server.log
        eventually(lambda: was_up(numbers), within=60, what="30 checks")
        assert got(f"{address}/healthz")[0] == 200
        assert first_event(f"{address}/watch?topic=T") == b"event: ready\n"
    assert served.server.log == before


@needs_haproxy
def test_haproxy_may_check_the_port_for_clients_by_a_connection(served: Served, tmp_path: Path) -> None:
    port = int(served.server.address.rpartition(":")[2])
    with haproxy(tmp_path / "haproxy", port, mode="tcp") as (_, numbers):
        before = served.server.log
        eventually(lambda: was_up(numbers), within=60, what="30 checks")
    assert served.server.log == before


PROBES = {
    "a connection that ends": b"",
    "a connection that sends half a frame": b"\x00\x00",
    "a request of HTTP": b"GET /healthz HTTP/1.1\r\nHost: x\r\nUser-Agent: kube-probe/1.31\r\n\r\n",
    "a check of HAProxy": b"OPTIONS / HTTP/1.0\r\n\r\n",
}


@pytest.mark.parametrize("probe", PROBES.values(), ids=PROBES.keys())
@pytest.mark.parametrize("which", ["clients", "operators"])
def test_probes_of_every_kind_leave_the_log_readable(served: Served, which: str, probe: bytes) -> None:
    """No line for each probe: a kubelet and two balancers make 20,000 a day."""
    port = served.http_port if which == "operators" else int(served.server.address.rpartition(":")[2])
    before = served.server.log.count("\n")
    for _ in range(30):
        with socket.create_connection(("127.0.0.1", port), PATIENCE_SECONDS) as connection:
            connection.sendall(probe)
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(4_096):
                pass
    connection = http.client.HTTPConnection("127.0.0.1", served.http_port, timeout=PATIENCE_SECONDS)
    connection.request("GET", "/readyz")
    assert connection.getresponse().status == 200
    connection.close()
    assert served.server.log.count("\n") - before <= 1
    assert "Traceback" not in served.server.log + served.server.err
