"""The files of the page that a browser opens, and the headers of every answer to the page."""

import asyncio
from collections.abc import Mapping
from importlib.resources import files

import msgspec
from aiohttp import web

from namekeeper.http.doors import COOKIE

__all__ = ["PAGE_FILES", "PAGE_HEADERS", "STREAM_HEADERS", "logged_in", "problem", "send_page_file"]

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
"""Headers of every answer to the page."""
STREAM_HEADERS = {
    **PAGE_HEADERS,
    "Content-Type": "text/event-stream",
    "X-Accel-Buffering": "no",  # nginx keeps answers back until it has some kilobytes of them
}
"""Headers of a stream of events for the page."""

_OWN, _REPORT = "namekeeper.console", "namekeeper.pipeline.report"
PAGE_FILES: Mapping[str, tuple[str, str, str]] = {
    "/": (_OWN, "static/index.html", "text/html"),
    "/report.css": (_REPORT, "templates/report.css", "text/css"),
    "/console.css": (_OWN, "static/console.css", "text/css"),
    "/icon.svg": (_OWN, "static/icon.svg", "image/svg+xml"),
    **{
        f"/{name}.js": (_OWN, f"static/{name}.js", "text/javascript")
        for name in (
            "preact",
            "hooks",
            "app",
            "api",
            "drift",
            "incidents",
            "parts",
            "plots",
            "tables",
            "views",
            "time",
        )
    },
}
"""Path -> package, file, type; the style sheet of the report is shared."""


async def send_page_file(request: web.BaseRequest) -> web.StreamResponse:
    """Send one of the files, by the path of the request."""
    package, name, content_type = PAGE_FILES[request.path]
    data = await asyncio.to_thread((files(package) / name).read_bytes)
    return web.Response(body=data, content_type=content_type, charset="utf-8", headers=PAGE_HEADERS)


def logged_in(request: web.BaseRequest, token: str) -> web.Response:
    """Make an answer that has the browser keep a token; 400 if no header can hold it.

    Args:
        request: of the browser.
        token: a valid token.
    """
    if not token.isprintable():
        return problem(400, "a token has no control characters")
    response = web.Response(status=204, headers=PAGE_HEADERS)
    response.set_cookie(COOKIE, token, httponly=True, samesite="Strict", secure=request.secure or None)
    # Without a path the cookie counts for `/api/`, under any prefix that a proxy gives the page.
    response.cookies[COOKIE]["path"] = ""
    return response


def problem(status: int, text: str) -> web.Response:
    """Make an answer with a problem, in the form that the page shows."""
    return web.Response(
        status=status,
        body=msgspec.json.encode({"problem": text}),
        content_type="application/json",
        headers=PAGE_HEADERS,
    )
