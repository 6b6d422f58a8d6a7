"""Whether a Spark Connect server can be reached."""

import socket

import pytest

from namekeeper.pipeline.errors import PipelineError
from namekeeper.pipeline.remote import check_listening
from tests.support.system.errors import assert_no_error
from tests.support.system.processes import free_port


@pytest.fixture(autouse=True)
def _no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("namekeeper.pipeline.remote.getproxies", dict)


def test_one_that_listens_is_reached_whatever_its_parameters():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        check_listening(f"sc://127.0.0.1:{port}")
        check_listening(f"sc://127.0.0.1:{port}/;use_ssl=true;user_id=x")
        for _ in range(2):
            connection, _ = server.accept()
            assert connection.recv(1) == b""
            connection.close()


def test_where_nothing_listens_it_is_told_at_once():
    port = free_port()
    with pytest.raises(
        PipelineError, match=rf"no Spark Connect .* 127\.0\.0\.1:{port}: Connection ref.*start"
    ):
        check_listening(f"sc://127.0.0.1:{port}")


def test_the_usual_port_is_15002(monkeypatch):
    asked = []

    def refuse(address: object, timeout: float) -> socket.socket:
        asked.append((address, timeout))
        raise TimeoutError("timed out")

    monkeypatch.setattr(socket, "create_connection", refuse)
    with pytest.raises(PipelineError, match="listens at spark:15002: timed out"):
        check_listening("sc://spark")
    assert asked == [(("spark", 15002), 10)]


@pytest.mark.parametrize("remote", ["sc://", "sc://:15002", "sc://host:port", "sc://host:99999"])
def test_a_malformed_address_is_told(remote):
    with pytest.raises(PipelineError, match=r"is no address of Spark Connect: write it as sc://HOST:PORT"):
        check_listening(remote)


def test_other_forms_are_left_to_spark():
    assert_no_error(check_listening, "local[2]")


def test_by_way_of_a_proxy_nothing_is_tried(monkeypatch):
    monkeypatch.setattr("namekeeper.pipeline.remote.getproxies", lambda: {"https": "http://proxy:3128"})
    assert_no_error(check_listening, f"sc://127.0.0.1:{free_port()}")
