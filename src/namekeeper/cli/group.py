"""The table of sub-commands: name, what it does, where it is. A new command is a line here."""

import sys
from collections.abc import Mapping
from importlib import import_module

import click

from namekeeper import __version__

__all__ = ["COMMANDS", "LazyGroup", "namekeeper"]

COMMANDS: Mapping[str, tuple[str, str]] = {
    "serve": ("namekeeper.cli.group:serve", "Run a name server."),
    "admin": ("namekeeper.cli.mqadmin:admin", "Ask and change name servers, as mqadmin does."),
    "compare": ("namekeeper.cli.compare:compare", "Show where name servers disagree."),
    "fleet": ("namekeeper.cli.fleet:fleet", "A simulated fleet of brokers, for demos and load tests."),
    "pipeline": ("namekeeper.cli.pipeline:pipeline", "Turn journals into tables with Spark."),
    "journal": ("namekeeper.cli.journal:journal", "Look into a journal: ls, cat, tail, verify, seal ..."),
    "route-at": ("namekeeper.cli.commands.route_at:route_at", "Show the route of a topic as it was."),
    "report": ("namekeeper.cli.commands.report:report", "Availability, flaps, drift, capacity, changes."),
    "why": ("namekeeper.cli.commands.why:why", "Say why a topic had no route."),
    "demo": (
        "namekeeper.cli.demo.command:demo",
        "An incident in fast motion, and what the journals tell of it.",
    ),
}
"""Sub-command -> (`module:object`, one line of help)."""


class LazyGroup(click.Group):
    """A group that imports a command when it is run or asked for help, not before."""

    def __init__(self, commands: Mapping[str, tuple[str, str]], *, help: str) -> None:  # noqa: A002 -- click's name
        super().__init__(help=help, context_settings={"help_option_names": ["-h", "--help"]})
        self._lazy = commands

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 -- click's signature
        """Names in the order of the table."""
        return list(self._lazy)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import and return a command."""
        if cmd_name not in self._lazy:
            return None
        module, _, name = self._lazy[cmd_name][0].partition(":")
        command = getattr(import_module(module), name)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the list of commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in self._lazy.items()])


namekeeper = LazyGroup(COMMANDS, help="A RocketMQ name server that remembers.")
click.version_option(__version__, message="namekeeper %(version)s")(namekeeper)


@click.command(context_settings={"ignore_unknown_options": True}, add_help_option=False)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def serve(arguments: tuple[str, ...]) -> None:
    """Run a name server."""
    from namekeeper.cli.serve import main as run_serve

    sys.exit(run_serve(arguments))
