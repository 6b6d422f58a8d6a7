"""The console that a running name server starts for who opens its page: it ends with it, however that ends."""

import os
import re
import urllib.error
import urllib.request
from http import HTTPStatus
from pathlib import Path

import pytest

from tests.process.running import NameServerProcess
from tests.support.system.processes import eventually, free_port

STARTED = re.compile(r"the console runs as process (\d+)")


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def shows_page(port: int) -> bool:
    """Whether the page has an overview; not before the journal's folder is open."""
    try:
        urllib.request.urlopen(f"http://127.0.0.1:{port}/api/overview", timeout=60).close()
    except urllib.error.HTTPError as error:
        with error:
            if error.code != HTTPStatus.SERVICE_UNAVAILABLE:
                raise
        return False
    return True


@pytest.mark.parametrize("is_killed", [True, False])
@pytest.mark.parametrize("journal", ["true", "false"])
def test_it_ends_with_its_name_server(tmp_path: Path, journal: str, *, is_killed: bool):
    port = free_port()
    with NameServerProcess(tmp_path / "ns", http_port=str(port), journal_enable=journal) as server:
        server.started().logged("operators' pages at")
        eventually(lambda: shows_page(port), within=60, what="the console")
        server.logged("the console runs as process")
        found = STARTED.search(server.log)
        assert found is not None
        assert is_running(int(found[1]))
        if is_killed:
            server.kill()
        else:
            assert server.stop() == 0
        eventually(lambda: not is_running(int(found[1])), within=20, what="the end of the console")
