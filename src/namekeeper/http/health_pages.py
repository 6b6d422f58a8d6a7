"""`/healthz` and `/readyz`, which every server of ours with an HTTP port answers in the same way."""

from collections.abc import Callable, Mapping

from aiohttp import web

from namekeeper.http.health import Health, HealthSource, health_of
from namekeeper.http.page_table import Guard, Page, json_answer

__all__ = ["health_pages"]


def health_pages(
    source: HealthSource, more: Callable[[Health], Mapping[str, object]] = lambda _: {}
) -> dict[str, Page]:
    """The pages for probes, by their paths.

    Args:
        source: gives the present state.
        more: further members of the answer about readiness.
    """

    async def healthz(_request: web.BaseRequest) -> web.Response:
        return json_answer(200, {"status": "ok"})

    async def readyz(request: web.BaseRequest) -> web.Response:
        strict = request.query.get("strict", "").lower() in {"1", "true"}
        health = health_of(source(), strict=strict)
        members = {"status": health.status, "ready": health.ready, "reasons": health.reasons}
        return json_answer(health.http_status, {**members, **more(health)})

    return {"/healthz": Page(healthz, Guard.OPEN), "/readyz": Page(readyz, Guard.OPEN)}
