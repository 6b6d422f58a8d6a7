"""`namekeeper what-if --without broker-a`: which topics would be left without a writable queue."""

from collections.abc import Iterable, Sequence

import click

from namekeeper.admin.operations import Namesrv
from namekeeper.admin.snapshot import NamesrvSnapshot, SnapshotPart, SnapshotScope, take_snapshot
from namekeeper.admin.what_if import Gone, WhatIf, brokers_in_zones, what_if
from namekeeper.cli.asking import Session, mqadmin_command, refuse_unknown, refuse_usage
from namekeeper.cli.failure import CommandRefused, RefusedUsage
from namekeeper.cli.output import is_wide
from namekeeper.common.counts import shown_count

__all__ = ["EXIT_UNWRITABLE", "what_if_command"]

EXIT_UNWRITABLE = 1

_ROUTES = SnapshotScope(parts=frozenset({SnapshotPart.TOPIC}))
_SHOWN = 20  # topics of a kind, as text


@mqadmin_command(
    "what-if",
    "Say which topics could not be written, or depend on one broker, if brokers were gone.",
    bad_usage=RefusedUsage,
    wide="all topics",
)
@click.option(
    "--without", "names", multiple=True, metavar="BROKER",
    help="A broker name, or the address of one of its members; may be repeated.",
)  # fmt: skip
@click.option(
    "--without-zone", "zones", multiple=True, metavar="ZONE", help="All brokers of a zone; may be repeated."
)
@click.option(
    "--load", "load_limit", type=click.FloatRange(min=1), default=1.5, show_default=True, metavar="TIMES",
    help="Name brokers that would have more than so many times their share of today.",
)  # fmt: skip
@click.pass_context
def what_if_command(
    context: click.Context,
    session: Session,
    *,
    names: tuple[str, ...],
    zones: tuple[str, ...],
    load_limit: float,
) -> None:
    """Ask a name server for all routes, take brokers away, and look at what is left."""
    if not names and not zones:
        refuse_usage("nothing is taken away: give --without BROKER or --without-zone ZONE")
    snapshot = session.ask_one(_routes)
    found = what_if(snapshot, _gone(snapshot, names, zones), load_limit=load_limit)
    session.emit(found, "\n".join(_lines(found, load_limit)))
    context.exit(EXIT_UNWRITABLE if found.unwritable else 0)


async def _routes(namesrv: Namesrv) -> NamesrvSnapshot:
    snapshot = await take_snapshot(namesrv, _ROUTES, lambda _what, _done, _total: None)
    if why := snapshot.missing.get(SnapshotPart.TOPIC):
        raise CommandRefused(f"name server {namesrv.addr} does not list its topics: {why}")
    return snapshot


def _gone(snapshot: NamesrvSnapshot, names: Iterable[str], zones: Iterable[str]) -> Gone:
    brokers = snapshot.brokers
    addresses = {addr for broker in brokers.values() for addr in broker.broker_addrs.values()}
    known_zones = {broker.zone_name for broker in brokers.values() if broker.zone_name}
    for name in names:
        if name not in brokers and name not in addresses:
            refuse_unknown("broker", name, addresses if ":" in name else brokers)
    for zone in zones:
        if zone not in known_zones:
            refuse_unknown("zone", zone, known_zones)
    wanted = frozenset(names)
    return Gone(wanted & brokers.keys() | brokers_in_zones(brokers, frozenset(zones)), wanted & addresses)


def _lines(found: WhatIf, load_limit: float) -> Iterable[str]:
    yield f"Without {_joined(found.gone)}, of {found.topics:,} topics that can be written now:"
    yield from _topics("could not be written", [(each.topic, each.before) for each in found.unwritable])
    yield from _topics(
        "could be written on one broker name only", [(each.topic, each.after) for each in found.on_one_broker]
    )
    if found.overloaded:
        names = shown_count(len(found.overloaded), "broker name")
        yield f"  {names} would have more than {load_limit:g} times the load of today"
        yield from (f"    {name}  {times:.2f}" for name, times in found.overloaded.items())


def _topics(what: str, rows: Sequence[tuple[str, Sequence[str]]]) -> Iterable[str]:
    """A line with the number, then the first topics, each with the broker names it is or would be on."""
    shown = rows if is_wide() else rows[:_SHOWN]
    yield f"  {len(rows):,} {what}"
    yield from (f"    {topic}  on {_joined(brokers)}" for topic, brokers in shown)
    if len(rows) > len(shown):
        yield f"    and {len(rows) - len(shown):,} more: --json has all"


def _joined(names: Sequence[str]) -> str:
    return ", ".join(names)
