"""mqadmin in process, with name servers that are values."""

import json
from typing import Any

from click.testing import CliRunner, Result

from namekeeper.cli.connecting import Connector
from namekeeper.cli.mqadmin import admin
from tests.unit.admin.fake_namesrv import A, B, FakeNamesrv, FakeSender, typical


class Tool:
    """The command line, its name servers and what it was last told."""

    def __init__(self) -> None:
        self.servers: dict[str, FakeNamesrv] = {A: typical(), B: typical()}
        self.sender = FakeSender(self.servers)

    def run(self, *args: str, namesrv: str | None = A, **env: str | None) -> Result:
        addrs = ("-n", namesrv) if namesrv else ()
        return CliRunner(env={"NAMESRV_ADDR": None, **env}).invoke(
            admin, [*args[:1], *addrs, *args[1:]], obj=Connector(self.sender.opened), prog_name="mqadmin"
        )

    def lines(self, *args: str, namesrv: str = A) -> list[str]:
        result = self.run(*args, namesrv=namesrv)
        assert result.exit_code == 0, result.output
        return result.stdout.splitlines()

    def json(self, *args: str, namesrv: str = A) -> Any:
        result = self.run(*args, "--json", namesrv=namesrv)
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)
