"""`namekeeper compare A B`: everything that two name servers hold, side by side, differences only."""

import asyncio
import sys
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import click
import msgspec

from namekeeper.admin.compare import Comparison, Difference, compare_snapshots
from namekeeper.admin.operations import Namesrv
from namekeeper.admin.snapshot import Progress, SnapshotScope, take_snapshot
from namekeeper.cli.connecting import Connector, connection_options, take_connection
from namekeeper.cli.failure import failure_of
from namekeeper.cli.output import echo, json_option, note
from namekeeper.cli.render import UNKNOWN, render_json
from namekeeper.cli.shared_options import namesrv_option
from namekeeper.common.printable import printable
from namekeeper.errors import ConfigError, NamekeeperError
from namekeeper.kvconfig.store import ORDER_TOPIC_CONFIG
from namekeeper.remoting.address import parse_address, parse_addresses
from namekeeper.remoting.request_sender import RequestSender

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["EXIT_DIFFERENT", "compare"]

EXIT_DIFFERENT = 1

_WIDTH_WITHOUT_TERMINAL = 200
_PAIR = 2


def _pair(a: str | None, b: str | None, listed: str) -> tuple[str, str]:
    """The two name servers: the arguments, or else a list of two.

    Raises:
        click.UsageError: there are not two, or an address can't be used.
    """
    given = [each for each in (a, b) if each is not None]
    try:
        if given or not listed:
            found = [str(parse_address(each)) for each in given]
        else:
            found = [*map(str, parse_addresses(listed))]
    except ConfigError as error:
        raise click.UsageError(str(error)) from None
    if len(found) != _PAIR:
        names = f"these are {len(found)}: {', '.join(found)}" if found else "none is given"
        raise click.UsageError(
            f"compare needs two name servers, and {names}; write `compare HOST:PORT HOST:PORT`, or give two"
            " by -n 'host:port;host:port' or NAMESRV_ADDR"
        )
    return found[0], found[1]


@click.command("compare", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("a", required=False)
@click.argument("b", required=False)
@namesrv_option("The two name servers, if A and B are not given.")
@json_option()
@click.option(
    "--namespace",
    "namespaces",
    multiple=True,
    metavar="NAME",
    help=f"Also compare this KV namespace ({ORDER_TOPIC_CONFIG} always is); may be repeated.",
)
@click.option("--config", "with_config", is_flag=True, help="Also compare the properties in effect.")
@click.option(
    "--data-versions",
    "with_data_versions",
    is_flag=True,
    help="Also compare the data version of each broker. Asking keeps a dead broker listed for longer.",
)
@click.option(
    "--confirm",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="If anything differs, look again after this time and report only what differs both times.",
)
@click.option(
    "--at-once", type=click.IntRange(1, 1000), default=32, show_default=True, help="Requests under way."
)
@connection_options
@click.pass_context
def compare(  # noqa: PLR0913 - one for each option
    context: click.Context, /, a: str | None, b: str | None, *, namesrv_addr: str, as_json: bool,
    namespaces: tuple[str, ...], with_config: bool, with_data_versions: bool, confirm: float | None,
    at_once: int, **connection: Any,  # noqa: ANN401
) -> None:  # fmt: skip
    """Compare everything that the name servers A and B hold, each given as host:port.

    Without A and B it compares the two of -n or NAMESRV_ADDR.

    Ends with 0 if they agree, 1 if they differ, 2 if one refuses, 3 if one can't be reached.
    """
    pair = _pair(a, b, namesrv_addr)
    scope = SnapshotScope(
        namespaces=tuple(dict.fromkeys((ORDER_TOPIC_CONFIG, *namespaces))),
        with_config=with_config, with_label=True, with_data_versions=with_data_versions, at_once=at_once,
    )  # fmt: skip
    try:
        connector, timeout_ms = take_connection(context, connection)
        comparing = _Comparing(pair, scope, timeout_ms, connector)
        with _progress() as progress:
            comparison = asyncio.run(comparing.run(confirm, progress))
    except NamekeeperError as error:
        raise failure_of(error) from error
    if as_json:
        echo(render_json(comparison))
    else:
        _print(comparison)
    context.exit(EXIT_DIFFERENT if comparison.differences else 0)


class _Comparing:
    """Two name servers, and how to ask them."""

    def __init__(
        self, addrs: tuple[str, str], scope: SnapshotScope, timeout_ms: int, connector: Connector
    ) -> None:
        self._addrs = addrs
        self._scope = scope
        self._timeout_ms = timeout_ms
        self._connector = connector

    async def run(self, confirm: float | None, progress: Progress) -> Comparison:
        async with self._connector.open() as sender:
            first = await self._once(sender, progress)
            if confirm is None or not first.differences:
                return first
            await asyncio.sleep(confirm)
            again = await self._once(sender, progress)
            return _lasting(first, again)

    async def _once(self, sender: RequestSender, progress: Progress) -> Comparison:
        asked = (
            take_snapshot(Namesrv(addr, sender, self._timeout_ms), self._scope, _of(addr, progress))
            for addr in self._addrs
        )
        a, b = await asyncio.gather(*asked)
        return compare_snapshots(a, b)


def _lasting(first: Comparison, again: Comparison) -> Comparison:
    """Return the second comparison with only the differences that the first one had too."""
    before = {(difference.part, difference.name, difference.detail) for difference in first.differences}
    lasting = [each for each in again.differences if (each.part, each.name, each.detail) in before]
    return msgspec.structs.replace(again, differences=lasting)


def _of(addr: str, progress: Progress) -> Progress:
    return lambda what, done, total: progress(f"{what} of {addr}", done, total)


def _progress() -> AbstractContextManager[Progress]:
    """Show progress on a terminal; nothing elsewhere."""
    if not sys.stderr.isatty():
        return nullcontext(lambda _what, _done, _total: None)
    from namekeeper.cli.progress import shown_progress

    return shown_progress()


def _print(comparison: Comparison) -> None:
    from rich.console import Console

    for part, why in comparison.not_compared.items():
        note(f"note: {part} not compared: {why}")
    a, b = comparison.a, comparison.b
    if not comparison.is_one_cluster:
        labels = " and ".join(map(printable, comparison.cluster_labels))
        note(f"note: {a} and {b} have the cluster labels {labels}: they serve different clusters")
    elif not comparison.share_brokers:
        note(f"note: {a} and {b} share no broker address: they seem to serve different clusters")
    facts = sum(comparison.compared.values())
    if not comparison.differences:
        echo(f"{comparison.a} and {comparison.b} agree on {facts} facts.")
        return
    console = Console(width=None if sys.stdout.isatty() else _WIDTH_WITHOUT_TERMINAL, highlight=False)
    console.print(_table(comparison))
    echo(f"{comparison.a} and {comparison.b} differ in {len(comparison.differences)} of {facts} facts.")


def _table(comparison: Comparison) -> "Table":
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for head in ("what", "name", "detail", comparison.a, comparison.b):
        table.add_column(head, overflow="fold")
    for difference in comparison.differences:
        table.add_row(*map(Text, _cells(difference)))
    return table


def _cells(difference: Difference) -> tuple[str, ...]:
    a, b = (UNKNOWN if text is None else text for text in (difference.a, difference.b))
    return tuple(map(printable, (difference.part, difference.name, difference.detail, a, b)))
