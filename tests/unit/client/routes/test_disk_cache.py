"""Routes on disk: a client starts while every name server is down, and a damaged file costs nothing."""

import asyncio

import pytest

from namekeeper.client.routes import disk_cache
from namekeeper.client.routes.disk_cache import RouteDiskCache
from namekeeper.errors import NoNameServerError
from tests.unit.client.world import A, World, route


async def kept(path, *topics: str) -> RouteDiskCache:
    cache = RouteDiskCache(str(path))
    for topic in topics:
        cache.put(topic, route(topic))
    await cache.save()
    return cache


async def loaded(path) -> RouteDiskCache:
    cache = RouteDiskCache(str(path))
    await cache.load()
    return cache


async def test_what_was_put_is_there_after_a_restart(tmp_path):
    await kept(tmp_path / "routes", "T", "U")
    again = await loaded(tmp_path / "routes")
    assert (again.get("T"), again.get("U"), again.get("V")) == (route("T"), route("U"), None)


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[:-20],
        lambda data: data.replace(b"broker", b"brokes", 1),
        lambda data: b"",
        lambda data: b"[]",
        lambda data: data.replace(b"broker", b"\xff", 1),
        lambda data: b'{"a":' * 100_000,
        lambda data: data.replace(b'"format":1', b'"format":2'),
    ],
)
async def test_a_file_that_is_damaged_is_ignored_with_a_warning(tmp_path, caplog, damage):
    file = tmp_path / "routes"
    await kept(file, "broker-a")
    data = await asyncio.to_thread(file.read_bytes)
    await asyncio.to_thread(file.write_bytes, damage(data))
    assert (await loaded(file)).get("broker-a") is None
    assert f"saved routes in {file} can't be used" in caplog.text


async def test_a_link_is_not_followed(tmp_path, caplog):
    await kept(tmp_path / "routes", "T")
    (tmp_path / "link").symlink_to(tmp_path / "routes")
    assert (await loaded(tmp_path / "link")).get("T") is None
    assert "can't be used" in caplog.text


async def test_a_disk_that_fails_is_told_once_and_written_when_it_works(tmp_path, caplog):
    cache = await kept(tmp_path / "file" / "routes")
    await asyncio.to_thread((tmp_path / "file").write_text, "no folder")
    cache.put("T", route("T"))
    await cache.save()
    await cache.save()
    assert caplog.text.count("routes can't be saved") == 1
    await asyncio.to_thread((tmp_path / "file").unlink)
    await cache.save()
    assert (await loaded(tmp_path / "file" / "routes")).get("T") == route("T")


async def test_it_has_a_limit_of_topics_and_of_bytes(tmp_path, monkeypatch):
    monkeypatch.setattr(disk_cache, "TOPICS_LIMIT", 2)
    await kept(tmp_path / "routes", "A", "B", "A", "C")
    again = await loaded(tmp_path / "routes")
    assert [topic for topic in "ABC" if again.get(topic)] == ["A", "C"]
    monkeypatch.setattr(disk_cache, "TOPICS_LIMIT", 100)
    size = len(await asyncio.to_thread((tmp_path / "routes").read_bytes))
    monkeypatch.setattr(disk_cache, "FILE_LIMIT", size + 10)
    await kept(tmp_path / "more", *(f"T{number}" for number in range(8)))
    data = await asyncio.to_thread((tmp_path / "more").read_bytes)
    assert len(data) <= size + 10
    assert (await loaded(tmp_path / "more")).get("T7") == route("T7")


async def test_a_client_starts_while_every_name_server_is_down(tmp_path, caplog):
    path = str(tmp_path / "routes")
    world = World(A)
    world.register("T")
    async with world.client(route_cache_path=path) as client:
        expected = await client.fetch_publish_message_queues("T")
    down = World(A)
    down.dead.add(A)
    async with down.client(route_cache_path=path) as client:
        stream = client.events("T")
        assert await client.fetch_publish_message_queues("T") == expected
        assert await client.register_producer("P").publish_message_queues("T") == expected
        assert await client.register_pull_consumer("G").subscribe("T") == set(expected)
        assert type(await anext(stream)).__name__ == "RouteAppeared"
        with pytest.raises(NoNameServerError):
            await client.topic_route("U")
        assert "its saved route is used" in caplog.text
        down.dead.clear()
        down.register("T", count=2)
        assert len(await client.fetch_publish_message_queues("T")) == 2
    async with World(A).client() as client:  # without the setting nothing is read
        assert client.config.route_cache_path == ""
