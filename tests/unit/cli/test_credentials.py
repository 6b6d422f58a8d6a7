"""What commands sign with: their options are before the environment, and this before the file of Java's tools."""

import click
import pytest
from click.testing import CliRunner

from namekeeper.cli.credentials import credential_options, take_credentials
from namekeeper.errors import ConfigError
from namekeeper.remoting.credentials import Credentials

FROM_ENVIRONMENT = {"ROCKETMQ_ACCESS_KEY": "a", "ROCKETMQ_SECRET_KEY": "s"}


def run(*args, **environ):
    """What a command signs with, and what it prints."""
    found = []

    @click.command()
    @credential_options
    def command(**options):
        found.append(take_credentials(options, environ))
        assert options == {}

    result = CliRunner().invoke(command, args)
    if result.exception:
        raise result.exception
    return found, result.output


@pytest.mark.parametrize(
    ("args", "environ", "credentials"),
    [
        ((), {}, None),
        ((), FROM_ENVIRONMENT, Credentials("a", "s")),
        (("--access-key", "b"), FROM_ENVIRONMENT, Credentials("b", "s")),
        (("--access-key", "b", "--secret-key", "t"), FROM_ENVIRONMENT, Credentials("b", "t")),
        (("--access-key", "b", "--secret-key", "t"), {}, Credentials("b", "t")),
    ],
)
def test_what_is_given_is_before_the_environment(args, environ, credentials):
    assert run(*args, **environ)[0] == [credentials]


def test_an_access_key_alone_is_no_use():
    with pytest.raises(ConfigError, match="set ROCKETMQ_SECRET_KEY"):
        run("--access-key", "a")


def test_the_help_says_who_can_read_a_secret_key_on_the_command_line():
    assert "Every user of this host can read it" in " ".join(run("--help")[1].split())
