"""What is asked of the golden journals, warehouse and name server, and what today's code answers: text that is stored beside them.

An answer is stored with its command, its exit status and all that it prints. `python -m tests.golden --write` stores
the answers of the code that it runs with.
"""

import contextlib
import hashlib
import json
import os
import re
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache, partial
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from namekeeper.cli.group import namekeeper
from namekeeper.pipeline.answers.warehouse import open_warehouse
from namekeeper.pipeline.gold.steps import make_gold
from namekeeper.pipeline.gold.tables import GOLD
from namekeeper.pipeline.schema import FACTS
from namekeeper.pipeline.store.parquet_store import ParquetReader
from tests.golden.recorded_frames import SEEDS, replay, requests_in
from tests.golden.written_journals import BEGIN_MS, MINUTE_MS, NAME_SERVERS
from tests.golden.written_warehouse import table_text
from tests.support.pipeline.duck import Duck
from tests.support.system.processes import eventually

__all__ = [
    "ANSWERS",
    "EXPECTED",
    "FRAMES",
    "JOURNALS",
    "QUESTIONS",
    "RECOMPUTED",
    "WAREHOUSE",
    "answers_of",
    "computed_gold",
    "stored_answers",
    "stored_warehouse",
]

JOURNALS = Path(__file__).with_name("journals")
WAREHOUSE = Path(__file__).with_name("warehouse")
FRAMES = Path(__file__).with_name("frames")
EXPECTED = Path(__file__).with_name("expected")
RECOMPUTED = ("incident",)
"""Tables whose rules have changed since the warehouse was written: the next run makes other rows."""

Command = tuple[str, ...]

_TOPICS = (
    "orders",
    "payments",
    "refunds",
    "static",
    "late",
    "manual",
    "only-c",
    "legacy",
    "%RETRY%group",
    "Nope",
)
_MINUTES = (0, 9, 16, 21, 30, 38, 52, 56, 68, 79)
"""Before, between and after the happenings of `written_journals`."""
_BETWEEN_ANSWERS = re.compile(r"\n(?=\$ namekeeper )")
_ALL = tuple(option for namesrv in NAME_SERVERS for option in ("--journal", namesrv))


def _at(minutes: float) -> str:
    return (
        datetime.fromtimestamp((BEGIN_MS + minutes * MINUTE_MS) / 1_000, UTC)
        .isoformat()
        .replace("+00:00", "Z")
    )


def _history_questions(source: Sequence[str], minutes: Sequence[int]) -> Mapping[str, Sequence[Command]]:
    """File of answers -> the commands that ask a source of history.

    Args:
        source: the options that name it.
        minutes: the instants of `why`; `route-at` and the JSON of `why` take some of them.
    """

    def ask(*words: str) -> Command:
        return (*words, *source, "--zone", "UTC")

    whole = ("--from", _at(0), "--to", _at(100))
    windows = [(_at(7), _at(32)), (_at(49), _at(58)), (_at(75), _at(92))]
    names = (
        "orders",
        "payments",
        "broker-a",
        "broker-b",
        "broker-big",
        "10.0.0.1",
        "10.0.0.33:10911",
        "Nope",
    )
    return {
        "why.txt": [ask("why", topic, "--at", _at(minute)) for minute in minutes for topic in _TOPICS]
        + [ask("why", "orders"), ask("why", "many-0007-of-a-broker", "--at", _at(44))],
        "why_json.txt": [
            ask("why", topic, "--at", _at(minute), "--json")
            for minute in minutes[::3]
            for topic in ("orders", "payments", "late", "Nope")
        ],
        "route_at.txt": [
            ask("route-at", topic, "--at", _at(minute), *form)
            for minute in minutes[::2]
            for topic, form in (
                ("orders", ()), ("static", ("-o", "wide")), ("payments", ("-o", "wide")), ("refunds", ("--json",)),
            )
        ]
        + [ask("route-at", "orders", "--namesrv", NAME_SERVERS[0], "--json")],
        "history.txt": [ask("history", *whole)]
        + [ask("history", name, *whole) for name in names]
        + [ask("history", name, *whole, "-o", "wide") for name in ("orders", "broker-b")],
        "history_json.txt": [ask("history", "--from", begin, "--to", end, "--json") for begin, end in windows]
        + [ask("history", name, *whole, "--json") for name in ("payments", "broker-a")],
        "audit.txt": [ask("audit", *whole), ask("audit", *whole, "--json")],
    }  # fmt: skip


def _journal_questions() -> Mapping[str, Sequence[Command]]:
    """The same for the commands that read one journal."""
    forms = ((), ("--json",))
    return {
        "journal_ls.txt": [
            ("journal", "ls", namesrv, *form) for namesrv in NAME_SERVERS for form in ((), ("-o", "wide"), ("--json",))
        ],
        "journal_verify.txt": [("journal", "verify", namesrv, *form) for namesrv in NAME_SERVERS for form in forms],
        "journal_replay.txt": [
            ("journal", "replay", namesrv, "--at", _at(minute), "--zone", "UTC", *form)
            for namesrv in NAME_SERVERS
            for minute, form in ((-1, ()), (16, ("--json",)), (21, ()), (31, ()), (33, ()), (52, ("--json",)), (60, ()))
        ]
        + [("journal", "replay", namesrv, "--zone", "UTC", *form) for namesrv in NAME_SERVERS for form in forms],
    }  # fmt: skip


def answers_of(commands: Iterable[Command], folder: Path) -> str:
    """Every command with what it prints in a folder."""
    with contextlib.chdir(folder):
        return "\n".join(map(_answer, commands))


def stored_answers(name: str) -> Sequence[str]:
    """The answers of a file of `QUESTIONS`, each with its command."""
    return _BETWEEN_ANSWERS.split((EXPECTED / name).read_text())


def _answer(command: Command) -> str:
    done = CliRunner().invoke(namekeeper, command, env={"COLUMNS": "200", "NAMESRV_ADDR": None})
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return f"$ namekeeper {' '.join(command)}\n{done.output}[exit status {done.exit_code}]\n"


_VIEWS = (
    "overview", "troubles", "brokers", "topics?limit=20", "topics?limit=20&text=many", "changes?limit=500",
    "changes?topic=payments", "changes?broker=broker-b&cause=register_broker", "changes?text=10.9.9.9", "search?q=o",
    "topic?name=orders", "topic?name=payments", "topic?name=static", "topic?name=ordres", "broker?name=broker-a",
    "broker?name=broker-b", "broker?name=10.0.1.1:10911", "broker?name=brokr-a", "why?name=Nope",
    f"audit?from={BEGIN_MS}&to={BEGIN_MS + 100 * MINUTE_MS}", "who_knows?name=orders", "topic", "why?name=x&at=never",
)  # fmt: skip
_VIEWS_AT = (
    "overview", "troubles", "brokers", "brokers?only=acting", "topics?limit=20", "beside", "topic?name=orders",
    "why?name=payments", "why?name=orders",
)  # fmt: skip


def _views() -> Iterator[str]:
    yield from _VIEWS
    for minute in (9, 16, 21, 40, 56, 79):
        at = BEGIN_MS + minute * MINUTE_MS
        for view in _VIEWS_AT:
            yield f"{view}{'&' if '?' in view else '?'}at={at}"
    first, second, third = NAME_SERVERS
    at = BEGIN_MS + 33 * MINUTE_MS
    yield f"compare?a={first}&a_at={at}&b={third}"
    yield f"compare?a={first}&a_at={at}&b={second}&b_at={at}"
    yield f"compare?a={second}&a_at={at}&b={second}&b_at={BEGIN_MS + 60 * MINUTE_MS}"
    yield f"compare?a={first}&b={third}"
    yield f"compare?a={first}&b=nobody"


def ask_console(source: Sequence[str], folder: Path) -> str:
    """Every view of `namekeeper console`, which runs in a folder, as JSON; without the present time and revisions.

    Args:
        source: the options that name the source of history.
        folder: where it runs.
    """
    command = [sys.executable, "-m", "namekeeper", "console", "--port", "0", "--until-eof", *source]
    env = {name: value for name, value in os.environ.items() if name != "NAMESRV_ADDR"}
    with subprocess.Popen(
        command, cwd=folder, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as console:
        assert console.stdin is not None
        assert console.stdout is not None
        try:
            address = console.stdout.readline().strip()
            eventually(lambda: _is_read(address), within=30, what="histories that are read")
            return "\n".join(f"GET /api/{view}\n{_shown(address, view)}\n" for view in _views())
        finally:
            console.stdin.close()
            console.wait(60)


def _is_read(address: str) -> bool:
    _, value = _get(address, "overview")
    rows = value["namesrvs"]
    return all(
        row["progress"][0] == row["progress"][1]
        and row["at"]
        and (row["knows_from"] or 0) < row["at"] == row["knows_up_to"]
        for row in rows
    )


def _shown(address: str, view: str) -> str:
    status, value = _get(address, view)
    for name in ("now", "revision"):
        value.pop(name, None)
    return "\n".join([str(status), *_lines(value)])


def _lines(value: Mapping[str, Any]) -> Iterator[str]:
    """A line for each member, and for each element of a list."""
    for name, member in value.items():
        if isinstance(member, list) and member:
            yield f"{name}:"
            yield from (f"  {json.dumps(element, ensure_ascii=False)}" for element in member)
        else:
            yield f"{name}: {json.dumps(member, ensure_ascii=False)}"


def _get(address: str, view: str) -> tuple[int, dict[str, Any]]:
    try:
        with urllib.request.urlopen(f"{address}api/{view}", timeout=60) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


def digests(folder: Path) -> str:
    """Digest of the records of each journal as `journal cat` prints them."""
    lines = []
    for namesrv in NAME_SERVERS:
        answer = answers_of([("journal", "cat", namesrv)], folder)
        lines.append(f"{hashlib.sha256(answer.encode()).hexdigest()}  {namesrv}\n")
    return "".join(lines)


def _report(section: str) -> Command:
    return ("report", section, "--warehouse", WAREHOUSE.name)


_SECTIONS = ("incidents", "availability", "topics", "flaps", "drift", "capacity", "changes", "unknown-topics")
_WAREHOUSE = ("--warehouse", WAREHOUSE.name)


def stored_warehouse() -> ParquetReader:
    """The tables of the golden warehouse."""
    reader = open_warehouse(str(WAREHOUSE))
    assert isinstance(reader, ParquetReader)
    return reader


@cache
def _stored_tables() -> Duck:
    duck = Duck()
    duck.read(stored_warehouse(), [*FACTS, *GOLD])
    return duck


def _table(name: str) -> str:
    return table_text(_stored_tables().rows(f"stored_{name}"))


def _replayed(file: Path) -> str:
    answers, _ = replay(requests_in(file))
    return answers


@cache
def computed_gold() -> Duck:
    """What today's queries make of the facts of the warehouse."""
    duck = Duck()
    make_gold(duck, duck.read(stored_warehouse(), FACTS))
    return duck


def _recomputed(name: str) -> str:
    return table_text(computed_gold().gold(name))


QUESTIONS: Mapping[str, tuple[Sequence[Command], Path]] = {
    **{
        f"journals/{name}": (commands, JOURNALS)
        for name, commands in {**_history_questions(_ALL, _MINUTES), **_journal_questions()}.items()
    },
    **{
        f"warehouse/{name}": (commands, WAREHOUSE.parent)
        for name, commands in _history_questions(_WAREHOUSE, (30, 79)).items()
    },
    "warehouse/report.txt": ([*map(_report, _SECTIONS)], WAREHOUSE.parent),
}
"""File -> the commands whose answers it has, and the folder in which they run."""
ANSWERS: Mapping[str, Callable[[], str]] = {
    **{name: partial(answers_of, *asked) for name, asked in QUESTIONS.items()},
    "journals/journal_cat.sha256": partial(digests, JOURNALS),
    "journals/console.txt": partial(ask_console, _ALL, JOURNALS),
    "warehouse/console.txt": partial(ask_console, _WAREHOUSE, WAREHOUSE.parent),
    **{f"tables/{name}.txt": partial(_table, name) for name in (*FACTS, *GOLD)},
    **{f"recomputed/{name}.txt": partial(_recomputed, name) for name in RECOMPUTED},
    **{f"frames/{seed}.txt": partial(_replayed, FRAMES / f"{seed}.txt") for seed in SEEDS},
}
"""File -> what makes its text."""
