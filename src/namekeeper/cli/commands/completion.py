"""`namekeeper completion`: a script with which a shell completes commands and options."""

import click
from click.shell_completion import get_completion_class

from namekeeper.cli.group import namekeeper
from namekeeper.cli.mqadmin import admin
from namekeeper.cli.output import echo

__all__ = ["completion"]


@click.command("completion", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print what SHELL needs to complete the commands: source <(namekeeper completion bash)."""
    found = get_completion_class(shell)
    assert found is not None
    for command, name in ((namekeeper, "namekeeper"), (admin, "mqadmin")):
        echo(found(command, {}, name, f"_{name.upper()}_COMPLETE").source())
