"""Attacks over so many connections that what each of them may have adds up."""

import contextlib
import json
import resource
import selectors
import socket
import ssl
import struct
import threading
import zlib
from collections.abc import Callable, Sequence
from itertools import count

from namekeeper.model.topic import TopicConfig
from namekeeper.remoting.account import MAX_PENDING
from namekeeper.remoting.connection import SIMPLE_READ_BYTES
from tests.attacks.peers import (
    Target,
    Wire,
    frame,
    opened,
    pipelined,
    registration,
    topics,
    wait_for_the_end,
)
from tests.support.wire.peer import trusting

__all__ = [
    "allow_connections",
    "ask_for_cluster_information",
    "ask_for_filtered_topic",
    "ask_for_many_topics_of_many_names",
    "ask_for_mapped_topic",
    "ask_for_wide_topic",
    "ask_for_zones_of_wide_topic",
    "ask_in_bursts",
    "be_across_all_names",
    "be_refused_everywhere",
    "begin_handshakes",
    "change_and_leave_everywhere",
    "client_hello",
    "leave_frames_half_sent",
    "leave_little_unread_everywhere",
    "map_queues",
    "register_and_leave_everywhere",
    "register_and_wait_everywhere",
    "register_long_filter_servers",
    "send_bodies_of_many_small_parts",
    "send_bodies_of_many_topics",
    "start_with_many_topics_of_many_names",
    "start_with_wide_topic",
]

HALF_FRAME_BYTES = 65_000
"""Below the size from which a frame needs a place in the budget."""
MAPPED = "Mapped"
FILTERED = "Filtered"
READY_SECONDS = 60
READ_BYTES = 1 << 18
MANY_TOPICS = 400
"""Topics of 990 broker names: answers of 180 KB each, of which `routeCacheBytes` keeps fewer than 200."""
BURST = 110
"""Lookups that fit into one read of a connection."""
EMPTY_TEXTS = '"",' * 5_000_000


def allow_connections() -> None:
    """Have as many connections as the system lets one process have."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def leave_little_unread_everywhere(target: Target) -> None:
    """Leave less unread over each of 4,500 connections than makes a server stop reading.

    Small segments keep the kernel's buffers as small as those of a connection over a network.
    """
    allow_connections()
    burst = frame(105, {"topic": "Wide000000"}) * 8
    with contextlib.ExitStack() as stack:
        peers = [stack.enter_context(socket.socket()) for _ in range(target.times(4_500))]
        for peer in peers:
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 1_400)
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            peer.connect(("127.0.0.1", target.port))
            peer.setblocking(False)
        for _ in range(9):
            for peer in peers:
                with contextlib.suppress(OSError):
                    peer.send(burst)
        wait_for_the_end()


def leave_frames_half_sent(target: Target) -> None:
    """Send nearly all of a frame over each of 10,000 connections."""
    allow_connections()
    header = b'{"code":103,"language":"JAVA","version":513,"opaque":1,"flag":0,"extFields":{}}'
    data = struct.pack(">II", HALF_FRAME_BYTES - 4, len(header)) + header
    data += b"x" * (HALF_FRAME_BYTES - len(data) - 10)
    with opened(target.port, target.times(10_000)) as wires:
        for wire in wires:
            with contextlib.suppress(OSError):
                wire.send(data)
        wait_for_the_end()


def register_and_wait_everywhere(target: Target) -> None:
    """Send registrations of 60 KB that wait for each other, over 1,000 connections."""
    rows = topics("Wait", 380)
    name, addr = f"waits{target.salt}", "10.9.0.1:1"
    _keep_sending(
        target, 1_000, b"".join(registration(name, rows, addr=addr, counter=index) for index in range(64))
    )


def register_and_leave_everywhere(target: Target) -> None:
    """Keep a broker name busy, and send large registrations of this name over connections that close."""
    _wait_and_leave(target, registration("busy", (), addr="10.1.1.1:1", raw=b"{" + b"x" * 15_900_000), 0.2)


def change_and_leave_everywhere(target: Target) -> None:
    """Keep a broker name busy, and send many small changes of this name over connections that close."""
    _wait_and_leave(target, frame(205, {"brokerName": "busy"}) * MAX_PENDING, 0.001)


def _wait_and_leave(target: Target, data: bytes, seconds: float) -> None:
    head = registration(
        "busy", (), addr="10.1.1.1:1", compressed=True, raw=_broken_body(900_000, b"%x 4 4 6 SINGLE_TAG {}")
    )

    def keep_busy() -> None:
        while True:
            with contextlib.suppress(OSError), Wire(target.port) as wire:
                while True:
                    wire.ask(head)

    def leave() -> None:
        while True:
            with contextlib.suppress(OSError), Wire(target.port) as wire:
                wire.send(data)
                threading.Event().wait(seconds)

    for work, times in ((keep_busy, 3), (leave, 6)):
        for _ in range(target.times(times)):
            threading.Thread(target=work, daemon=True).start()
    wait_for_the_end()


def _broken_body(topics_count: int, topic: bytes) -> bytes:
    """A compressed body of that many topics, without what follows them."""
    version = b"{}"
    deflate = zlib.compressobj(1)
    body = deflate.compress(struct.pack(">I", len(version)) + version + struct.pack(">I", topics_count))
    for start in range(0, topics_count, 100_000):
        rows = (topic % number for number in range(start, start + 100_000))
        body += deflate.compress(b"".join(struct.pack(">I", len(row)) + row for row in rows))
    return body + deflate.flush()


def be_refused_everywhere(target: Target) -> None:
    """Send changes of the configuration, which are refused, over 1,000 connections."""
    body = "".join(f"unknownProperty{index}=some value\n" for index in range(2_000)).encode()[:60_000]
    _keep_sending(target, 1_000, frame(318, {}, body) * 8)


def start_with_wide_topic(names: int, target: Target, stack: contextlib.ExitStack) -> None:
    """Register so many broker names with the same topic, and stay."""
    _start_with(topics("Wide", 2), names, target, stack)  # one alone is refused


def start_with_many_topics_of_many_names(target: Target, stack: contextlib.ExitStack) -> None:
    """Register 990 broker names with the same topics, whose answers differ and do not fit into the cache."""
    rows = [TopicConfig(f"Many{index}", read_queue_nums=index + 1) for index in range(MANY_TOPICS)]
    _start_with(rows, 990, target, stack)


def _start_with(rows: Sequence[TopicConfig], names: int, target: Target, stack: contextlib.ExitStack) -> None:
    wire = stack.enter_context(Wire(target.port))
    answered = threading.Semaphore(0)

    def read() -> None:
        for _ in range(names):
            header, _ = wire.answer()
            assert b'"code":0,' in header, header
            answered.release()

    threading.Thread(target=read, daemon=True).start()
    for index in range(names):
        addr = f"10.7.{index >> 8}.{index & 255}:10911"
        wire.send(registration(f"wide-{index:05}", rows, cluster="Wide", addr=addr))
    for _ in range(names):
        assert answered.acquire(timeout=READY_SECONDS), "it was refused"


def be_across_all_names(target: Target) -> None:
    """Give a topic to 4,900 broker names by one 217, change all its rows, and delete it by one 216, again and again."""
    with Wire(target.port) as wire:
        while True:
            for count_of_queues in (4, 8):
                body = _queues_of_wide_names(target.times(4_900), count_of_queues)
                wire.ask(frame(217, {"topic": "Across"}, body))
            wire.ask(frame(216, {"topic": "Across"}))


def _queues_of_wide_names(names: int, queues: int) -> bytes:
    rest = {"perm": 6, "readQueueNums": queues, "writeQueueNums": 4, "topicSysFlag": 0}
    rows = [{"brokerName": f"wide-{index:05}", **rest} for index in range(names)]
    return json.dumps({"queueDatas": rows, "brokerDatas": []}).encode()


def ask_for_wide_topic(target: Target) -> None:
    """Look the topic up over 100 connections, each time with another header, so that no cache helps."""
    _look_up(target, lambda name: {"topic": "Wide000000", "x": name})


def ask_for_many_topics_of_many_names(target: Target) -> None:
    """Look up topics that 990 broker names have over 150 connections, one after the other in each."""
    part = target.times(150)

    def ask(first: int) -> None:
        with contextlib.suppress(OSError), Wire(target.port) as wire:
            for index in count(first, part):
                wire.ask(frame(105, {"topic": f"Many{index % MANY_TOPICS}", "x": str(index)}))

    for first in range(part):
        threading.Thread(target=ask, args=(first,), daemon=True).start()
    wait_for_the_end()


def ask_for_zones_of_wide_topic(target: Target) -> None:
    """The same, narrowed to a zone, another one each time."""
    _look_up(target, lambda name: {"topic": "Wide000000", "__ZONE_MODE": "true", "__ZONE_NAME": name})


def begin_handshakes(target: Target) -> None:
    """Send a TLS client's first message over 3,000 connections at once, and nothing more, again and again."""
    allow_connections()
    hello = client_hello()
    while True:
        with opened(target.port, target.times(3_000)) as wires:
            for wire in wires:
                with contextlib.suppress(OSError):
                    wire.send(hello)
            threading.Event().wait(2.0)


def client_hello() -> bytes:
    """The first message of a TLS client."""
    outgoing = ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        trusting().wrap_bio(ssl.MemoryBIO(), outgoing).do_handshake()
    return outgoing.read()


def map_queues(target: Target, stack: contextlib.ExitStack) -> None:
    """Register a static topic with as many queues as it may have, on four broker names, and stay."""
    wire = stack.enter_context(Wire(target.port))
    for index in range(4):
        name = f"mapper{index}"
        ids = {str(number): number for number in range(50_000)}
        mapping = {"bname": name, "topic": MAPPED, "totalQueues": len(ids), "currIdMap": ids}
        table = {topic: {"topicName": topic, "perm": 6} for topic in (MAPPED, "Other")}
        wrapper = {"topicConfigTable": table, "topicQueueMappingInfoMap": {MAPPED: mapping}}
        body = json.dumps({"topicConfigSerializeWrapper": wrapper}).encode()
        header, _ = wire.ask(registration(name, (), addr=f"10.8.0.{index}:10911", raw=body))
        assert b'"code":0,' in header, header


def register_long_filter_servers(target: Target, stack: contextlib.ExitStack) -> None:
    """Register 300 broker names with a topic and 1,000 filter servers with long names, and stay."""
    wire = stack.enter_context(Wire(target.port))
    table = {topic: {"topicName": topic, "perm": 6} for topic in (FILTERED, "Other")}
    servers = [f"{number}" + "f" * 500 for number in range(1_000)]
    body = json.dumps(
        {"topicConfigSerializeWrapper": {"topicConfigTable": table}, "filterServerList": servers}
    ).encode()
    for index in range(300):
        addr = f"10.9.{index >> 8}.{index & 255}:10911"
        header, _ = wire.ask(registration(f"filter{index}", (), addr=addr, raw=body))
        assert b'"code":0,' in header, header


def ask_for_filtered_topic(target: Target) -> None:
    """Look up the topic with these filter servers over four connections, again and again."""
    data = b"".join(frame(105, {"topic": FILTERED}) for _ in range(10))
    _keep_sending(target, 4, data)


def send_bodies_of_many_small_parts(target: Target) -> None:
    """Send bodies of 15 MB, whose reading costs the more for each byte the smaller their parts are."""
    mappings = ",".join(f'"{number:x}":{{"bname":""}}' for number in range(700_000))
    queues = ",".join(f'"{number}":0' for number in range(1_200_000))
    wrapped = '{{"topicConfigSerializeWrapper":{{"topicQueueMappingInfoMap":{{{}}}}}}}'
    bodies = (
        f'{{"filterServerList":[{EMPTY_TEXTS}""]}}',
        wrapped.format(mappings),
        wrapped.format(f'"T":{{"bname":"","currIdMap":{{{queues}}}}}'),
    )
    for index in range(target.times(60)):
        raw = bodies[index % len(bodies)].encode()
        with contextlib.suppress(OSError):
            pipelined(target.port, [registration(f"parts{index}", (), raw=raw)])


def send_bodies_of_many_topics(target: Target) -> None:
    """Send compressed bodies of seven million topics each, which are broken at the end."""
    body = _broken_body(7_000_000, b"%x 4 4 6 X")
    for index in range(target.times(10)):
        with contextlib.suppress(OSError):
            pipelined(target.port, [registration(f"topics{index}", (), compressed=True, raw=body)])


def _look_up(target: Target, fields: Callable[[str], dict[str, str]]) -> None:
    def flood(part: int) -> None:
        with contextlib.suppress(OSError):
            pipelined(target.port, (frame(105, fields(f"{part}-{index}")) for index in count()))

    for part in range(target.times(100)):
        threading.Thread(target=flood, args=(part,), daemon=True).start()
    wait_for_the_end()


def ask_in_bursts(target: Target) -> None:
    """Send bursts that just fit into one read over 1,000 connections, each when the last one is answered."""
    allow_connections()
    burst = b"".join(frame(105, {"topic": f"Nobody{index:03}"}) for index in range(BURST))
    assert len(burst) < SIMPLE_READ_BYTES
    with opened(target.port, target.times(1_000)) as wires:
        while True:
            for wire in wires:
                wire.send(burst)
            for wire in wires:
                for _ in range(BURST):
                    wire.answer()


def ask_for_mapped_topic(target: Target) -> None:
    """Look up a static topic of many queues, narrowed to a zone, another one each time."""
    _look_up(target, lambda name: {"topic": MAPPED, "__ZONE_MODE": "true", "__ZONE_NAME": name})


def ask_for_cluster_information(target: Target) -> None:
    """Ask for the brokers of all clusters over 64 connections, again and again."""

    def flood(_: int) -> None:
        with contextlib.suppress(OSError):
            pipelined(target.port, (frame(106) for _ in count()))

    for part in range(target.times(64)):
        threading.Thread(target=flood, args=(part,), daemon=True).start()
    wait_for_the_end()


def _keep_sending(target: Target, connections: int, burst: bytes) -> None:
    """Send the same bytes again and again, as fast as each connection takes them, and read what comes."""
    allow_connections()
    selector = selectors.DefaultSelector()
    with opened(target.port, target.times(connections)) as wires:
        for wire in wires:
            wire.socket.setblocking(False)
            selector.register(wire.socket, selectors.EVENT_READ | selectors.EVENT_WRITE, [wire, 0])
        while selector.get_map():
            for key, events in selector.select():
                wire, sent = key.data
                try:
                    if events & selectors.EVENT_READ and not wire.socket.recv(READ_BYTES):
                        selector.unregister(wire.socket)
                    elif events & selectors.EVENT_WRITE:
                        key.data[1] = (sent + wire.socket.send(memoryview(burst)[sent:])) % len(burst)
                except BlockingIOError:
                    pass
                except OSError:  # closed by the server, which defends itself
                    selector.unregister(wire.socket)
