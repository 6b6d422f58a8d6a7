"""The files of the page that a browser opens, and the headers of everything that the page asks for."""

import asyncio
from collections.abc import Mapping
from importlib.resources import files

import msgspec
from aiohttp import web

__all__ = ["PAGE_FILES", "PAGE_HEADERS", "problem", "send_page_file"]

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self';"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
PAGE_HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""Of every answer to the page."""

_OWN, _REPORT = "namekeeper.console", "namekeeper.pipeline.report"
PAGE_FILES: Mapping[str, tuple[str, str, str]] = {
    "/": (_OWN, "static/index.html", "text/html"),
    "/report.css": (_REPORT, "templates/report.css", "text/css"),
    "/console.css": (_OWN, "static/console.css", "text/css"),
    "/icon.svg": (_OWN, "static/icon.svg", "image/svg+xml"),
    **{
        f"/{name}.js": (_OWN, f"static/{name}.js", "text/javascript")
        for name in ("preact", "hooks", "app", "api", "parts", "plots", "tables", "views", "time")
    },
}
"""Path -> package, file, type; the style sheet of the report is shared."""


async def send_page_file(request: web.Request) -> web.StreamResponse:
    """One of the files, by the path of the request."""
    package, name, content_type = PAGE_FILES[request.path]
    data = await asyncio.to_thread((files(package) / name).read_bytes)
    return web.Response(body=data, content_type=content_type, charset="utf-8", headers=PAGE_HEADERS)


def problem(status: int, text: str) -> web.Response:
    """An answer that says what is wrong, as the page shows it."""
    return web.Response(
        status=status,
        body=msgspec.json.encode({"problem": text}),
        content_type="application/json",
        headers=PAGE_HEADERS,
    )
