"""nginx and HAProxy as Debian packages them, with their default settings, in front of a server."""

import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.system.processes import Process, eventually, free_port

__all__ = ["haproxy", "needs_haproxy", "needs_nginx", "nginx"]

ROOT = Path(__file__).parents[3]


def _found(program: str) -> str | None:
    """The path of a program: installed, or fetched by `.ci/run`."""
    fetched = ROOT / "build" / "proxies" / "usr" / "sbin" / program
    return shutil.which(program, path="/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin") or shutil.which(
        str(fetched)
    )


NGINX, HAPROXY = _found("nginx"), _found("haproxy")
needs_nginx = pytest.mark.skipif(
    NGINX is None, reason="nginx is not installed (Debian: apt-get install nginx)"
)
needs_haproxy = pytest.mark.skipif(
    HAPROXY is None, reason="haproxy is not installed (Debian: apt-get install haproxy)"
)


def is_listening(port: int) -> bool:
    """Whether something accepts connections at a port of this host."""
    with socket.create_connection(("127.0.0.1", port), 1):
        return True


_NGINX = """
daemon off; pid {folder}/pid; error_log {folder}/errors; events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/a; proxy_temp_path {folder}/b; fastcgi_temp_path {folder}/c;
    uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e;
    server {{ listen 127.0.0.1:{port}; location {prefix} {{ proxy_pass http://127.0.0.1:{behind}/; }} }}
}}
"""
_HAPROXY = """
defaults
    mode {mode}
    timeout connect 5s
    timeout client 50s
    timeout server 50s
frontend front
    bind 127.0.0.1:{port}
    default_backend servers
backend servers
    {check}
    server one 127.0.0.1:{behind} check inter 100ms
frontend numbers
    mode http
    bind 127.0.0.1:{stats}
    stats enable
    stats uri /
"""


@contextmanager
def nginx(folder: Path, behind: int, prefix: str = "/") -> Iterator[str]:
    """An nginx that passes what is below a path on; gives its address, without a slash at the end."""
    assert NGINX is not None
    folder.mkdir()
    port = free_port()
    config = folder / "nginx.conf"
    config.write_text(_NGINX.format(folder=folder, port=port, behind=behind, prefix=prefix))
    with Process("nginx", [NGINX, "-c", str(config)], output=folder / "output"):
        eventually(lambda: is_listening(port), within=20, what="nginx listens")
        yield f"http://127.0.0.1:{port}"


@contextmanager
def haproxy(folder: Path, behind: int, check: str = "", mode: str = "http") -> Iterator[tuple[str, str]]:
    """An HAProxy that checks a server; gives its address, and that of its numbers as CSV."""
    assert HAPROXY is not None
    folder.mkdir()
    port, stats = free_port(), free_port()
    config = folder / "haproxy.cfg"
    config.write_text(_HAPROXY.format(port=port, behind=behind, check=check, mode=mode, stats=stats))
    with Process("haproxy", [HAPROXY, "-db", "-f", str(config)], output=folder / "output"):
        eventually(lambda: is_listening(port), within=20, what="haproxy listens")
        yield f"http://127.0.0.1:{port}", f"http://127.0.0.1:{stats}/;csv"
