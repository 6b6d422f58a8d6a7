"""The files of the journal over the operators' port."""

import json
from pathlib import Path

import aiohttp
import pytest

from namekeeper.http.server import OperatorHttpServer, PageAccess, PageSources
from tests.unit.http.test_server import Site


@pytest.fixture
async def site(tmp_path: Path):
    site = Site()
    folder = tmp_path / "journal"
    folder.mkdir()
    (folder / "a.jsonl.gz").write_bytes(b"\x00one")
    (folder / "hidden").write_bytes(b"two")
    (tmp_path / "outside").write_bytes(b"three")
    site.server = OperatorHttpServer(
        "127.0.0.1", 0, PageSources(metrics=site.stats, health=lambda: site.state, nsaddr=lambda: site.nsaddr,
        watch=site.watch, journal_files=lambda: (folder, lambda: ["a.jsonl.gz", "gone.jsonl.gz"])),
        PageAccess(refuse=lambda _host, token: None if token in {None, "good"} else "not with this token"),
    )  # fmt: skip
    async with site.server:
        yield site


async def test_what_is_listed_can_be_read(site: Site):
    listed = await site.ask("/journal")
    assert json.loads(listed.text) == {"files": ["a.jsonl.gz", "gone.jsonl.gz"]}
    url = f"http://127.0.0.1:{site.server.port}/journal/a.jsonl.gz"
    async with aiohttp.ClientSession() as session, session.get(url) as response:
        assert (response.status, await response.read()) == (200, b"\x00one")
        assert response.headers["Content-Type"] == "application/octet-stream"


@pytest.mark.parametrize(
    "name", ["hidden", "gone.jsonl.gz", "..%2Foutside", "%2e%2e/outside", "a.jsonl.gz/x"]
)
async def test_nothing_else_is_given(site: Site, name: str):
    assert (await site.ask(f"/journal/{name}")).status == 404


async def test_access_rules_hold_for_it(site: Site):
    for path in ("/journal", "/journal/a.jsonl.gz"):
        assert (await site.ask(path, Authorization="Bearer bad")).status == 403


async def test_without_a_journal_there_is_none():
    site = Site()
    async with site.server:
        assert (await site.ask("/journal")).status == 404
        assert (await site.ask("/journal/identity.json")).status == 404
