"""Options that take a duration."""

import click
import pytest
from click.testing import CliRunner

from namekeeper.cli.durations import take_duration


@click.command()
@click.option("--every", callback=take_duration, default="1 min")
def command(every: int) -> None:
    click.echo(every)


@pytest.mark.parametrize(("arguments", "ms"), [([], 60_000), (["--every", "1h30m"], 5_400_000)])
def test_a_command_gets_ms(arguments, ms):
    assert CliRunner().invoke(command, arguments).output == f"{ms}\n"


@pytest.mark.parametrize("text", ["soon", "0", ""])
def test_anything_else_is_a_usage_error_with_examples(text):
    done = CliRunner().invoke(command, ["--every", text])
    assert done.exit_code == 2
    assert "'--every': " in done.output
    assert "write it as" in done.output
