"""`namekeeper pipeline`: the table of its sub-commands. A new one is a line here."""

from collections.abc import Mapping

from namekeeper.cli.group import LazyGroup

__all__ = ["PIPELINE_COMMANDS", "pipeline"]

PIPELINE_COMMANDS: Mapping[str, tuple[str, str]] = {
    "run": ("namekeeper.cli.commands.pipeline:run", "Bring the tables of a warehouse up to date."),
    "check": ("namekeeper.cli.commands.pipeline_check:check", "Say what is wrong with a warehouse."),
    "doctor": ("namekeeper.cli.commands.pipeline:doctor", "Say what is found here, and what to do."),
    "package": ("namekeeper.cli.commands.pipeline:package", "Write it as one zip for spark-submit."),
}
"""Sub-command -> (`module:object`, one line of help)."""

pipeline = LazyGroup(PIPELINE_COMMANDS, help="Turn the journals of name servers into tables with Spark.")
