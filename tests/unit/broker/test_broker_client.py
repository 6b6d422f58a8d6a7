"""The client of a broker says which release the broker is of, and signs after that."""

from namekeeper.broker.broker_client import make_broker_client
from tests.support.system.waiting import eventually
from tests.unit.app.parts import name_server
from tests.unit.broker.parts import settings


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
