"""The attacks: what one or a few peers do, what the server holds before, and the limits that must hold.

Each is a function of the target that returns when all is sent, or never: its process is ended then.
"""

import contextlib
import json
import os
import socket
import struct
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from tests.attacks.crowds import (
    allow_connections,
    ask_for_cluster_information,
    ask_for_filtered_topic,
    ask_for_many_topics_of_many_names,
    ask_for_mapped_topic,
    ask_for_wide_topic,
    ask_for_zones_of_wide_topic,
    ask_in_bursts,
    be_across_all_names,
    be_refused_everywhere,
    begin_handshakes,
    change_and_leave_everywhere,
    leave_frames_half_sent,
    leave_little_unread_everywhere,
    map_queues,
    register_and_leave_everywhere,
    register_and_wait_everywhere,
    register_long_filter_servers,
    send_bodies_of_many_small_parts,
    send_bodies_of_many_topics,
    start_with_many_topics_of_many_names,
    start_with_wide_topic,
)
from tests.attacks.http_port import (
    ask_over_ever_new_connections,
    hang_in_handshakes,
    leave_heads_unfinished,
    never_read_pages,
    other_hosts_were_kept_out,
    send_bytes_in_tiny_records,
    send_frames_in_tiny_records,
    send_gzip_bombs,
    send_heads_without_bodies,
    send_slowly,
    take_all_slots,
)
from tests.attacks.large_frames import (
    end_binary_headers_at_once,
    keep_claims_of_odd_headers,
    leave_announced_frames_at_once,
)
from tests.attacks.pages import (
    SMALL_HISTORY,
    answer_notifications_without_end,
    ask_for_names_alike,
    ask_why_again_and_again,
    be_notified_everywhere,
    causes_take_too_much,
    change_permissions_before_the_page,
    come_and_go,
    look_up_ever_new_topics,
    name_brokers_that_resolve_slowly,
    others_waited_for_the_page,
    page_is_too_large,
    register_names_alike,
    too_many_were_notified,
    watch_many_topics,
)
from tests.attacks.peers import (
    Target,
    Wire,
    announcement,
    frame,
    opened,
    pipelined,
    registration,
    topics,
    wait_for_the_end,
)
from tests.attacks.timing import (
    RULES_FLAGS,
    measure_refusals,
    measure_refused_tokens,
    time_reveals_something,
    write_rules_with_users,
)
from tests.attacks.tls_port import burst_and_stay, read_lists_and_stay, send_most_of_large_hellos
from tests.attacks.waiting_lists import ask_with_bodies_and_leave, fill_budget_for_lists
from tests.support.wire.certificates import Certificates

__all__ = ["ROWS", "Row"]

Attack = Callable[[Target], None]
Prepare = Callable[[Target, contextlib.ExitStack], None]

MIB = 1 << 20
FRAME = 16 * MIB
VICTIM = "victim"


def _nothing(_target: Target, _stack: contextlib.ExitStack) -> None:
    """Prepare nothing."""


def _no_files(_folder: Path) -> None:
    """Write no file before the start."""


def _no_complaint(_target: Target) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class Row:
    """One attack."""

    key: str
    about: str
    attack: Attack
    prepare: Prepare = _nothing
    """Puts the server into the state that is attacked; what it opens stays open."""
    files: Callable[[Path], None] = _no_files
    """Writes what the server finds in its folder when it starts."""
    check: Callable[[Target], str] = _no_complaint
    """Looks at the server after the attack; returns what is wrong."""
    seconds: float = 10.0
    """The attack is ended after that."""
    lookup_ms: float = 250.0
    """Limit of the longest look-up."""
    state_mib: float = 0.0
    """What the attack may rightly leave in memory, as its requests were accepted."""
    flags: Mapping[str, str] = field(default_factory=dict)

    @property
    def can_share(self) -> bool:
        """Whether a server without files and settings for this row will do."""
        return not self.flags and self.files is _no_files


def hold_victim(count: int, target: Target, stack: contextlib.ExitStack) -> None:
    """Register a broker with many topics, and stay."""
    wire = stack.enter_context(Wire(target.port))
    header, _ = wire.ask(registration(VICTIM, topics("Victim", count), compressed=True))
    assert b'"code":0,' in header, header


def side_by_side(count: int, work: Callable[[int], None]) -> None:
    """Run a function in that many threads."""

    bugs: list[Exception] = []

    def quietly(index: int) -> None:
        try:
            work(index)
        except OSError:
            pass  # a server that closes connections defends itself
        except Exception as error:  # noqa: BLE001 - shown by the thread that waits
            bugs.append(error)

    threads = [threading.Thread(target=quietly, args=(index,), daemon=True) for index in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if bugs:
        raise bugs[0]


# Row 1: one request names a broker many times.


def repeat_broker_in_217(target: Target) -> None:
    queues = [
        {
            "brokerName": VICTIM,
            "perm": 6,
            "readQueueNums": 4 + 4 * (index % 2),
            "topicSysFlag": 0,
            "writeQueueNums": 4,
        }
        for index in range(target.times(2_000))
    ]
    body = json.dumps({"queueDatas": queues, "brokerDatas": []}).encode()
    with Wire(target.port) as wire:
        for index in range(3):
            wire.ask(frame(217, {"topic": f"Named{target.salt}{index}"}, body))


# Rows 2 and 7: many broker names.


def register_many_names(target: Target) -> None:
    rows = topics("Small", 2)
    frames = (
        registration(
            f"many{target.salt}-{index}", rows, cluster="Crowd", addr=f"10.1.{index >> 8}.{index & 255}:1"
        )
        for index in range(target.times(4_900))
    )
    pipelined(target.port, frames)


def be_refused_under_many_names(target: Target) -> None:
    rows = topics("Single", 1)
    frames = (
        registration(
            f"refused{target.salt}-{index}",
            rows,
            cluster=f"Refused{index}",
            addr=f"10.2.{index >> 8}.{index & 255}:1",
        )
        for index in range(target.times(60_000))
    )
    pipelined(target.port, frames)


def refused_names_stay(target: Target) -> str:
    with Wire(target.port) as wire:
        _, body = wire.ask(frame(106))
    names = body.count(b'"Refused')
    return f"{names:,} clusters of refused registrations stay" if names else ""


# Row 3: keys as long as a frame.


def send_huge_cluster_names(target: Target) -> None:
    filler = "c" * 900_000

    def flood(part: int) -> None:
        with Wire(target.port) as wire:
            for index in range(target.times(1_000)):
                fields = {
                    "clusterName": f"{part}-{index}-{filler}",
                    "brokerAddr": "10.3.0.1:1",
                    "brokerName": "b",
                }
                wire.send(frame(904, fields, oneway=True))
            wire.ask(frame(105, {"topic": "none"}))

    side_by_side(4, flood)


# Row 4: answers that nobody reads.


def fill_namespace(target: Target, stack: contextlib.ExitStack) -> None:
    value = "v" * 100_000
    pipelined(
        target.port, (frame(100, {"namespace": "Large", "key": f"k{i}", "value": value}) for i in range(108))
    )


def never_read_answers(target: Target) -> None:
    with opened(target.port, target.times(400)) as wires:
        for wire in wires:
            wire.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            wire.send(frame(219, {"namespace": "Large"}))
        wait_for_the_end()


# Rows 5, 6, 12: the budget of large bodies.


def announce_and_send_nothing(count: int, target: Target) -> None:
    def come_again(_: int) -> None:
        while True:
            with Wire(target.port) as wire:
                wire.send(announcement(FRAME))
                with contextlib.suppress(OSError):
                    wire.answer()

    side_by_side(target.times(count), come_again)


def send_a_byte_a_second(target: Target) -> None:
    """Keep large bodies coming, more slowly than any broker does."""
    pause = threading.Event()

    def trickle(_: int) -> None:
        while True:
            with contextlib.suppress(OSError), Wire(target.port) as wire:
                wire.send(announcement(FRAME))
                while True:
                    wire.send(b"x")
                    pause.wait(1.0)

    side_by_side(target.times(32), trickle)


def send_bombs(target: Target) -> None:
    version = b'{"counter":3,"stateVersion":0,"timestamp":1700000000000}'
    row = b"BombTopic 4 4 6 SINGLE_TAG {}"
    count = 129_000_000 // (len(row) + 4)
    deflate = zlib.compressobj(9)
    item = struct.pack(">i", len(row)) + row
    body = deflate.compress(struct.pack(">i", len(version)) + version + struct.pack(">i", count))
    body += b"".join(deflate.compress(item * 10_000) for _ in range(count // 10_000))
    body += deflate.compress(item * (count % 10_000) + struct.pack(">i", 2) + b"[]" + struct.pack(">i", 0))
    body += deflate.flush()
    frames = (
        registration(f"bomb{target.salt}-{index}", (), compressed=True, raw=body)
        for index in range(target.times(20))
    )
    pipelined(target.port, frames)


def send_rubbish(target: Target) -> None:
    head = announcement(FRAME)
    rubbish = os.urandom(FRAME - len(head))

    def flood(_: int) -> None:
        with Wire(target.port) as wire:
            wire.send(head)
            wire.send(rubbish)
            wire.answer()

    side_by_side(target.times(40), flood)


# Row 8 and one of 9: every topic of a name changed again and again.


def switch_permissions(target: Target) -> None:
    with Wire(target.port) as wire:
        while True:
            for code in (205, 327):
                wire.ask(frame(code, {"brokerName": VICTIM}))


def switch_permissions_pipelined(target: Target) -> None:
    both = (frame(205, {"brokerName": VICTIM}), frame(327, {"brokerName": VICTIM}))
    pipelined(target.port, (both[index % 2] for index in range(target.times(2_000))))


RETENTION = 64 * MIB
FOLDER_LIMIT = 2 * RETENTION + 256 * MIB
"""Beyond that the journal loses records until a checkpoint begins (`journal/disk/writer.py`)."""
SHRINK_SECONDS = 60.0


def folder_is_too_large(target: Target) -> str:
    """Say so if the folder is beyond its limit, or not back near what is to be kept within a minute."""

    def size() -> int:
        files = (target.folder / "journal").rglob("*")
        return sum(_size(file) for file in files)

    at_first = now = size()
    end = time.monotonic() + SHRINK_SECONDS
    while now > 1.5 * RETENTION and time.monotonic() < end:
        time.sleep(0.5)
        now = size()
    said = f"the journal's folder has %d MiB, to be {RETENTION // MIB}"
    if at_first > FOLDER_LIMIT:
        return said % (at_first // MIB)
    return said % (now // MIB) if now > 1.5 * RETENTION else ""


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except FileNotFoundError:  # sealed or deleted meanwhile
        return 0


# Row 9: requests that take long.


def list_all_topics(target: Target) -> None:
    def flood(_: int) -> None:
        pipelined(target.port, [frame(206)] * target.times(10))

    side_by_side(30, flood)


def send_headers_for_the_slow_reader(target: Target) -> None:
    members = ",".join(f"'k{index}':'v'" for index in range(4_200))
    header = f"{{'code':105,'language':'JAVA','version':513,'opaque':1,'flag':0,'extFields':{{{members}}}}}".encode()
    data = struct.pack(">II", 4 + len(header), len(header)) + header

    def flood(_: int) -> None:
        while True:
            with contextlib.suppress(OSError):
                pipelined(target.port, [data] * 20)

    side_by_side(target.times(100), flood)


def be_refused_with_318(target: Target) -> None:
    body = "".join(f"unknownProperty{index}=some value\n" for index in range(2_000)).encode()[:65_000]
    pipelined(target.port, [frame(318, {}, body)] * target.times(5_000))


# Row 10: bodies that the fast readers don't understand.


def send_odd_bodies(target: Target) -> None:
    member = ",\"Odd%06d\":{'topicName':'Odd%06d','perm':'6','readQueueNums':'4','writeQueueNums':'4'}"
    table = "".join(member % (index, index) for index in range(150_000))[1:]
    version = '"dataVersion":{"counter":"1","timestamp":"1"}'
    quoted = f'{{"topicConfigSerializeWrapper":{{{version},"topicConfigTable":{{{table}}}}}}}'
    bodies = (quoted.encode(), quoted.replace("'", '"').encode())
    with contextlib.suppress(OSError):
        for index in range(target.times(6)):
            pipelined(
                target.port, [registration(f"odd{target.salt}", (), raw=bodies[index % 2][: FRAME - 4_096])]
            )


# Row 11: a KV table that is printed.


def write_large_kv_file(folder: Path) -> None:
    table = {f"Namespace{part}": {f"key{index}": "value" for index in range(34_000)} for part in range(10)}
    (folder / "kv.json").write_text(json.dumps({"configTable": table}))


def wait(_target: Target) -> None:
    """Do nothing: time does it."""
    wait_for_the_end()


# Row 13: the port of the operators.


def sit_on_http_port(target: Target) -> None:
    with opened(target.http_port, target.times(64)):
        wait_for_the_end()


# More than the issue names.


def never_read_routes(target: Target) -> None:
    """Ask for routes without end and read no answer."""

    def flood(_: int) -> None:
        with Wire(target.port) as wire:
            wire.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            burst = frame(105, {"topic": "Known000001"}) * 1_000
            while True:
                wire.send(burst)

    side_by_side(target.times(64), flood)


def never_read_routes_of_many(topic: str, lookups: int, target: Target) -> None:
    """Do it over so many connections that small answers add up, so many lookups at a time."""
    allow_connections()
    burst = frame(105, {"topic": topic}) * lookups
    with opened(target.port, target.times(1_500)) as wires:
        for wire in wires:
            wire.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            wire.socket.setblocking(False)
        while True:
            for wire in wires:
                with contextlib.suppress(OSError):
                    wire.socket.send(burst)


def connect_and_leave(target: Target) -> None:
    """Open connections and close them, as fast as it goes."""

    def churn(_: int) -> None:
        while True:
            with Wire(target.port):
                pass

    side_by_side(target.times(8), churn)


def ask_for_unknown_topics(target: Target) -> None:
    """Look up topics that nobody has, each once, so that no cache helps."""

    def flood(part: int) -> None:
        names = (f"{target.salt}-{part}-{index}" for index in range(target.times(50_000)))
        pipelined(target.port, (frame(105, {"topic": name * 8}) for name in names))

    side_by_side(8, flood)


def send_bodies_to_be_refused(target: Target) -> None:
    """Send large bodies that can't be read, one after the other."""
    body = b'{"topicConfigSerializeWrapper":' + b"x" * (15 * MIB)
    for index in range(target.times(150)):
        with contextlib.suppress(OSError):
            pipelined(target.port, [registration(f"broken{index}", (), raw=body)])


def send_broken_frames(target: Target) -> None:
    """Send large frames whose header can't be right, each over a connection of its own."""
    data = struct.pack(">II", FRAME - 4, 0x00FF_FFFF) + b"x" * (FRAME - 8)
    for _ in range(target.times(150)):
        with contextlib.suppress(OSError):
            pipelined(target.port, [data])


# Row 50: the HTTP port over TLS.

OVER_TLS = {
    "http_tls_mode": "enforcing", "tls_test_mode_enable": "false",
    "tls_server_cert_path": "{folder}/server.pem", "tls_server_key_path": "{folder}/server.key",
}  # fmt: skip


def write_certificate(folder: Path) -> None:
    Certificates(folder).issue("server", "127.0.0.1")


# Row 19: access rules refuse.

ACCESS_RULES = """
mode = "enforce"
[[rule]]
name = "who looks up and registers"
requests = ["read", 103, 104, 322, 904]
networks = ["127.0.0.0/8"]
"""
JOURNAL_OF_REFUSALS, LOG_OF_REFUSALS = 2 * MIB, MIB


def write_access_rules(folder: Path) -> None:
    (folder / "access.toml").write_text(ACCESS_RULES)


def be_refused_by_rules(target: Target) -> None:
    def flood(part: int) -> None:
        for turn in range(target.times(250)):
            names = (f"{part}-{turn}-{index}-{target.salt}" for index in range(1_000))
            pipelined(target.port, [frame(216, {"topic": name}) for name in names])

    side_by_side(4, flood)


def refusals_fill_the_disk(target: Target) -> str:
    """Say so if journal or log grew with the flood; both have a limit for each minute."""
    for name, limit in (("journal", JOURNAL_OF_REFUSALS), ("logs", LOG_OF_REFUSALS)):
        size = sum(map(_size, (target.folder / name).rglob("*")))
        if size > limit:
            return f"{name} have {size:,} bytes, to be {limit:,} at most"
    return ""


def _among(rows: Iterable[Row]) -> Mapping[str, Row]:
    return {row.key: row for row in rows}


_hold_50k = partial(hold_victim, 50_000)
_hold_100k = partial(hold_victim, 100_000)
_hold_200k = partial(hold_victim, 200_000)
_never_read_short_routes = partial(never_read_routes_of_many, "Known000001", 1_000)
_never_read_long_routes = partial(never_read_routes_of_many, "Wide000000", 300)
_start_with_20 = partial(start_with_wide_topic, 20)
_start_with_4900 = partial(start_with_wide_topic, 4_900)
_start_with_1k = partial(start_with_wide_topic, 1_000)

ROWS = _among((
    Row("1", "217 names one broker 2,000 times", repeat_broker_in_217, _hold_50k),
    Row("2", "4,900 broker names of one cluster", register_many_names, state_mib=64, seconds=30),
    Row("3", "4,000 one-way 904 with cluster names of 900 KB", send_huge_cluster_names),
    Row("4", "400 connections never read 10.8 MB of 219", never_read_answers, fill_namespace),
    Row("5", "32 connections announce 16 MiB, send nothing", partial(announce_and_send_nothing, 32), lookup_ms=100),
    Row("5b", "64 connections announce 16 MiB, send nothing", partial(announce_and_send_nothing, 64), lookup_ms=100),
    Row("5c", "32 bodies of 16 MiB, a byte a second", send_a_byte_a_second, lookup_ms=100),
    Row("6", "20 registrations that inflate to 129 MB", send_bombs, lookup_ms=100),
    Row("7", "60,000 registrations refused, as many names", be_refused_under_many_names,
        check=refused_names_stay, lookup_ms=100, seconds=30),
    Row("8", "205 and 327 in turn on 100,000 topics", switch_permissions, _hold_100k, check=folder_is_too_large,
        lookup_ms=100, seconds=30, flags={"journal_retention_bytes": str(RETENTION)}),
    Row("9a", "300 x 206 with 200,000 topics", list_all_topics, _hold_200k, lookup_ms=100),
    Row("9b", "100 connections, headers for the slow reader", send_headers_for_the_slow_reader, lookup_ms=100),
    Row("9c", "5,000 refused 318 of 65 KB, pipelined", be_refused_with_318, lookup_ms=100),
    Row("9d", "205 and 327 pipelined on 100,000 topics", switch_permissions_pipelined, _hold_100k,
        lookup_ms=100, seconds=15),
    Row("10", "bodies of 13 MB in odd JSON", send_odd_bodies, seconds=20),
    Row("11", "340,000 KV entries are printed", wait, files=write_large_kv_file, seconds=65),
    Row("12", "40 x 16 MiB of rubbish at once", send_rubbish),
    Row("13", "64 idle connections to the operators' port", sit_on_http_port),
    Row("14", "64 connections ask for routes, read nothing", never_read_routes),
    Row("14b", "1,500 connections ask for routes, read nothing", _never_read_short_routes),
    Row("14c", "the same of a topic of 20 brokers", _never_read_long_routes, _start_with_20),
    Row("15", "connections that come and go", connect_and_leave),
    Row("16", "400,000 look-ups of unknown topics", ask_for_unknown_topics),
    Row("17", "150 bodies of 15 MB that are refused", send_bodies_to_be_refused),
    Row("18", "150 broken frames of 16 MB", send_broken_frames),
    Row("19", "1,000,000 requests that access rules refuse", be_refused_by_rules, files=write_access_rules,
        check=refusals_fill_the_disk, seconds=60, flags={"access_file": "{folder}/access.toml"}),
    Row("20", "10,000 frames of 64 KB, none sent to its end", leave_frames_half_sent, seconds=20),
    Row("21", "1,000 connections, 64 registrations wait in each", register_and_wait_everywhere),
    Row("22", "1,000 connections send 318, which is refused", be_refused_everywhere),
    Row("23", "a topic of 4,900 broker names, 100 connections", ask_for_wide_topic, _start_with_4900),
    Row("23b", "the same, each time narrowed to another zone", ask_for_zones_of_wide_topic, _start_with_4900),
    Row("23c", "the same of a topic of 1,000 broker names", ask_for_zones_of_wide_topic, _start_with_1k),
    Row("24", "106 with 4,900 broker names, 64 connections", ask_for_cluster_information, _start_with_4900),
    Row("25", "a static topic of 200,000 queues, 100 connections", ask_for_mapped_topic, map_queues),
    Row("26", "60 bodies of 15 MB with millions of small parts", send_bodies_of_many_small_parts),
    Row("27", "10 bodies of 7 million topics, broken at the end", send_bodies_of_many_topics),
    Row("28", "3,000 connections begin TLS, and go no further", begin_handshakes),
    Row("40", "700 addresses are registered, to be notified", be_notified_everywhere, check=too_many_were_notified,
        flags={"notify_min_broker_id_changed": "true"}),
    Row("41", "ever new topics are looked up, 20,000 at a time", look_up_ever_new_topics, seconds=30),
    Row("41b", "the same while lookups are remembered", look_up_ever_new_topics, seconds=30,
        flags={"remember_lookups": "true"}),
    Row("42", "1,680 watchers of 200 topics each, all changed", watch_many_topics, seconds=20),
    Row("43", "44 changes of 100,000 topics while the page is open", change_permissions_before_the_page,
        _hold_100k, check=page_is_too_large, seconds=60),
    Row("44", "64 requests announce a body, send none", send_heads_without_bodies),
    Row("44b", "300 connections send half a head, or nothing", leave_heads_unfinished),
    Row("45", "300 connections ask for pages and streams, read nothing", never_read_pages),
    Row("46", "600 connections of one host, another one asks", take_all_slots, check=other_hosts_were_kept_out),
    Row("47", "64 gzip bombs as bodies, again and again", send_gzip_bombs),
    Row("48", "64 notified brokers send frames without end", answer_notifications_without_end,
        flags={"notify_min_broker_id_changed": "true"}),
    Row("49", "300 notified brokers have slow host names", name_brokers_that_resolve_slowly,
        flags={"notify_min_broker_id_changed": "true"}),
    Row("50", "300 connections hang in the TLS handshake of the HTTP port", hang_in_handshakes,
        files=write_certificate, flags=OVER_TLS),
    Row("51", "300 connections send half a head, no body or nothing over TLS", send_slowly,
        files=write_certificate, flags=OVER_TLS),
    Row("52", "300 connections ask for pages and streams over TLS, read nothing", never_read_pages,
        files=write_certificate, flags=OVER_TLS),
    Row("53", "row 46 over TLS", take_all_slots, check=other_hosts_were_kept_out,
        files=write_certificate, flags=OVER_TLS),
    Row("54", "64 connections send 9,000 TLS records of one byte at once", send_bytes_in_tiny_records,
        files=write_certificate, flags=OVER_TLS),
    Row("55", "row 54 on the protocol port", send_frames_in_tiny_records),
    Row("56", "two hosts ask why, after a broker came and went 15,000 times", ask_why_again_and_again, come_and_go,
        check=causes_take_too_much, flags={"console_history_bytes": str(SMALL_HISTORY)}, seconds=20),
    Row("57", "a host asks for unknown topics with names like 8,000 others", ask_for_names_alike, register_names_alike,
        check=others_waited_for_the_page, seconds=20),
    Row("60", "the times of refused signatures are compared", measure_refusals, check=time_reveals_something,
        files=write_rules_with_users, flags=RULES_FLAGS, seconds=120),
    Row("61", "the times of refused tokens on the HTTP port are compared", measure_refused_tokens,
        check=time_reveals_something, files=write_rules_with_users, flags=RULES_FLAGS, seconds=120),
    Row("70", "9,000 frames of 65 KB are announced and left at once", leave_announced_frames_at_once, seconds=20),
    Row("71", "800 binary headers of 60 KB end at once", end_binary_headers_at_once, seconds=20),
    Row("72", "frames of 70 KB with odd headers over one connection", keep_claims_of_odd_headers, seconds=30),
    Row("73", "lists are asked for with 8 MB, connections leave", ask_with_bodies_and_leave, fill_namespace, seconds=20),
    Row("74", "lists are asked for with bodies that fill the budget", fill_budget_for_lists, fill_namespace, seconds=20),
    Row("75", "217 and 216 of a topic on 4,900 broker names", be_across_all_names, _start_with_4900, seconds=20,
        flags={"journal_queue_bytes": str(16 * MIB)}),
    Row("76", "registrations of 16 MB wait for a busy name, connections leave", register_and_leave_everywhere, seconds=20),
    Row("77", "first look-ups of topics of 990 broker names, 150 connections", ask_for_many_topics_of_many_names,
        start_with_many_topics_of_many_names, seconds=20, state_mib=48),  # caches of answers
    Row("78", "1,000 connections send 110 look-ups of unknown topics at once", ask_in_bursts, seconds=20),
    Row("79", "64 changes of a busy name wait in each connection, connections leave", change_and_leave_everywhere,
        seconds=20),
    Row("80", "60 connections read a list of 10 MB over TLS, and stay", read_lists_and_stay, fill_namespace, seconds=25),
    Row("81", "2,560 connections of 40 hosts send most of a TLS hello of 128 KiB", send_most_of_large_hellos, seconds=15),
    Row("82", "1,600 connections send 240 KB of lookups at once over TLS, and stay", burst_and_stay, seconds=60),
    Row("83", "a route of 150 MB, by long names of filter servers, is looked up", ask_for_filtered_topic,
        register_long_filter_servers),
    Row("84", "250 hosts ask for pages, each time over a new connection", ask_over_ever_new_connections,
        lookup_ms=75),
    Row("85", "4,500 connections leave 215 KB unread each", leave_little_unread_everywhere, _start_with_20, seconds=20),
))  # fmt: skip
"""All, by the number that the table shows; 14 and up are more than was seen to break."""
