"""`namekeeper past`: a read-only name server with the tables as they were at a time."""

import asyncio
from collections.abc import Callable

import click

from namekeeper.answers.render import explain_knowledge, knows_up_to_text
from namekeeper.answers.source import HeldAt, PastAnswers
from namekeeper.answers.times import Zone, shown
from namekeeper.app.past import PastNameServer, run_past
from namekeeper.app.process import loop_factory, prepare_process, spare_the_collector
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
from namekeeper.cli.output import echo, note
from namekeeper.cli.sections import SectionedCommand
from namekeeper.cli.spark import MakeSession
from namekeeper.common.counts import shown_count
from namekeeper.common.printable import printable
from namekeeper.errors import ConfigError, NamekeeperError
from namekeeper.journal.reading.coverage import Knowledge
from namekeeper.processor.past import past_state
from namekeeper.remoting.address import Address

__all__ = ["past"]

HOST = "127.0.0.1"
"""Default address: today's clients must not find old routes by accident."""


@click.command("past", cls=SectionedCommand, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--at", "at_text", metavar="TIME", help=f"{AT_HELP} By default the last that is known.")
@click.option("--namesrv", metavar="ID", help="Which name server, if there are several.")
@click.option(
    "--listen-port", type=click.IntRange(0, 65_535), default=0, metavar="PORT",
    help="Port to listen at; by default a free one, which is printed.",
)  # fmt: skip
@click.option("--bind-address", default=HOST, show_default=True, metavar="HOST", help="Address to listen at.")
@click.option(
    "--force", is_flag=True,
    help="Listen also if the time is not known; every request is then answered with the reason.",
)  # fmt: skip
@history_source_options
@click.pass_context
def past(  # noqa: PLR0913 - one for each option
    context: click.Context, /, *, at_text: str | None, namesrv: str | None, listen_port: int,
    bind_address: str, force: bool, journals: tuple[str, ...], warehouse: str | None,
    zone_name: str | None, session: MakeSession,
) -> None:  # fmt: skip
    """Answer mqadmin, dashboards and clients as a name server would have answered them at a time.

    Every read request is answered; what could change something is refused with code 16. Runs until SIGTERM
    or Ctrl-C. Exits with 3 if the state at that time is not known.
    """
    zone = take_zone(zone_name)
    at = None if at_text is None else take_instant(at_text, zone)
    try:
        with shown_reading() as progress:
            source = take_source(journals, warehouse, progress, session, namesrv=namesrv)
            held = _held(source, source.instant(at))
        for text in source.notes:
            note(f"note: {text}")
        if held.state is None:
            note(_remark(held, zone))
            if not force:
                context.exit(EXIT_NOT_KNOWN)
        server = _server(held, _remark(held, zone), bind_address, listen_port)
        prepare_process()
        spare_the_collector()
        with asyncio.Runner(loop_factory=loop_factory()) as runner:
            runner.run(run_past(server, _announce(held, zone)))
    except NamekeeperError as error:
        raise failure_of(error) from error


def _held(source: PastAnswers, at: int | None) -> HeldAt:
    """The state at a time; by default the last one, or for a stopped name server the one before the stop."""
    namesrv = _only(source)
    held = source.held(namesrv, at)
    if at is None and held.knowledge is Knowledge.STOPPED:
        return source.held(namesrv, held.at - 1)
    return held


def _only(source: PastAnswers) -> str:
    """The id of the one name server.

    Raises:
        ConfigError: there are several.
    """
    first, *others = source.namesrvs()
    if others:
        names = ", ".join(map(printable, (first, *others)))
        raise ConfigError(f"there are {names}: choose with --namesrv ID which one answers")
    return first


def _server(held: HeldAt, remark: str, host: str, port: int) -> PastNameServer:
    state = held.state
    answering = None if state is None else past_state(state.tables, state.kv, state.properties)
    return PastNameServer(answering, remark, host=host, port=port)


def _remark(held: HeldAt, zone: Zone) -> str:
    when = f"{printable(held.namesrv)} at {shown(held.at, zone)}"
    if held.state is None:
        known = knows_up_to_text(held.knows_up_to, zone)
        return f"{when}: {explain_knowledge(held.knowledge)} ({known})"
    return f"this is the past: {when}; nothing can be changed"


def _announce(held: HeldAt, zone: Zone) -> Callable[[Address], None]:
    """Print the line that scripts wait for."""
    tables = None if held.state is None else held.state.tables
    brokers = 0 if tables is None else sum(len(g.broker_addrs) for g in tables.broker_addr_table.values())
    topics = 0 if tables is None else len(tables.topics())

    def announce(address: Address) -> None:
        echo(
            f"{printable(held.namesrv)} at {shown(held.at, zone)}: {shown_count(topics, 'topic')},"
            f" {shown_count(brokers, 'broker')}; address {address}"
        )

    return announce
