"""Attacks on the HTTP port: slow senders, readers that do not read, greedy hosts, compressed bodies, TLS.

All come from the host of the probes, as if both were behind one proxy, but for those of greedy hosts. Where the
port has TLS the attackers complete the handshake first.
"""

import contextlib
import select
import socket
import ssl
import struct
import threading
import time
import urllib.request
import zlib
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count

from tests.attacks.crowds import allow_connections, client_hello
from tests.attacks.peers import Target, write_down
from tests.support.wire.peer import trusting

__all__ = [
    "ask_over_ever_new_connections",
    "hang_in_handshakes",
    "leave_heads_unfinished",
    "never_read_pages",
    "other_hosts_were_kept_out",
    "send_bytes_in_tiny_records",
    "send_frames_in_tiny_records",
    "send_gzip_bombs",
    "send_heads_without_bodies",
    "send_slowly",
    "take_all_slots",
]

GREEDY_HOST = "127.0.0.2"
TRUSTING = trusting()
RECORDS = 9_000
FRAME_BYTES = 1 << 20
KEPT_OUT_FILE = "kept-out"
BOMB_MIB = 60
"""Packed, it is no larger than a whole request may be."""
UNREAD = 2_000
FLOOD = 50
"""Connections until a pause of 10 ms: some thousands a second, more than the server answers."""
PATHS = ("/metrics", "/watch?topic=Known000001", "/api/events", "/status", "/journal")


def _head(line: str, *headers: str) -> bytes:
    return "\r\n".join((f"{line} HTTP/1.1", "Host: 127.0.0.1", *headers, "", "")).encode()


def send_heads_without_bodies(target: Target) -> None:
    """Announce bodies and send none of them."""
    _stay(
        target,
        64,
        [_head("GET /metrics", "Content-Length: 10"), _head("POST /api/login", "Content-Length: 10")],
    )


def leave_heads_unfinished(target: Target) -> None:
    """Send a part of a request, or nothing, over each of many connections."""
    _stay(target, 300, [b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ", b""])


def send_slowly(target: Target) -> None:
    """Do both: half of the peers send no end of a head, the others no body."""
    begin = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "
    _stay(target, 300, [begin, _head("POST /api/login", "Content-Length: 10"), b""])


def never_read_pages(target: Target) -> None:
    """Ask for pages, files of the journal and streams, and read nothing."""
    journal = [f"/journal/{file.name}" for file in (target.folder / "journal").glob("*.jsonl*")]
    _stay(target, 300, [_head(f"GET {path}") for path in (*PATHS, *journal)])


def take_all_slots(target: Target) -> None:
    """Take every place from one host, while another host asks for a page that needs a place."""
    threading.Thread(target=_ask_beside, args=(target,), daemon=True).start()
    requests = [_head(f"GET {path}") for path in PATHS]
    _stay(target, 600, [*requests, b"GET /status HTTP/1.1\r\n"], host=GREEDY_HOST)


def send_bytes_in_tiny_records(target: Target) -> None:
    """Send requests that are too long over many connections at once, each byte in a TLS record of its own."""
    _send_tiny_records(target, target.http_port, _head("GET /status", "X: ")[:-4])


def send_frames_in_tiny_records(target: Target) -> None:
    """Do the same on the protocol port, with the begin of a large frame."""
    _send_tiny_records(target, target.port, struct.pack(">II", FRAME_BYTES, FRAME_BYTES // 2))


def _send_tiny_records(target: Target, port: int, begin: bytes) -> None:
    while True:
        with contextlib.ExitStack() as stack:
            prepared = [_tiny_records(stack, port, begin) for _ in range(target.times(64))]
            for connection, data in prepared:
                with contextlib.suppress(OSError):
                    connection.settimeout(0.0)
                    connection.send(data)


def _tiny_records(stack: contextlib.ExitStack, port: int, begin: bytes) -> tuple[socket.socket, bytes]:
    """A connection after its handshake, and the bytes of an endless request in tiny records."""
    connection = stack.enter_context(socket.create_connection(("127.0.0.1", port), 30))
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = TRUSTING.wrap_bio(incoming, outgoing)
    while True:
        try:
            tls.do_handshake()
            break
        except ssl.SSLWantReadError:
            connection.sendall(outgoing.read())
            incoming.write(connection.recv(65_536))
    tls.write(begin)
    for _ in range(RECORDS):
        tls.write(b"x")
    return connection, outgoing.read()


def _ask_beside(target: Target) -> None:
    file = target.folder / KEPT_OUT_FILE
    asked = refused = 0
    while True:
        asked += 1
        try:
            url = f"{target.scheme}://127.0.0.1:{target.http_port}/status"
            with urllib.request.urlopen(url, timeout=30, context=TRUSTING) as answer:
                answer.read()
        except OSError:
            refused += 1
        write_down(file, f"{asked} {refused}")


def other_hosts_were_kept_out(target: Target) -> str:
    """Say so if another host got no page, or nobody asked."""
    file = target.folder / KEPT_OUT_FILE
    asked, refused = map(int, file.read_text().split()) if file.exists() else (0, 0)
    if not asked:
        return "the other host had no answer at all"
    return f"the other host was refused {refused} of {asked} pages" if refused else ""


def ask_over_ever_new_connections(target: Target) -> None:
    """Ask for pages from 250 hosts, each time over a new connection, and close it unread some time later.

    It waits for nothing, and keeps the queue of the kernel full if the server accepts too few.
    """
    allow_connections()
    requests = (_head("GET /metrics"), _head("GET /watch?topic=Known000001"), _head("GET /status"), b"GET /")
    kept: deque[socket.socket] = deque()
    for turn in count():
        peer = socket.socket()
        kept.append(peer)
        peer.setblocking(False)
        with contextlib.suppress(OSError):
            peer.bind((f"127.0.1.{turn % 250 + 1}", 0))
            peer.connect_ex(("127.0.0.1", target.http_port))
            peer.send(requests[turn % len(requests)])
        if len(kept) > UNREAD:
            kept.popleft().close()
        if turn % target.times(FLOOD) == 0:
            time.sleep(0.01)


def send_gzip_bombs(target: Target) -> None:
    """Send bodies that inflate to a thousand times their size, half of them in chunks."""
    deflate = zlib.compressobj(9, zlib.DEFLATED, 31)
    block = bytes(1 << 20)
    body = b"".join(deflate.compress(block) for _ in range(BOMB_MIB)) + deflate.flush()
    zipped = "Content-Encoding: gzip"
    whole = _head("GET /status", zipped, f"Content-Length: {len(body)}") + body
    chunked = _head("GET /status", zipped, "Transfer-Encoding: chunked") + b"%x\r\n%s\r\n0\r\n\r\n" % (
        len(body),
        body,
    )

    def flood(index: int) -> None:
        while True:
            with contextlib.suppress(OSError), _connected(target, "") as connection:
                connection.sendall((whole, chunked)[index % 2])
                while connection.recv(4_096):  # it stays, so that the server may read the rest
                    pass

    _in_threads(target.times(64), flood)


def hang_in_handshakes(target: Target) -> None:
    """Begin TLS over each of many connections, or send nothing."""
    _stay(replace(target, scheme="http"), 300, [client_hello(), b""])


def _in_threads(count: int, work: Callable[[int], None]) -> None:
    threads = [threading.Thread(target=work, args=(index,), daemon=True) for index in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _connected(target: Target, host: str) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", target.http_port), 30, (host, 0) if host else None)
    return TRUSTING.wrap_socket(connection) if target.scheme == "https" else connection


def _stay(target: Target, count: int, requests: Sequence[bytes], host: str = "") -> None:
    """Keep that many connections, each with one of the requests; open those again that the server closes."""
    allow_connections()
    kept: dict[int, tuple[socket.socket, bytes]] = {}
    with select.epoll() as closed:
        for index in range(target.times(count)):
            _open(closed, kept, target, requests[index % len(requests)], host)
        while True:
            for descriptor, _ in closed.poll():
                connection, request = kept.pop(descriptor)
                closed.unregister(descriptor)
                connection.close()
                _open(closed, kept, target, request, host)


def _open(
    closed: select.epoll,
    kept: dict[int, tuple[socket.socket, bytes]],
    target: Target,
    request: bytes,
    host: str,
) -> None:
    """Open a connection, of which only the end is seen: what arrives stays unread."""
    while True:
        with contextlib.suppress(OSError):
            connection = _connected(target, host)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            connection.sendall(request)
            kept[connection.fileno()] = (connection, request)
            closed.register(connection, select.EPOLLRDHUP)
            return
