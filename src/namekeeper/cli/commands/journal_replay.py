"""`namekeeper journal replay`: the whole state of a name server at a time."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

import click

from namekeeper.answers.from_journal import JournalFolder
from namekeeper.answers.render import explain_knowledge, knows_up_to_text
from namekeeper.answers.replayed import state_value
from namekeeper.answers.times import Zone, shown
from namekeeper.cli.failure import failure_of
from namekeeper.cli.history import (
    AT_HELP,
    EXIT_NOT_KNOWN,
    shown_reading,
    take_instant,
    take_zone,
    zone_option,
)
from namekeeper.cli.output import echo, json_option, note
from namekeeper.cli.render import render_json
from namekeeper.common.counts import shown_count
from namekeeper.common.printable import printable
from namekeeper.errors import NamekeeperError
from namekeeper.journal.reading.coverage import Knowledge
from namekeeper.journal.reading.replay import StateAt
from namekeeper.journal.reading.state import State
from namekeeper.model.perm import format_perm

__all__ = ["replay"]

_LINES_AT_ONCE = 1_000
"""Lines printed together: there may be millions."""


@click.command("replay", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("folder", metavar="DIR")
@click.option("--at", "at_text", metavar="TIME", help=f"{AT_HELP} By default the last that is known.")
@json_option()
@zone_option
@click.pass_context
def replay(
    context: click.Context, /, folder: str, *, at_text: str | None, zone_name: str | None, as_json: bool
) -> None:
    """Show the whole state of the name server whose journal is in DIR, at a time.

    Exits with 0 if it is known, 3 if not; then the last known state is shown.
    """
    zone = take_zone(zone_name)
    at = None if at_text is None else take_instant(at_text, zone)
    try:
        with shown_reading() as progress:
            journal = JournalFolder(folder, lambda done, total: progress(folder, done, total))
            found = journal.state_at(at)
    except NamekeeperError as error:
        raise failure_of(error) from error
    for text in journal.notes:
        note(f"note: {text}")
    if as_json:
        echo(render_json(_value(journal.namesrv, found)))
    else:
        lines = map(printable, _lines(journal.namesrv, found, zone))
        while some := list(islice(lines, _LINES_AT_ONCE)):
            echo("\n".join(some))
    if found.knowledge is not Knowledge.KNOWN:
        context.exit(EXIT_NOT_KNOWN)


def _value(namesrv: str, found: StateAt) -> dict[str, Any]:
    return {
        "namesrv": namesrv,
        "at": found.at,
        "knows_up_to": found.knows_up_to,
        "knowledge": found.knowledge,
        **state_value(found.state),
    }


def _lines(namesrv: str, found: StateAt, zone: Zone) -> Iterator[str]:
    known = knows_up_to_text(found.knows_up_to, zone)
    yield f"{namesrv} at {shown(found.at, zone)} ({known})"
    if found.knowledge is not Knowledge.KNOWN:
        yield f"{explain_knowledge(found.knowledge)}; this is the last known state:"
    tables = found.state.tables
    for name in sorted(tables.broker_addr_table):
        group = tables.broker_addr_table[name]
        members = ", ".join(f"{id_}={addr}" for id_, addr in sorted(group.broker_addrs.items()))
        topics = shown_count(len(tables.topics_of(name)), "topic")
        yield f"broker {name}  cluster {group.cluster}  {members}  {topics}"
    yield from _topic_lines(found.state)
    for namespace in sorted(found.state.kv):
        for key, value in sorted(found.state.kv[namespace].items()):
            yield f"kv {namespace}  {key}={value}"


def _topic_lines(state: State) -> Iterator[str]:
    tables = state.tables
    for topic in sorted(tables.topics()):
        for name, row in sorted(tables.rows_of(topic)):
            spec = row.effective
            queues = f"{spec.read_queue_nums} read, {spec.write_queue_nums} write"
            yield f"topic {topic}  {name}  {queues}  {format_perm(spec.perm)}"
