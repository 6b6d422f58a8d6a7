"""`namekeeper who-knows`: which clients have asked for a topic since its last change, and which have not."""

import asyncio
from typing import Any

import click
import msgspec

from namekeeper.answers.times import Zone, shown
from namekeeper.cli.connecting import sender_options, take_connector
from namekeeper.cli.credentials import rather_set
from namekeeper.cli.failure import EXIT_REFUSED, EXIT_UNREACHABLE, describe, failure_of, is_unreachable
from namekeeper.cli.history import EXIT_NO_SUCH_NAME, take_zone, zone_option
from namekeeper.cli.output import echo, json_option, note
from namekeeper.cli.remote_journal import pages_of
from namekeeper.cli.shared_options import Option, namesrv_option
from namekeeper.cli.tls_files import pages_tls
from namekeeper.common.counts import shown_count
from namekeeper.common.printable import printable, printable_json
from namekeeper.errors import NamekeeperError, RemotingError
from namekeeper.http.asking_who_knows import ask_who_knows
from namekeeper.http.watchers import WhoKnows
from namekeeper.remoting.address import parse_addresses
from namekeeper.remoting.page_address import parse_page_addresses

__all__ = ["EXIT_OLD", "who_knows"]

DEFAULT_PAGES = "127.0.0.1:9886"
"""Where pages are looked for if no address is given."""
EXIT_OLD = 1
"""Exit status: some client may hold the old route."""


@click.command("who-knows", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("topic")
@click.option(
    "--http", "pages", metavar="LIST",
    help="Operators' HTTP ports of the name servers: 'host:port;https://host:port'; by default those of -n, "
    f"or {DEFAULT_PAGES}.",
)  # fmt: skip
@namesrv_option("The name servers, if --http is not given: they are asked for their operators' ports.")
@click.option(
    "--http-token", "token", cls=Option, old_names=["--token"], default="", envvar="NAMEKEEPER_HTTP_TOKEN",
    help=f"Sent as bearer token, where access rules ask for one. {rather_set('NAMEKEEPER_HTTP_TOKEN')}",
)  # fmt: skip
@json_option()
@zone_option
@sender_options
@click.pass_context
def who_knows(  # noqa: PLR0913 - one for each option
    context: click.Context, /, topic: str, *, pages: str | None, namesrv_addr: str, token: str,
    as_json: bool, zone_name: str | None, **sender: Any,  # noqa: ANN401
) -> None:  # fmt: skip
    """Show which clients have asked for TOPIC since its last change, name server by name server.

    The name servers need rememberLookups=true. Exits with 0 if every client that ever asked has asked again,
    1 if one has not, 2 or 3 if a name server can't say, 4 if none has ever heard of the topic.
    """
    zone = take_zone(zone_name)
    try:
        connector = take_connector(context, sender)
        if pages is None and namesrv_addr:
            named = [
                pages_of(address, connector, lacks="does not say where its pages are", other_ways="")
                for address in parse_addresses(namesrv_addr)
            ]
        else:
            named = parse_page_addresses(DEFAULT_PAGES if pages is None else pages)
        tls = pages_tls(connector.tls_files, named)
    except NamekeeperError as error:
        raise failure_of(error) from error
    found = asyncio.run(ask_who_knows(named, topic, token=token, tls=tls))
    answers = dict(zip(map(str, named), found, strict=True))
    if as_json:
        value = {addr: _plain(answer) for addr, answer in answers.items()}
        echo(printable_json(msgspec.json.format(msgspec.json.encode(value), indent=2).decode()))
    for addr, answer in answers.items():
        if isinstance(answer, RemotingError):
            note(f"namekeeper: {describe(answer)}")
        elif not as_json:
            _print(addr, answer, zone)
    if not any(map(_has_heard, found)):
        name = printable(topic)
        note(f"namekeeper: nobody asked for {name}, and it has not changed: is the name misspelt?")
        context.exit(EXIT_NO_SUCH_NAME)
    context.exit(max(map(_exit_code, found)))


def _has_heard(answer: WhoKnows | RemotingError) -> bool:
    """Whether a name server knows of the topic, or may know of it."""
    if not isinstance(answer, WhoKnows):
        return True
    return answer.change is not None or answer.since_count + answer.before_count > 0


def _plain(answer: WhoKnows | RemotingError) -> object:
    return {"error": describe(answer)} if isinstance(answer, RemotingError) else msgspec.to_builtins(answer)


def _exit_code(answer: WhoKnows | RemotingError) -> int:
    if isinstance(answer, WhoKnows):
        return EXIT_OLD if answer.before_count else 0
    return EXIT_UNREACHABLE if is_unreachable(answer) else EXIT_REFUSED


def _print(addr: str, answer: WhoKnows, zone: Zone) -> None:
    change = answer.change
    when = (
        "has not changed as far as is kept"
        if change is None
        else f"changed {shown(change.at, zone)}: {change.cause}"
        + (f" by {change.peer}" if change.peer else "")
    )
    echo(printable(f"{addr}: {answer.topic} {when}"))
    since = shown_count(answer.since_count, "connection", "have")
    echo(f"  {since} asked since, {answer.before_count} not")
    for client in answer.before:
        echo(printable(f"  not since: {client}"))
    if answer.before_count > len(answer.before):
        note(f"note: {answer.before_count - len(answer.before)} more are not listed")
