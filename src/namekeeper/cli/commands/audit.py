"""`namekeeper audit`: who did what, and who was refused, from the journals of name servers or a warehouse."""

import click
import msgspec

from namekeeper.answers.audit import audit_lines
from namekeeper.cli.failure import failure_of
from namekeeper.cli.history import (
    AT_HELP,
    history_options,
    shown_reading,
    take_instant,
    take_source,
    take_zone,
)
from namekeeper.cli.output import echo, note
from namekeeper.cli.render import render_json
from namekeeper.cli.sections import SectionedCommand
from namekeeper.cli.spark import MakeSession
from namekeeper.errors import NamekeeperError

__all__ = ["audit"]

_END_MS = 2**62


@click.command("audit", cls=SectionedCommand, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--since", "--from", "since", default="1 day ago", show_default=True, metavar="TIME", help=AT_HELP
)
@click.option("--to", "to_text", metavar="TIME", help="By default the last that is known.")
@history_options
def audit(  # noqa: PLR0913 - one for each option
    *, since: str, to_text: str | None, journals: tuple[str, ...], warehouse: str | None,
    zone_name: str | None, as_json: bool, session: MakeSession,
) -> None:  # fmt: skip
    """Show the admin requests and new brokers that access rules decided on, and every refused request.

    A line has the request, its names, the peer, the user, and the rule that decided. Ends with 0,
    also if there was nothing; 2 if a journal or the warehouse can't be used.
    """
    zone = take_zone(zone_name)
    begin = take_instant(since, zone, "--since")
    end = _END_MS if to_text is None else take_instant(to_text, zone, "--to")
    if begin > end:
        raise click.BadParameter(f"{since} is after --to {to_text}", param_hint="--since")
    try:
        with shown_reading() as progress:
            source = take_source(journals, warehouse, progress, session)
            entries = source.audit(begin, end)
    except NamekeeperError as error:
        raise failure_of(error) from error
    for text in source.notes:
        note(f"note: {text}")
    if as_json:
        echo(render_json(msgspec.to_builtins(entries)))
        return
    for line in audit_lines(entries, zone):
        echo(line)
    if not entries:
        note(
            "nothing was noted in this time; only a name server with access rules (accessFile) notes who asks"
        )
