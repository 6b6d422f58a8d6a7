"""What `explain` says is what a server does, asked over sockets, with the addresses of PROXY headers."""

import asyncio
import json
import random
import re
import struct
from pathlib import Path

import aiohttp
import pytest

from namekeeper.access.judged import refusal_of
from namekeeper.access.names import NAMED, Names
from namekeeper.access.peer import Peer
from namekeeper.access.request_class import CLASSES
from namekeeper.access.rules import AccessCase, AccessRules, explain
from namekeeper.access.rules_file import parse_access_file
from namekeeper.access.signature import sign
from namekeeper.common.networks import parse_ip
from tests.support.system.waiting import eventually
from tests.unit.app.parts import frame, name_server

ADDRESSES = ["10.0.0.1", "10.0.1.1", "192.0.2.1", "fd00::1"]
USERS = [None, ("ops", "ops-key"), ("guest", "guest-key"), ("ops", "guessed")]
NAMES = ["a", "ab", "b"]
KEYS = '[users]\nops = "ops-key"\nguest = ["another", "guest-key"]\n'
CASES = 400


def some_rules(rng: random.Random) -> str:
    rows = ['mode = "enforce"', 'keys = "keys.toml"']
    for number in range(rng.randint(1, 6)):
        rows += [
            "[[rule]]",
            f'name = "rule {number}"',
            f"effect = {rng.choice(['allow', 'allow', 'refuse'])!r}",
        ]
        codes = rng.choice([["read"], ["broker"], ["admin"], ["any"], [105, 103, 216], ["read", 100]])
        rows.append(f"requests = {codes!r}")
        if rng.random() < 0.5:
            networks = rng.choice([["10.0.0.0/24"], ["10.0.0.0/16", "fd00::/8"], ["192.0.2.1"]])
            rows.append(f"networks = {networks!r}")
        if rng.random() < 0.4:
            rows.append(f"users = {rng.choice([['ops'], ['guest'], ['ops', 'guest']])!r}")
        if codes in (["broker"], ["any"]) and rng.random() < 0.5:
            rows.append(f"brokers = {rng.choice([['a*'], ['?'], ['b']])!r}")
    return "\n".join(rows)


def write_rules(folder: Path, text: str) -> str:
    (folder / "access.toml").write_text(text)
    (folder / "keys.toml").write_text(KEYS)
    (folder / "keys.toml").chmod(0o600)
    return str(folder / "access.toml")


def some_case(rng: random.Random) -> tuple[AccessCase, bytes]:
    """A request as `explain` gets it, and as it is sent, with the address before it."""
    code, address, user = (
        rng.choice([int(code) for code in CLASSES]),
        rng.choice(ADDRESSES),
        rng.choice(USERS),
    )
    given = {kind: (field, rng.choice(NAMES)) for kind, field in NAMED.get(code, {}).items() if field}
    fields = dict(given.values())
    if user is not None:
        fields = sign(fields, b"", access_key=user[0], secret_key=user[1])
    case = AccessCase(
        code=code, peer=Peer(parse_ip(address)), user=user[0] if user and user[1] != "guessed" else None,
        names=Names(**{kind.value: frozenset((name,)) for kind, (_, name) in given.items()}),
    )  # fmt: skip
    family, destination = ("TCP6", "::1") if ":" in address else ("TCP4", "127.0.0.1")
    head = f"PROXY {family} {address} {destination} 5000 9876\r\n".encode()
    return case, head + frame(code, **fields)


async def refusal(port: int, data: bytes) -> str | None:
    """What the answer says of access rules; None if it says nothing of them."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(data)
        (length,) = struct.unpack(">I", await reader.readexactly(4))
        answer = await reader.readexactly(length)
    finally:
        writer.close()
    (size,) = struct.unpack(">I", answer[:4])
    head = json.loads(answer[4 : 4 + (size & 0xFF_FFFF)])
    return head["remark"] if head["code"] == 16 else None


@pytest.mark.parametrize("seed", range(5))
async def test_a_server_refuses_what_explain_says_and_by_that_rule(tmp_path, seed):
    rng = random.Random(seed)
    text = some_rules(rng)
    rules: AccessRules = parse_access_file(text, source="access.toml").rules
    path = await asyncio.to_thread(write_rules, tmp_path, text)
    flags = {"access_file": path, "proxy_protocol_trusted_networks": "127.0.0.1"}
    async with name_server(tmp_path, **flags) as server:
        for _ in range(CASES // 5):
            case, data = some_case(rng)
            decision, _ = explain(rules, case)
            said = await refusal(server.port, data)
            assert (said is None) == decision.allowed, (text, case, said)
            if said is not None:
                assert f" is {refusal_of(decision)}" in said


PAGES = '[[rule]]\nname = "pages"\nrequests = ["http"]\nusers = {}\n'


async def test_who_watches_is_judged_again_when_other_rules_hold(tmp_path, caplog):
    """A key that was taken back gives no more changes, also over a stream that is open; other streams go on."""
    caplog.set_level("INFO")

    def pages_for(*users: str) -> str:
        return write_rules(tmp_path, 'mode = "enforce"\nkeys = "keys.toml"\n' + PAGES.format(list(users)))

    path = await asyncio.to_thread(pages_for, "ops", "guest")
    async with name_server(tmp_path, access_file=path, http_port="0"), aiohttp.ClientSession() as session:
        await eventually(lambda: "operators' pages at " in caplog.text and " writes to " in caplog.text)
        (url,) = re.findall(r"operators' pages at (\S+)", caplog.text)

        async def watching(key: str) -> aiohttp.ClientResponse:
            headers = {"Accept": "text/event-stream", "Authorization": f"Bearer {key}"}
            stream = await session.get(f"{url}watch?topic=T", headers=headers)
            assert (stream.status, await stream.content.readline()) == (200, b"event: ready\n")
            return stream

        ops, guest = await watching("ops-key"), await watching("guest-key")
        await asyncio.to_thread(pages_for, "ops")
        await eventually(guest.content.is_eof)
        assert (
            await session.get(f"{url}watch?topic=T", headers={"Authorization": "Bearer guest-key"})
        ).status == 403
        assert not ops.content.is_eof()
        ops.close()
