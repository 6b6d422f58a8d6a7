import asyncio
from pathlib import Path

import click
import trustme
from click.testing import CliRunner, Result

from namekeeper.cli.connecting import Connector, connection_options, take_connection
from namekeeper.cli.tls_files import TlsFiles
from namekeeper.remoting.client import RemotingClient
from namekeeper.remoting.request_sender import RequestSender
from namekeeper.remoting.tls_client import present_context
from tests.support.wire.certificates import Certificates


def taken(*args: str, obj: object = None, **env: str | None) -> tuple[Connector, int]:
    """What a command gets from these options."""
    found: list[tuple[Connector, int]] = []

    @click.command()
    @connection_options
    @click.pass_context
    def command(context: click.Context, /, **options: object) -> None:
        found.append(take_connection(context, options))
        assert options == {}

    result: Result = CliRunner(env={"ROCKETMQ_HOME": None, **env}).invoke(command, args, obj=obj)
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return found[0]


def client(connector: Connector) -> RemotingClient:
    opened: RequestSender = connector.open()
    assert isinstance(opened, RemotingClient)
    return opened


def test_without_options_the_client_is_plain_and_waits_5_seconds() -> None:
    connector, timeout_ms = taken()

    assert timeout_ms == 5000
    assert client(connector)._tls is None
    assert client(connector)._rpc_hook is None


def test_the_context_may_bring_its_own_way_to_connect() -> None:
    own = Connector(lambda: None)

    assert taken("--timeout", "0.5", obj=own) == (own, 500)


def test_tls_trusts_anybody_unless_told_whom(tmp_path: Path) -> None:
    trustme.CA().cert_pem.write_to_path(str(tmp_path / "ca.pem"))

    def verify_mode(*options: str) -> str:
        return asyncio.run(present_context(client(taken(*options)[0])._tls)).verify_mode.name

    assert verify_mode("--tls") == "CERT_NONE"
    assert verify_mode("--tls-ca", str(tmp_path / "ca.pem")) == "CERT_REQUIRED"


def test_a_certificate_is_shown(tmp_path: Path) -> None:
    cert, key = map(str, Certificates(tmp_path).issue("ops"))
    connector, _ = taken("--tls-cert", cert, "--tls-key", key)

    assert connector.tls_files == TlsFiles("", cert, key)
    assert client(connector)._tls is not None


def test_keys_come_from_the_environment() -> None:
    connector, _ = taken(ROCKETMQ_ACCESS_KEY="a", ROCKETMQ_SECRET_KEY="s")

    assert client(connector)._rpc_hook is not None
