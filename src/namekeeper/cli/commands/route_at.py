"""`namekeeper route-at`: the route of a topic at a time."""

import click

from namekeeper.answers.phrases import caused_by
from namekeeper.answers.render import (
    RouteAt,
    UncertainChange,
    explain_knowledge,
    knows_up_to_text,
    routes_json,
)
from namekeeper.answers.times import Zone, shown, shown_window
from namekeeper.cli.failure import failure_of
from namekeeper.cli.history import (
    AT_HELP,
    EXIT_NOT_KNOWN,
    history_source_options,
    shown_reading,
    take_instant,
    take_source,
    take_zone,
)
from namekeeper.cli.output import echo, is_wide, json_option, note
from namekeeper.cli.render import render_route_list
from namekeeper.cli.sections import SectionedCommand
from namekeeper.cli.spark import MakeSession
from namekeeper.common.printable import printable
from namekeeper.errors import NamekeeperError
from namekeeper.journal.reading.coverage import Knowledge

__all__ = ["route_at"]


@click.command("route-at", cls=SectionedCommand, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("topic")
@click.option(
    "--at", "at_text", metavar="TIME",
    help=f"{AT_HELP} By default now; of a server that does not run, its last record.",
)  # fmt: skip
@click.option("--namesrv", metavar="ID", help="Only this name server.")
@history_source_options
@json_option(wide="also flags, zone and acting master")
@click.pass_context
def route_at(  # noqa: PLR0913 - one for each option
    context: click.Context, /, topic: str, *, at_text: str | None, namesrv: str | None,
    journals: tuple[str, ...], warehouse: str | None, zone_name: str | None, as_json: bool,
    session: MakeSession,
) -> None:  # fmt: skip
    """Show the route of TOPIC as each name server would have answered it.

    Exits with 0 if at least one name server knows (also if it had no route), 3 if none does.
    """
    zone = take_zone(zone_name)
    at = None if at_text is None else take_instant(at_text, zone)
    try:
        with shown_reading() as progress:
            source = take_source(journals, warehouse, progress, session, namesrv=namesrv)
            routes = source.routes(topic, source.instant(at))
    except NamekeeperError as error:
        raise failure_of(error) from error
    for text in source.notes:
        note(f"note: {text}")
    echo(routes_json(routes) if as_json else "\n\n".join(_text(topic, each, zone) for each in routes))
    if all(each.knowledge is not Knowledge.KNOWN for each in routes):
        context.exit(EXIT_NOT_KNOWN)


def _text(topic: str, found: RouteAt, zone: Zone) -> str:
    if found.knowledge is not Knowledge.KNOWN:
        body = explain_knowledge(found.knowledge)
    elif found.route is None:
        body = f"no route of {printable(topic)}; `namekeeper why` shows the cause"
    else:
        body = render_route_list(found.route, wide=is_wide())
    known = knows_up_to_text(found.knows_up_to, zone)
    changes = "".join(f"\n{_change_text(topic, change, zone)}" for change in found.uncertain)
    return f"{found.namesrv} at {shown(found.at, zone)} ({known})\n{body}{changes}"


def _change_text(topic: str, change: UncertainChange, zone: Zone) -> str:
    when = shown_window(change.at, change.window_ms, zone)
    why = caused_by(change.cause, "")
    if change.route is None:
        return f"uncertain, changed {when} ({why}) to: no route of {printable(topic)}"
    return f"uncertain, changed {when} ({why}) to:\n{render_route_list(change.route, wide=is_wide())}"
