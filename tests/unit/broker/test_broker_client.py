"""The client of a broker says which release the broker is of, and signs after that."""

import asyncio

from namekeeper.broker import BrokerRegistrar
from namekeeper.broker.broker_client import make_broker_client
from tests.support.system.waiting import eventually
from tests.unit.app.parts import name_server
from tests.unit.broker.parts import T1, T2, settings


async def test_requests_carry_our_language_the_broker_s_version_and_the_signature(tmp_path):
    seen = []

    def sign(addr, request):
        seen.append((addr, request.language, request.version))
        request.ext_fields = {"topic": "T", "AccessKey": "me"}

    async with name_server(tmp_path) as server:
        addr = f"127.0.0.1:{server.port}"
        client = make_broker_client(settings(version=373), rpc_hook=sign)
        async with client:
            assert (await client.invoke(addr, 105, {"topic": "T"})).code == 17
        assert seen == [(addr, "PYTHON", 373)]
        await eventually(lambda: not server.server.connections)


RULES = """
mode = "enforce"
keys = "keys.toml"
[[rule]]
name = "brokers"
requests = ["broker"]
users = ["broker"]
"""


def write_rules(folder):
    (folder / "access.toml").write_text(RULES)
    (folder / "keys.toml").write_text('[users]\nbroker = "secret"\n')
    (folder / "keys.toml").chmod(0o600)


async def test_a_registrar_with_keys_is_let_in_by_access_rules_and_one_without_is_not(tmp_path):
    await asyncio.to_thread(write_rules, tmp_path)
    async with name_server(tmp_path, access_file=str(tmp_path / "access.toml")) as server:
        addr = f"127.0.0.1:{server.port}"
        signed = settings(addr, access_key="broker", secret_key="secret", enable_slave_acting_master=True)
        async with BrokerRegistrar(signed, (T1, T2)) as broker:
            assert broker.last_results[addr].error is None
            assert list(server.state.tables.broker_addr_table) == [signed.broker_name]
        assert not server.state.tables.broker_addr_table
        async with BrokerRegistrar(settings(addr), (T1, T2)) as broker:
            error = broker.last_results[addr].error
            assert (error.code, "is refused: no rule" in error.remark) == (16, True)
        assert not server.state.tables.broker_addr_table
        await eventually(lambda: not server.server.connections)
