"""`namekeeper undo`: restore what administrative requests changed in a period."""

import asyncio
import re
from collections.abc import Iterator

import click

from namekeeper.admin.operations import (
    Namesrv,
    delete_kv_config,
    get_kv_config,
    put_kv_config,
    register_topic,
    topic_route,
)
from namekeeper.answers.evidence import FOREVER
from namekeeper.answers.phrases import caused_by
from namekeeper.answers.source import PastAnswers
from namekeeper.answers.timeline import row_change_text
from namekeeper.answers.times import Zone, shown
from namekeeper.answers.undo import UndoPlan, plan_undo
from namekeeper.cli.failure import failure_of
from namekeeper.cli.history import (
    AT_HELP,
    EXIT_NOT_KNOWN,
    has_records_of,
    history_options,
    shown_reading,
    take_instant,
    take_sender,
    take_source,
    take_zone,
)
from namekeeper.cli.output import echo, note
from namekeeper.cli.render import render_json
from namekeeper.cli.sections import SectionedCommand
from namekeeper.cli.spark import MakeSession
from namekeeper.common.counts import shown_count
from namekeeper.common.printable import printable
from namekeeper.errors import ConfigError, NamekeeperError, ResponseError
from namekeeper.history.rows import AnyKey, KvKey, Row, RowChange, TopicKey, What, is_about_a_name
from namekeeper.journal.contract.record import Kv, TopicQueuesRow
from namekeeper.model.topic import QueueData
from namekeeper.remoting.address import parse_address
from namekeeper.wire.codes import ResponseCode

__all__ = ["EXIT_LEFT", "undo"]

_HAS_DATE = re.compile(r"\d{4}")
"""The start of a time that is the same tomorrow: a date, or seconds since 1970."""
EXIT_LEFT = 1
"""Exit status: some rows are left as they are."""


@click.command("undo", cls=SectionedCommand, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("name", metavar="[TOPIC|BROKER]", required=False)
@click.option(
    "--from",
    "from_text",
    default="1 hour ago",
    show_default=True,
    metavar="TIME",
    help=f"Before the mistake. {AT_HELP}",
)
@click.option("--to", "to_text", default="now", show_default=True, metavar="TIME", help="After the mistake.")
@click.option("--namesrv", metavar="ID", help="The name server, if there are journals of several.")
@click.option(
    "--apply",
    "addr",
    metavar="HOST:PORT",
    help="Send the requests to this name server; else they are only shown.",
)
@history_options
@click.pass_context
def undo(  # noqa: PLR0913 - one for each option
    context: click.Context, /, name: str | None, *, from_text: str, to_text: str, namesrv: str | None,
    addr: str | None, journals: tuple[str, ...], warehouse: str | None, zone_name: str | None, as_json: bool,
    session: MakeSession,
) -> None:  # fmt: skip
    """Restore KV entries, deleted topics and wiped permissions as they were at a time.

    It takes back what administrative requests changed after --from, up to --to: of all names, or of a TOPIC
    or BROKER name. A row that a broker changed since stays as it is. Without --apply nothing is sent.

    Ends with 0 if it leaves no row, 1 if it leaves some, 2 if the name server refuses, 3 if the name server
    does not answer or the journal does not show its present state.
    """
    zone = take_zone(zone_name)
    begin, end = take_instant(from_text, zone, "--from"), take_instant(to_text, zone, "--to")
    if begin > end:
        raise click.BadParameter(f"{from_text} is after --to {to_text}", param_hint="--from")
    try:
        target = None if addr is None else str(parse_address(addr))
    except ConfigError as error:
        raise click.BadParameter(str(error), param_hint="--apply") from None
    try:
        with shown_reading() as progress:
            source = take_source(journals, warehouse, progress, session, namesrv=namesrv)
            plan = _planned(source, name, begin, end)
        if plan is None:
            note("the present state of the name server is not known: nothing can be compared with it")
            context.exit(EXIT_NOT_KNOWN)
        if not (as_json or _HAS_DATE.match(from_text)):
            note(f"note: changes after {shown(begin, zone)}, up to {shown(end, zone)}")
        _print(plan, zone, as_json=as_json, is_sent=target is not None)
        is_complete = not plan.left
        if target is not None:
            is_complete = asyncio.run(_send(plan, target)) and is_complete
    except NamekeeperError as error:
        raise failure_of(error) from error
    context.exit(0 if is_complete else EXIT_LEFT)


def _planned(source: PastAnswers, name: str | None, begin: int, end: int) -> UndoPlan | None:
    """The plan for the one name server of a source; None if its present state is not known."""
    namesrvs = source.namesrvs()
    if len(namesrvs) != 1:
        raise click.UsageError(
            f"these are {len(namesrvs)} name servers: choose one by --namesrv: {', '.join(namesrvs)}"
        )
    state = source.held(namesrvs[0], None).state
    if state is None:
        return None
    events = source.changes(name, begin, FOREVER)
    if name is not None and not any(map(is_about_a_name, events)):
        has_records_of(name, source)
    for text in source.notes:
        note(f"note: {text}")
    if any(event.what is What.LOST for event in events):
        note("note: records were lost since: a change among them is not taken back")
    return plan_undo(events, end, state.tables.broker_addr_table)


def _print(plan: UndoPlan, zone: Zone, *, as_json: bool, is_sent: bool) -> None:
    if as_json:
        echo(render_json(plan.value()))
        return
    for line in _lines(plan, zone):
        echo(line)
    if plan.restored and not is_sent:
        echo(
            f"{shown_count(len(plan.restored), 'request')} would be sent: add --apply HOST:PORT to send them"
        )


def _lines(plan: UndoPlan, zone: Zone) -> Iterator[str]:
    if not plan.restored:
        yield "nothing is to be restored"
    for each in plan.restored:
        why = f"{caused_by(each.cause, each.peer)}, {shown(each.at, zone)}"
        yield printable(f"{row_change_text(each.change)}  ({why})")
    for left in plan.left:
        yield printable(f"left: {row_change_text(left.change)}: {left.why}")


async def _send(plan: UndoPlan, addr: str) -> bool:
    """Restore the rows at a name server; returns whether all were as the plan says.

    A line says how many were restored, also if the name server refuses one of them.
    """
    done = 0
    try:
        async with take_sender().open() as sender:
            namesrv = Namesrv(addr, sender)
            for each in plan.restored:
                done += await _is_restored(namesrv, each.change)
    finally:
        if plan.restored:
            note(f"{done} of {shown_count(len(plan.restored), 'row')} restored at {addr}")
    return done == len(plan.restored)


async def _is_restored(namesrv: Namesrv, change: RowChange) -> bool:
    """Restore a row if the name server holds it as the plan says; whether it then has the earlier value."""
    text = row_change_text(change)
    present = await _present(namesrv, change.key)
    if present != change.before:
        holds = "holds that already" if present == change.after else "holds another row than that"
        note(printable(f"not sent: {text}: {namesrv.addr} {holds}"))
        return False
    await _restore(namesrv, change)
    if await _present(namesrv, change.key) == change.after:
        return True
    note(printable(f"sent in vain: {text}: {namesrv.addr} holds another row"))
    return False


async def _present(namesrv: Namesrv, key: AnyKey) -> Row | None:
    """The row that a name server has now."""
    if isinstance(key, KvKey):
        value = await get_kv_config(namesrv, key.namespace, key.key)
        return None if value is None else Kv(namespace=key.namespace, key=key.key, value=value)
    assert isinstance(key, TopicKey)
    try:
        route = await topic_route(namesrv, key.topic)
    except ResponseError as error:
        if error.code == ResponseCode.TOPIC_NOT_EXIST:
            return None
        raise
    rows = (row for row in route.queue_datas if row.broker_name == key.broker_name)
    return next((_row_of(key.topic, row) for row in rows), None)


def _row_of(topic: str, row: QueueData) -> TopicQueuesRow:
    return TopicQueuesRow(topic, row.read_queue_nums, row.write_queue_nums, row.perm, row.topic_sys_flag)


async def _restore(namesrv: Namesrv, change: RowChange) -> None:
    key, row = change.key, change.after
    if isinstance(key, KvKey):
        if isinstance(row, Kv):
            await put_kv_config(namesrv, key.namespace, key.key, row.value)
        else:
            await delete_kv_config(namesrv, key.namespace, key.key)
        return
    assert isinstance(key, TopicKey)
    assert isinstance(row, TopicQueuesRow)
    queues = QueueData(
        broker_name=key.broker_name, perm=row.perm, read_queue_nums=row.read_queue_nums,
        topic_sys_flag=row.topic_sys_flag, write_queue_nums=row.write_queue_nums,
    )  # fmt: skip
    await register_topic(namesrv, key.topic, [queues])
