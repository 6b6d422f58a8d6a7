"""The pages for probes: open to everybody, and degraded is not down."""

import json

from aiohttp.test_utils import make_mocked_request

from namekeeper.http.health import HealthState, Phase
from namekeeper.http.health_pages import health_pages
from namekeeper.http.page_table import Guard

FINE = HealthState(phase=Phase.SERVING)
FULL = HealthState(phase=Phase.SERVING, degraded={"journal": "the disk is full"})


async def asked(path: str, state: HealthState, **more: object) -> tuple[int, dict[str, object]]:
    pages = health_pages(lambda: state, lambda _health: more)
    answer = await pages[path.partition("?")[0]].answer(make_mocked_request("GET", path))
    return answer.status, json.loads(answer.body)


def test_probes_need_neither_a_token_nor_a_name():
    assert {page.guard for page in health_pages(lambda: FINE).values()} == {Guard.OPEN}


async def test_a_process_that_answers_is_alive():
    assert await asked("/healthz", FULL) == (200, {"status": "ok"})


async def test_a_degraded_process_is_ready_unless_the_probe_is_strict():
    fine = {"status": "ok", "ready": True, "reasons": {}}
    assert await asked("/readyz?strict=1", FINE) == (200, fine)
    degraded = {"status": "degraded", "reasons": {"journal": "the disk is full"}}
    assert await asked("/readyz", FULL) == (200, {**degraded, "ready": True})
    assert await asked("/readyz?strict=true", FULL) == (503, {**degraded, "ready": False})


async def test_a_server_adds_its_own_members():
    assert (await asked("/readyz", FINE, revision="1-2"))[1]["revision"] == "1-2"
