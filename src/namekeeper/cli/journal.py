"""`namekeeper journal`: the table of its sub-commands. A new one is a line here."""

from collections.abc import Mapping

from namekeeper.cli.group import LazyGroup

__all__ = ["JOURNAL_COMMANDS", "journal"]

JOURNAL_COMMANDS: Mapping[str, tuple[str, str]] = {
    "ls": ("namekeeper.cli.commands.journal_show:ls", "List the segments of a journal."),
    "cat": ("namekeeper.cli.commands.journal_show:cat", "Print its records in order."),
    "tail": ("namekeeper.cli.commands.journal_show:tail", "Print its last records, and follow it."),
    "verify": ("namekeeper.cli.commands.journal_keep:verify", "Check that it is whole; say what is lost."),
    "replay": ("namekeeper.cli.commands.journal_replay:replay", "Show the state at an instant."),
    "ship": ("namekeeper.cli.commands.journal_ship:ship", "Copy sealed segments to where Spark reads them."),
    "seal": ("namekeeper.cli.commands.journal_keep:seal", "Seal what is written, so that it can be shipped."),
}
"""Sub-command -> (`module:object`, one line of help)."""

journal = LazyGroup(JOURNAL_COMMANDS, help="Look into the journal of a name server: DIR is its folder.")
