"""The options with which commands get the keys that they sign with."""

from collections.abc import Callable, Mapping
from typing import Any

import click

from namekeeper.remoting.credentials import (
    ACCESS_KEY_VARIABLE,
    SECRET_KEY_VARIABLE,
    Credentials,
    find_credentials,
)

__all__ = ["credential_options", "rather_set", "take_credentials"]


def rather_set(variable: str) -> str:
    """The end of the help for an option with a secret: what to use instead."""
    seen = "Every user of this host can read it in the list of processes"
    return f"{seen}: rather set {variable}.  [env: {variable}]"


def credential_options(function: Callable[..., None]) -> Callable[..., None]:
    """Add the options that `take_credentials` takes out again."""
    for option in (
        click.option(
            "--secret-key", metavar="KEY",
            help=f"The secret key. {rather_set(SECRET_KEY_VARIABLE)}",
        ),
        click.option(
            "--access-key", metavar="KEY",
            help="Sign requests. Without it, $ROCKETMQ_HOME/conf/tools.yml is used if it is there.  "
            f"[env: {ACCESS_KEY_VARIABLE}]",
        ),
    ):  # fmt: skip
        function = option(function)
    return function


def take_credentials(options: dict[str, Any], environ: Mapping[str, str]) -> Credentials | None:
    """Take the values of `credential_options` out of `options`; None if nothing is to be signed.

    Raises:
        ConfigError: there is no secret key, or the file with the credentials can't be read.
    """
    given = {ACCESS_KEY_VARIABLE: options.pop("access_key"), SECRET_KEY_VARIABLE: options.pop("secret_key")}
    return find_credentials({**environ, **{name: key for name, key in given.items() if key}})
