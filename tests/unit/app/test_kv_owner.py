"""Whoever shares a KV file goes on with it when its owner has ended."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest

from namekeeper.app import kv_file as module
from namekeeper.app.kv_file import KvFile, become_kv_owner
from tests.support.system.waiting import eventually
from tests.unit.app.parts import Parts, name_server


@pytest.fixture(autouse=True)
def _look_often(monkeypatch):
    monkeypatch.setattr(module, "LOOK_SECONDS", 0.001)


async def test_of_two_servers_with_one_file_the_second_goes_on_when_the_first_ends(tmp_path):
    shared = str(tmp_path / "kv.json")
    owner = await asyncio.to_thread(KvFile, shared)
    async with name_server(tmp_path, kv_config_path=shared, journal_enable="false") as second:
        assert second.state.kv_refusal is not None
        (tmp_path / "kv.json").write_text('{"configTable":{"N":{"K":"since"}}}')
        owner.release()
        await eventually(lambda: second.state.kv_refusal is None)
        assert second.state.kv_config.get("N", "K") == "since"
        assert second.effects.counters.kv_changes == 1
        assert (await asyncio.to_thread(KvFile, shared)).refusal is not None


async def test_a_file_that_can_not_be_read_is_logged_once_and_taken_over_when_it_can(tmp_path, caplog):
    parts = Parts(tmp_path)
    path = tmp_path / "shared.json"
    owner = await asyncio.to_thread(KvFile, str(path))
    file = await asyncio.to_thread(KvFile, str(path))
    parts.state.kv_refusal = file.refusal
    path.write_text("{")
    owner.release()
    with ThreadPoolExecutor(1) as files:
        task = asyncio.create_task(become_kv_owner(file, parts.state, parts.effects, files=files))
        await eventually(lambda: "can't be taken over" in caplog.text)
        path.write_text('{"configTable":{}}')
        await eventually(task.done)
    assert caplog.text.count("can't be taken over") == 1
    assert parts.state.kv_refusal is None
