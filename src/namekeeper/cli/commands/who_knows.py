"""`namekeeper who-knows`: which clients have asked for a topic since its last change, and which have not."""

import asyncio
from urllib.parse import urlencode

import aiohttp
import click
import msgspec

from namekeeper.answers.times import Zone, shown
from namekeeper.cli.failure import failure_of
from namekeeper.cli.history import take_zone, zone_option
from namekeeper.cli.output import echo, note
from namekeeper.common.printable import printable, printable_json
from namekeeper.errors import NamekeeperError, RemotingConnectError, ResponseError
from namekeeper.http.watchers import WhoKnows
from namekeeper.remoting.address import parse_addresses

__all__ = ["EXIT_OLD", "who_knows"]

EXIT_OLD = 1
"""Exit status: some client may hold the old route."""
ANSWER_SECONDS = 10


@click.command("who-knows", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("topic")
@click.option(
    "--http", "addrs", default="127.0.0.1:9886", show_default=True, metavar="LIST",
    help="Operators' HTTP ports of the name servers: 'host:port;host:port'.",
)  # fmt: skip
@click.option("--token", default="", help="Sent as bearer token, where access rules ask for one.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@zone_option
@click.pass_context
def who_knows(
    context: click.Context, /, topic: str, *, addrs: str, token: str, as_json: bool, zone_name: str | None
) -> None:
    """Show which clients have asked for TOPIC since its last change, name server by name server.

    The name servers need rememberLookups=true. Exits with 0 if every client that ever asked has asked again,
    1 if one has not, 2 or 3 if a name server can't say.
    """
    zone = take_zone(zone_name)
    try:
        named = [str(addr) for addr in parse_addresses(addrs)]
        answers = asyncio.run(_ask_all(named, topic, token))
    except NamekeeperError as error:
        raise failure_of(error) from error
    if as_json:
        value = {addr: msgspec.to_builtins(answer) for addr, answer in answers.items()}
        echo(printable_json(msgspec.json.format(msgspec.json.encode(value), indent=2).decode()))
    else:
        for addr, answer in answers.items():
            _print(addr, answer, zone)
    if any(answer.before_count for answer in answers.values()):
        context.exit(EXIT_OLD)


async def _ask_all(addrs: list[str], topic: str, token: str) -> dict[str, WhoKnows]:
    return dict(zip(addrs, await asyncio.gather(*(_ask(addr, topic, token) for addr in addrs)), strict=True))


async def _ask(addr: str, topic: str, token: str) -> WhoKnows:
    """Ask one name server.

    Raises:
        ResponseError: it does not remember look-ups, or refuses to tell.
        RemotingConnectError: it does not answer.
    """
    url = f"http://{addr}/who-knows?{urlencode({'topic': topic})}"
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        async with (
            asyncio.timeout(ANSWER_SECONDS),
            aiohttp.ClientSession(headers=headers) as session,
            session.get(url) as response,
        ):
            body = await response.read()
            if response.status != 200:
                raise ResponseError(addr, response.status, body.decode(errors="replace").strip())
            return msgspec.json.decode(body, type=WhoKnows)
    except (aiohttp.ClientError, OSError, TimeoutError, msgspec.MsgspecError) as error:
        raise RemotingConnectError(addr, f"can't be asked: {error}") from None


def _print(addr: str, answer: WhoKnows, zone: Zone) -> None:
    change = answer.change
    when = (
        "has not changed as far as is known"
        if change is None
        else f"changed {shown(change.at, zone)}: {change.cause}"
        + (f" by {change.peer}" if change.peer else "")
    )
    echo(printable(f"{addr}: {answer.topic} {when}"))
    echo(f"  {answer.since_count} connections have asked since, {answer.before_count} have not")
    for client in answer.before:
        echo(printable(f"  not since: {client}"))
    if answer.before_count > len(answer.before):
        note(f"note: {answer.before_count - len(answer.before)} more are not listed")
