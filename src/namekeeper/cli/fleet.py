"""`namekeeper fleet`: a simulated fleet of brokers against any name servers."""

import asyncio
import contextlib
import json
import logging
import os
import sys
from typing import Any

import click
from msgspec import structs, to_builtins
from rich.console import Console

from namekeeper.app.process import raise_descriptor_limit
from namekeeper.app.stop_signals import stopping_by_signals
from namekeeper.broker.namesrv_sessions import split_addresses
from namekeeper.cli.credentials import credential_options, take_credentials
from namekeeper.cli.durations import take_duration
from namekeeper.cli.failure import EXIT_USAGE, BadUsage
from namekeeper.cli.fleet_show import FleetShow
from namekeeper.cli.shared_options import namesrv_option
from namekeeper.errors import ConfigError, NamekeeperError
from namekeeper.fleet.churn import MIXTURES, ChurnKind, parse_churn
from namekeeper.fleet.fleet import TEMPLATE, Fleet
from namekeeper.fleet.make_plan import make_plan
from namekeeper.fleet.plan import FleetPlan, FleetSettings

__all__ = ["fleet"]

EXIT_FAILED = 2


class _FleetCommand(click.Command):
    """Ends with 1 if an option can't be used; 2 says that no broker registered."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            raise BadUsage.of(error) from None


@click.command(cls=_FleetCommand)
@namesrv_option("Name servers, host:port;host:port.", old_names=["--namesrv"])
@click.option("--brokers", type=int, default=4, show_default=True, help="Broker names, each with a master.")
@click.option(
    "--clusters", type=int, default=1, show_default=True, help="Broker names are divided among them."
)
@click.option("--topics", type=int, default=20, show_default=True, help="Topics on each broker of a cluster.")
@click.option("--slaves", type=int, default=0, show_default=True, help="Slaves of each master.")
@click.option(
    "--churn",
    default="calm",
    show_default=True,
    metavar="SPEC",
    help=f"What happens how often in the whole fleet, as topics=6/h,deaths=1/m ({', '.join(ChurnKind)}), "
    f"or one of {', '.join(MIXTURES)}.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="The same seed gives the same plan.")
@click.option(
    "--speed",
    type=click.Choice(["real", "fast"]),
    default="real",
    show_default=True,
    help="fast: one action after the other, without waiting for its time.",
)
@click.option(
    "--duration", "duration_ms", callback=take_duration, default="60s", show_default=True,
    help="Of the plan: 90s, 10m, 1h, 2d.",
)  # fmt: skip
@click.option("--acting-master", is_flag=True, help="Brokers send heartbeats each second, slaves take over.")
@click.option("--compressed", is_flag=True, help="Registrations as zlib streams.")
@credential_options
@click.option("--plan", "only_plan", is_flag=True, help="Print the plan as JSON and do nothing.")
def fleet(**options: Any) -> None:  # noqa: ANN401 - click's
    """A simulated fleet of brokers, for demos, load tests and journals.

    Brokers register as real ones do, each over connections of its own; nothing listens at their addresses.
    Ctrl-C and SIGTERM stop the fleet cleanly: every broker unregisters. A second one ends it at once.
    """
    console = Console(highlight=False, stderr=True)
    try:
        addrs = split_addresses(options["namesrv_addr"])
        plan = make_plan(_settings(options, max(1, len(addrs))))
        if options["only_plan"]:
            _print_plan(plan)
            return
        if not addrs:
            raise ConfigError("no name server: give -n host:port;host:port, or set NAMESRV_ADDR")
        logging.getLogger("namekeeper").addHandler(logging.NullHandler())  # the summary says it
        raise_descriptor_limit()  # each broker has a connection to each name server
        status = asyncio.run(_run(plan, options, console))
    except NamekeeperError as error:
        console.print(f"namekeeper: {error}", style="red")
        status = EXIT_USAGE
    sys.exit(status)


def _settings(options: dict[str, Any], namesrvs: int) -> FleetSettings:
    return FleetSettings(
        brokers=options["brokers"],
        clusters=options["clusters"],
        topics=options["topics"],
        slaves=options["slaves"],
        churn=parse_churn(options["churn"]),
        seed=options["seed"],
        duration_seconds=options["duration_ms"] / 1_000,
        namesrvs=namesrvs,
    )


async def _run(plan: FleetPlan, options: dict[str, Any], console: Console) -> int:
    credentials = take_credentials(options, os.environ)
    template = structs.replace(
        TEMPLATE,
        enable_slave_acting_master=options["acting_master"],
        compressed_register=options["compressed"],
        access_key=credentials.access_key if credentials else "",
        secret_key=credentials.secret_key if credentials else "",
    )
    show = FleetShow(console, plan)
    running = Fleet(plan, options["namesrv_addr"], template=template, on_action=show.acted)
    playing = asyncio.create_task(_live(running, show, fast=options["speed"] == "fast"))
    # The first signal cancels, and brokers unregister; the second one cancels that, too.
    with stopping_by_signals(playing.cancel), contextlib.suppress(asyncio.CancelledError):
        await playing
    show.ended(running)
    print(json.dumps(running.summary.to_dict()))
    return 0 if running.summary.registrations else EXIT_FAILED


async def _live(running: Fleet, show: FleetShow, *, fast: bool) -> None:
    with show.bar():
        show.begins()
        async with running:
            show.started(running)
            try:
                await running.play(fast=fast)
            finally:
                show.stops(running)


def _print_plan(plan: FleetPlan) -> None:
    print(json.dumps(to_builtins(plan), indent=1))
