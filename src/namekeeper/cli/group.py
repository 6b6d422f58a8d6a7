"""Groups of commands as tables: name, module and object, one line of help. A new command is a new line."""

import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click

from namekeeper import __version__
from namekeeper.common.near_names import did_you_mean

__all__ = [
    "ACCESS_COMMANDS",
    "COMMANDS",
    "EXPECT_COMMANDS",
    "JOURNAL_COMMANDS",
    "MAINTENANCE_COMMANDS",
    "MESSAGES_COMMANDS",
    "PIPELINE_COMMANDS",
    "LazyGroup",
    "access",
    "expect",
    "journal",
    "maintenance",
    "messages",
    "namekeeper",
    "pipeline",
]

Commands = Mapping[str, tuple[str, str]]
"""Command -> (`module:object` below `namekeeper.cli`, one line of help)."""

COMMANDS: Commands = {
    "serve": ("group:serve", "Run a name server."),
    "admin": ("mqadmin:admin", "Ask and change name servers, as mqadmin does."),
    "compare": ("compare:compare", "Show where name servers disagree."),
    "drift": ("commands.drift:drift", "What name servers disagree about, since when, and why."),
    "shadow": ("commands.shadow:shadow", "Whether a new name server has the tables of the old ones."),
    "what-if": ("what_if:what_if_command", "Which topics would suffer if brokers were gone."),
    "fleet": ("fleet:fleet", "A simulated fleet of brokers, for demos and load tests."),
    "pipeline": ("group:pipeline", "Turn journals into tables with Spark."),
    "audit": ("commands.audit:audit", "Show who did what, and who was refused."),
    "access": ("group:access", "Check rules of access, and say what they do."),
    "journal": ("group:journal", "Look into a journal: ls, cat, tail, verify, seal ..."),
    "route-at": ("commands.route_at:route_at", "Show the route of a topic as it was."),
    "past": ("commands.past:past", "A read-only name server with the tables of a time."),
    "report": ("commands.report:report", "Availability, flaps, drift, capacity, changes."),
    "sql": ("commands.sql:sql", "Ask a warehouse your own question, without Spark."),
    "incidents": ("commands.incidents:incidents_command", "What is wrong now, and what was lately."),
    "status": ("commands.incidents:status_command", "The state of each name server; open incidents."),
    "expect": ("group:expect", "Compare what is there with what must be there."),
    "maintenance": ("group:maintenance", "Windows in which deviations and incidents are planned."),
    "messages": ("group:messages", "Send messages when incidents open and close."),
    "why": ("commands.why:why", "Say why a topic had no route."),
    "who-knows": ("commands.who_knows:who_knows", "Which clients have asked for a topic since it changed."),
    "console": ("commands.console:console", "A page in a browser: what is there, was, and why."),
    "mcp": ("commands.mcp:mcp", "Answer questions of assistants (MCP)."),
    "observe": ("commands.observe:observe", "Keep journals of name servers that are not ours."),
    "history": ("commands.history:history", "Every change of a topic, broker or address."),
    "undo": ("commands.undo:undo", "Restore what a mistake changed."),
    "completion": ("commands.completion:completion", "What a shell needs to complete commands."),
    "demo": (
        "demo.command:demo",
        "An incident in fast motion, and what the journals say of it.",
    ),
}

ACCESS_COMMANDS: Commands = {
    "check": ("commands.access:check", "Say whether a server can use a file of rules."),
    "explain": ("commands.access:explain_command", "Say which rule decides about a request."),
}

JOURNAL_COMMANDS: Commands = {
    "ls": ("commands.journal_show:ls", "List the segments of a journal."),
    "cat": ("commands.journal_show:cat", "Print the records in order."),
    "tail": ("commands.journal_show:tail", "Print the last records, and follow the journal."),
    "verify": ("commands.journal_keep:verify", "Check that nothing is lost; say what is."),
    "replay": ("commands.journal_replay:replay", "Show the state at a time."),
    "ship": ("commands.journal_ship:ship", "Copy sealed segments to where Spark reads them."),
    "seal": ("commands.journal_keep:seal", "Seal what is written, so that it can be shipped."),
}

EXPECT_COMMANDS: Commands = {
    "learn": ("commands.expect:learn_command", "Write what is there, as what must be there."),
    "check": ("commands.expect:check", "Name every deviation."),
    "get": ("commands.expect:get_command", "Write that of a companion to a file."),
    "put": ("commands.expect:put_command", "Replace that of a companion by a file."),
}

MAINTENANCE_COMMANDS: Commands = {
    "start": ("commands.maintenance:start", "Start a window."),
    "list": ("commands.maintenance:list_windows", "Show the windows."),
    "end": ("commands.maintenance:end", "End windows now."),
}

MESSAGES_COMMANDS: Commands = {
    "run": ("commands.messages:run", "Follow journals, and send."),
    "test": ("commands.messages:test", "Send a test message to receivers."),
    "list": ("commands.messages:list_messages", "Show the outbox."),
    "schema": ("commands.messages:schema_command", "Print the JSON schema of the messages."),
}

PIPELINE_COMMANDS: Commands = {
    "run": ("commands.pipeline:run", "Bring the tables of a warehouse up to date."),
    "check": ("commands.pipeline_check:check", "Say what is wrong with a warehouse."),
    "tables": ("commands.pipeline_tables:tables", "Say what the tables and columns mean."),
    "archive": ("commands.pipeline_archive:archive", "Move or delete segments that a warehouse has."),
    "doctor": ("commands.pipeline:doctor", "Say what is found here, and what to do."),
    "package": ("commands.pipeline:package", "Write it as one zip for spark-submit."),
}


class LazyGroup(click.Group):
    """A group that imports a command only when the command or its help is used."""

    def __init__(self, commands: Commands, **settings: Any) -> None:  # noqa: ANN401 -- click's
        super().__init__(context_settings={"help_option_names": ["-h", "--help"]}, **settings)
        self._lazy = commands
        self._folded = {_folded(name): name for name in commands}

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 -- click's signature
        """Names in the order of the table."""
        return list(self._lazy)

    def name_of(self, word: str) -> str | None:
        """The name of a command, which may be written in any case; None if there is none."""
        return word if word in self._lazy else self._folded.get(_folded(word))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import and return a command."""
        found = self.name_of(cmd_name)
        if found is None:
            return None
        module, _, name = self._lazy[found][0].partition(":")
        command = getattr(import_module(f"namekeeper.cli.{module}"), name)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:  # fmt: skip
        """Find a sub-command; suggest one for a misspelt name."""
        word = args[0]
        if self.name_of(word) is None and not word.startswith("-") and not ctx.resilient_parsing:
            raise self.no_such_command(ctx, word)
        return super().resolve_command(ctx, [self.name_of(word) or word, *args[1:]])

    def no_such_command(self, ctx: click.Context, name: str) -> click.UsageError:
        """The error for a name that is no command."""
        return click.UsageError(f"No such command {name!r}{did_you_mean(name, self._lazy)}", ctx)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the list of commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in self._lazy.items()])


def _folded(name: str) -> str:
    return name.casefold().replace("-", "").replace("_", "")


namekeeper = LazyGroup(COMMANDS, help="A RocketMQ name server that remembers.")
access = LazyGroup(ACCESS_COMMANDS, help="Rules of who may do what; FILE is the file of `accessFile`.")
journal = LazyGroup(JOURNAL_COMMANDS, help="Read the journal of a name server; DIR is its folder.")
expect = LazyGroup(EXPECT_COMMANDS, help="What must be there: FILE says it, for people to review.")
maintenance = LazyGroup(MAINTENANCE_COMMANDS, help="Windows in which deviations and incidents are planned.")
messages = LazyGroup(MESSAGES_COMMANDS, help="Tell people about incidents; FILE names the receivers.")
pipeline = LazyGroup(PIPELINE_COMMANDS, help="Turn the journals of name servers into tables with Spark.")
click.version_option(__version__, message="namekeeper %(version)s")(namekeeper)


@click.command(context_settings={"ignore_unknown_options": True}, add_help_option=False)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def serve(arguments: tuple[str, ...]) -> None:
    """Run a name server."""
    from namekeeper.cli.serve import main as run_serve

    sys.exit(run_serve(arguments))
