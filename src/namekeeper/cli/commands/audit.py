"""`namekeeper audit`: who did what, and who was refused, from the journals of name servers."""

import click
import msgspec

from namekeeper.answers.audit import audit_lines, read_audit
from namekeeper.cli.failure import failure_of
from namekeeper.cli.history import AT_HELP, take_instant, take_zone, zone_option
from namekeeper.cli.journals import journals_of_this_host
from namekeeper.cli.output import echo, note
from namekeeper.cli.render import render_json
from namekeeper.errors import NamekeeperError
from namekeeper.journal.reading.reader import find_journals

__all__ = ["audit"]

_END_MS = 2**62


@click.command("audit", context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--since", default="1 day ago", show_default=True, metavar="TIME", help=AT_HELP)
@click.option("--to", "to_text", metavar="TIME", help="By default the last that is known.")
@click.option(
    "--journal", "journals", multiple=True, metavar="DIR",
    help="Journal folder of a name server, or a folder with several; may be repeated. By default those of the"
    " name servers on this host, ~/namesrv/journal/*.",
)  # fmt: skip
@zone_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def audit(
    *, since: str, to_text: str | None, journals: tuple[str, ...], zone_name: str | None, as_json: bool
) -> None:
    """Show the admin requests and new brokers that access rules judged, and all that was refused.

    A line has what was asked, of what, from where, by which user, and the rule that decided. Ends with 0,
    also if there was nothing; 2 if a journal can't be used.
    """
    zone = take_zone(zone_name)
    begin = take_instant(since, zone, "--since")
    end = _END_MS if to_text is None else take_instant(to_text, zone, "--to")
    if begin > end:
        raise click.BadParameter(f"{since} is after --to {to_text}", param_hint="--since")
    try:
        folders = journals or journals_of_this_host(())
        found = dict.fromkeys(each for folder in folders for each in find_journals(folder))
        entries = read_audit(found, begin, end)
    except NamekeeperError as error:
        raise failure_of(error) from error
    if as_json:
        echo(render_json(msgspec.to_builtins(entries)))
        return
    for line in audit_lines(entries, zone):
        echo(line)
    if not entries:
        note(
            "nothing was noted in this time; only a name server with access rules (accessFile) notes who asks"
        )
