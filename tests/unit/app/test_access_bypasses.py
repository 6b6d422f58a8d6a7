"""Ways around access rules that somebody would try on the strict example of the how-to, over real sockets.

Each is sent to a running server; its tables, KV configuration and properties must be what they were before.
"""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from struct import pack
from typing import Any

import pytest

from namekeeper.access.signature import sign
from namekeeper.app.name_server import NameServer
from namekeeper.wire.codec import encode_command
from namekeeper.wire.codes import SerializeType
from namekeeper.wire.command import request
from tests.support.system.waiting import eventually, turns
from tests.support.wire.certificates import Certificates
from tests.support.wire.peer import Peer, connect
from tests.unit.app.parts import frame, name_server, registration

EXAMPLE = Path(__file__).parents[3] / "docs" / "howto" / "access.toml"
OPERATOR, PROD, OLD, CLIENT = "10.0.9.1", "10.0.1.1", "10.0.2.1", "10.0.7.1"
LOOK_UP = frame(105, topic="T1")
DELETION = frame(216, topic="T1")
CLOSED = -1
"""Stands for the code of an answer where the server closed the connection instead."""


def write_rules(folder: Path, text: str = "") -> dict[str, str]:
    """Write the example, or other rules, with keys; return the flags of a server that uses them."""
    (folder / "access.toml").write_text(text or EXAMPLE.read_text())
    keys = folder / "access-keys.toml"
    keys.write_text('[users]\nops = "ops-key"\nbroker-prod = "broker-key"\n')
    keys.chmod(0o600)
    return {"access_file": str(folder / "access.toml"), "allow_config_update": "true"}


@contextlib.asynccontextmanager
async def strict(folder: Path, *, trusts: str = "127.0.0.1") -> AsyncIterator[NameServer]:
    """The example, with one broker of production, which stays connected; PROXY headers of the test count."""
    flags = await asyncio.to_thread(write_rules, folder)
    async with name_server(folder, proxy_protocol_trusted_networks=trusts, **flags) as server:
        if not trusts:
            yield server
            return
        async with connect(f"127.0.0.1:{server.port}") as broker:
            fields = registration(cluster_name="prod", name="prod-a", addr="10.0.1.1:10911")
            signed = sign(fields.ext_fields, fields.body, access_key="broker-prod", secret_key="broker-key")
            await broker.send(proxy(PROD) + frame(103, fields.body, **signed))
            assert (await broker.answer()).code == 0
            yield server


def proxy(host: str) -> bytes:
    return f"PROXY TCP4 {host} 192.0.2.9 5000 9876\r\n".encode()


def proxy_v2(host: str) -> bytes:
    return (
        b"\r\n\r\n\0\r\nQUIT\n" + pack(">BBH", 0x21, 0x11, 12) + socket.inet_aton(host) + socket.inet_aton("192.0.2.9")
        + pack(">HH", 5000, 9876)
    )  # fmt: skip


def raw(header: str, body: bytes = b"", form: int = 0) -> bytes:
    """A frame with a header as it is written."""
    data = header.encode()
    return pack(">II", 4 + len(data) + len(body), form << 24 | len(data)) + data + body


def shown(server: NameServer) -> tuple[Any, ...]:
    """Copies of everything that requests could change."""
    state, tables = server.state, server.state.tables
    return (
        {name: dict(topics) for name, topics in tables.topic_queue_table.items()}, dict(tables.broker_addr_table),
        dict(tables.cluster_addr_table), {(live.key, live.gen) for live in tables.broker_live_table},
        dict(tables.topic_queue_mapping_info_table), list(state.kv_config.entries()), dict(state.config.values()),
    )  # fmt: skip


async def codes(server: NameServer, data: bytes, count: int = 1) -> list[int]:
    """The codes of so many answers to these bytes; a frame that ends the connection is CLOSED.

    A look-up comes after them, whose answer is left out: where nothing is answered, that was all.
    """
    found = []
    try:
        async with connect(f"127.0.0.1:{server.port}") as peer:
            await peer.send(data + frame(105, opaque=99, topic="T1"))
            answers = [await peer.answer() for _ in range(count + 1)]
            found = [answer.code for answer in answers if answer.opaque != 99]
    except ConnectionError:
        found = [CLOSED]
    await turns(20)
    return found


def header(code: str, fields: str = '"topic":"T1"', flag: int = 0) -> str:
    return (
        f'{{"code":{code},"flag":{flag},"language":"JAVA","opaque":1,"serializeTypeCurrentRPC":"JSON","version":513,'
        f'"extFields":{{{fields}}}}}'
    )


def signed(key: str, user: str = "ops", **fields: str) -> dict[str, str]:
    return sign({"topic": "T1", **fields}, b"", access_key=user, secret_key=key)


def binary(code: int, *, longer: int = 0) -> bytes:
    """A deletion with a binary header whose length says more or less than there is."""
    data = encode_command(request(code, {"topic": "T1"}, opaque=1), SerializeType.ROCKETMQ)
    length, word = int.from_bytes(data[:4], "big"), int.from_bytes(data[4:8], "big")
    return pack(">II", length, word + longer) + data[8:]


def right_with(**changed: str) -> bytes:
    """A deletion that an operator has signed, with some fields changed afterwards."""
    return frame(216, **{**signed("ops-key"), **changed})


REFUSED, NOT_THERE, IGNORED, BROKEN = [16], [3], [], [CLOSED]

OF_A_CLIENT = {
    "the code as text": (raw(header('"216"')), REFUSED),
    "the code as text with a sign": (raw(header('"+216"')), REFUSED),
    "the code with a fraction": (raw(header("216.7")), REFUSED),
    "the code with an exponent": (raw(header("2.16e2")), REFUSED),
    "the code in other digits": (raw(header('"\u0662\u0661\u0666"')), REFUSED),
    "two codes, the allowed one first": (raw(header('105,"code":216')), REFUSED),
    "a code beyond int32 that wraps to it": (raw(header(str(2**32 + 216))), BROKEN),
    "a code of 5.x brokers": (raw(header("1000000216")), NOT_THERE),
    "no code": (raw('{"opaque":1,"extFields":{"topic":"T1"}}'), NOT_THERE),
    "a code spelled otherwise": (raw(header('4711,"Code":216,"CODE":216')), NOT_THERE),
    "another order, blanks and comments": (raw(f" \t{header('216')} "), REFUSED),
    "a byte order mark": (raw("\ufeff" + header("216")), REFUSED),
    "ext fields of other types": (raw(header("216", '"topic":["T1"],"clusterName":null')), REFUSED),
    "a field in capitals": (raw(header("216", '"TOPIC":"T1","Topic":"T1"')), REFUSED),
    "a binary header": (binary(216), REFUSED),
    "a binary header that says it is longer": (binary(216, longer=4), BROKEN),
    "a binary header that says it is shorter": (binary(216, longer=-4), BROKEN),
    "JSON that says it is binary": (raw(header("216"), form=1), BROKEN),
    "a form of headers that nobody has": (raw(header("216"), form=9), BROKEN),
    "one-way": (raw(header("216", flag=2)), IGNORED),
    "an answer": (raw(header("216", flag=1)), IGNORED),
    "a one-way answer": (raw(header("216", flag=3)), IGNORED),
    "flags that nobody has": (raw(header("216", flag=4)), REFUSED),
    "behind many look-ups in one write": (LOOK_UP * 40 + DELETION, [0] * 40 + REFUSED),
    "between look-ups that are known": (LOOK_UP * 3 + DELETION + LOOK_UP, [0, 0, 0, 16, 0]),
    "an empty access key with a signature by an empty key": (
        frame(216, **sign({"topic": "T1"}, b"", access_key="", secret_key="")), REFUSED
    ),
    "an access key without a signature": (frame(216, topic="T1", AccessKey="ops"), REFUSED),
    "an empty signature": (right_with(Signature=""), REFUSED),
    "a signature with a line end": (right_with(Signature=signed("ops-key")["Signature"] + "\n"), REFUSED),
    "a signature over another topic": (right_with(topic="T2"), REFUSED),
    "a signature and a body that it does not cover": (
        encode_command(request(216, signed("ops-key"), b"more", opaque=1)), REFUSED
    ),
    "a security token for a signature": (frame(216, topic="T1", AccessKey="ops", SecurityToken="ops-key"), REFUSED),
    "a user in other letters": (frame(216, **signed("ops-key", "\uff4f\uff50\uff53")), REFUSED),
    "a user with a zero behind": (frame(216, **signed("ops-key", "ops\0")), REFUSED),
    "a user in capitals": (frame(216, **signed("ops-key", "OPS")), REFUSED),
    "what an operator signed": (right_with(), REFUSED),
}  # fmt: skip
"""What -> the bytes, and the codes of the answers. A client may look up routes; each of these would be more."""


@pytest.mark.parametrize("what", OF_A_CLIENT)
async def test_a_client_gets_nothing_but_routes(tmp_path, what):
    data, expected = OF_A_CLIENT[what]
    async with strict(tmp_path) as server:
        before = shown(server)
        assert await codes(server, proxy(CLIENT) + data, len(expected)) == expected
        assert shown(server) == before


OWN = {"clusterName": "old", "brokerName": "old-a", "brokerAddr": "10.0.2.1:10911", "brokerId": "0"}
QUEUES = '{{"brokerName":"{}","readQueueNums":1,"writeQueueNums":1,"perm":6}}'


def own(**changed: Any) -> bytes:
    return encode_command(
        registration(**{"cluster_name": "old", "name": "old-a", "addr": "10.0.2.1:10911", **changed})
    )


OF_AN_OLD_BROKER = {
    "the cluster of production": (own(cluster_name="prod"), REFUSED),
    "a name of production": (own(name="prod-a"), REFUSED),
    "a new name of production": (own(name="prod-z"), REFUSED),
    "its name in other letters": (own(name="\uff4fld-a"), REFUSED),
    "its name in capitals": (own(name="OLD-A"), REFUSED),
    "its name behind a line end": (own(name="prod-a\nold-a"), REFUSED),
    "an empty name": (frame(103, **{**OWN, "brokerName": ""}), REFUSED),
    "no cluster": (frame(104, **{key: OWN[key] for key in OWN if key != "clusterName"}), REFUSED),
    "the end of a broker by its address": (frame(104, **{**OWN, "brokerAddr": "10.0.1.1:10911"}), [0]),
    "the end of a broker by its cluster": (
        frame(104, **{**OWN, "clusterName": "prod", "brokerAddr": "10.0.1.1:10911"}), REFUSED
    ),
    "a heartbeat for a broker": (
        frame(904, **{**OWN, "clusterName": "prod", "brokerAddr": "10.0.1.1:10911"}), REFUSED
    ),
    "queues of a broker": (frame(217, f'{{"queueDatas":[{QUEUES.format("prod-a")}]}}'.encode(), topic="T1"), REFUSED),
    "queues of a broker behind its own": (
        frame(217, f'{{"queueDatas":[{QUEUES.format("old-a")},{QUEUES.format("prod-a")}]}}'.encode(), topic="T1"), REFUSED
    ),
    "two lists of queues": (
        frame(
            217, f'{{"queueDatas":[{QUEUES.format("old-a")}],"queueDatas":[{QUEUES.format("prod-a")}]}}'.encode(), topic="T1"
        ), REFUSED
    ),
    "write permissions": (frame(205, brokerName="old-a"), REFUSED),
    "a user of its own": (
        frame(205, **sign({"brokerName": "prod-a"}, b"", access_key="broker-prod", secret_key="broker-key")), REFUSED
    ),
}  # fmt: skip
"""What -> bytes and codes. A broker of the old cluster is known by its network, and may register as `old-*`."""


@pytest.mark.parametrize("what", OF_AN_OLD_BROKER)
async def test_a_broker_stays_within_its_cluster_and_its_names(tmp_path, what):
    data, expected = OF_AN_OLD_BROKER[what]
    async with strict(tmp_path) as server:
        before = shown(server)
        assert await codes(server, proxy(OLD) + data) == expected
        assert shown(server) == before


FORGED = own()
PROXIES = {
    "no header": (b"", REFUSED),
    "v1": (proxy(OLD), REFUSED),
    "v2": (proxy_v2(OLD), REFUSED),
    "v1, IPv4 in IPv6": (f"PROXY TCP6 ::ffff:{OLD} ::1 5000 9876\r\n".encode(), REFUSED),
    "one for itself": (b"PROXY UNKNOWN\r\n", REFUSED),
}


@pytest.mark.parametrize("what", PROXIES)
async def test_a_header_of_who_is_no_trusted_proxy_gives_no_address(tmp_path, what):
    header, expected = PROXIES[what]
    async with strict(tmp_path, trusts="") as server:
        assert await codes(server, header + FORGED) == expected
        assert not server.state.tables.broker_addr_table


@pytest.mark.parametrize("second", [proxy(OLD), proxy_v2(OLD)], ids=["v1", "v2"])
async def test_a_client_behind_a_trusted_proxy_can_not_add_a_header(tmp_path, second):
    async with strict(tmp_path) as server:
        before = shown(server)
        assert await codes(server, proxy(CLIENT) + second + FORGED) == BROKEN
        assert shown(server) == before


async def test_an_address_that_ipv6_wraps_is_the_one_of_ipv4(tmp_path):
    async with strict(tmp_path) as server:
        assert await codes(server, f"PROXY TCP6 ::ffff:{OLD} ::1 5000 9876\r\n".encode() + FORGED) == [0]
        assert await codes(server, f"PROXY TCP6 ::{OLD} ::1 5000 9876\r\n".encode() + FORGED) == REFUSED


async def test_what_others_were_answered_is_not_known_to_who_may_not_ask(tmp_path):
    """The look-up cache knows the bytes, and the stranger's first request finds nobody who knows the stranger."""
    async with strict(tmp_path) as server:
        async with connect(f"127.0.0.1:{server.port}") as client:
            await client.send(proxy(CLIENT) + LOOK_UP)
            await client.answer()
            for _ in range(5):
                await client.send(LOOK_UP)
                assert (await client.answer()).code == 0
        async with connect(f"127.0.0.1:{server.port}") as stranger:
            await stranger.send(proxy("192.0.2.1") + LOOK_UP * 5)
            assert [(await stranger.answer()).code for _ in range(5)] == [16] * 5


BY_CERTIFICATE = """
mode = "enforce"
[[rule]]
name = "operators"
requests = ["any"]
certificates = ["DNS:ops.test"]
"""


async def test_without_the_certificate_nobody_is_who_has_it(tmp_path):
    """The port takes plain connections, too, and TLS without a certificate: neither proves anything."""
    certificates = Certificates(tmp_path)
    cert, key = certificates.issue("server")
    flags = await asyncio.to_thread(write_rules, tmp_path, BY_CERTIFICATE)
    tls = {
        "tls_test_mode_enable": "false", "tls_server_mode": "permissive", "tls_server_cert_path": str(cert),
        "tls_server_key_path": str(key), "tls_server_trust_cert_path": str(certificates.trust),
        "tls_server_auth_client": "true", "tls_server_need_client_auth": "optional",
    }  # fmt: skip
    others = await asyncio.to_thread(lambda: Certificates(_made(tmp_path / "others")).issue("ops"))

    def shows(pair: tuple[Path, Path] | None) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=certificates.trust)
        context.check_hostname = False
        if pair is not None:
            context.load_cert_chain(*pair)
        return context

    async with name_server(tmp_path, **flags, **tls) as server:

        async def ask(context: ssl.SSLContext | None) -> int:
            with contextlib.suppress(ConnectionError, ssl.SSLError):
                async with connect(f"127.0.0.1:{server.port}", tls=context) as peer:
                    await peer.send(DELETION)
                    return (await peer.answer()).code
            return CLOSED

        assert await ask(shows(certificates.issue("ops"))) == 0
        assert await ask(shows(certificates.issue("xops"))) == 16
        assert await ask(shows(None)) == 16
        assert await ask(shows(others)) == CLOSED
        assert await ask(None) == 16


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


async def one(server: NameServer, peer: Peer, data: bytes) -> int:
    await peer.send(data)
    return (await peer.answer()).code


async def test_a_request_that_is_halfway_here_is_judged_by_the_rules_that_hold_at_its_end(tmp_path):
    async with strict(tmp_path) as server, connect(f"127.0.0.1:{server.port}") as peer:
        assert await one(server, peer, proxy(CLIENT) + LOOK_UP) == 0
        await peer.send(LOOK_UP[:30])
        closed = EXAMPLE.read_text().replace('networks = ["10.0.0.0/16"]', 'networks = ["10.0.8.0/24"]')
        await asyncio.to_thread((tmp_path / "access.toml").write_text, closed)
        await eventually(lambda: "10.0.8.0/24" in str(server.access.files.policy.rules.rules[-1].networks))
        assert await one(server, peer, LOOK_UP[30:]) == 16
