"""The credentials with which commands sign: from options, the environment, or the file of Java's tools."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click
from msgspec import Struct

from namekeeper.errors import ConfigError

__all__ = ["Credentials", "credential_options", "parse_tools_yml", "take_credentials"]


class Credentials(Struct, frozen=True):
    """A user's access key and secret key."""

    access_key: str
    secret_key: str

    def __repr__(self) -> str:
        return f"Credentials({self.access_key!r})"


def credential_options(function: Callable[..., None]) -> Callable[..., None]:
    """Add the options that `take_credentials` takes out again."""
    for option in (
        # From the environment only: every user of the host can read a command line.
        click.option("--secret-key", envvar="ROCKETMQ_SECRET_KEY", metavar="KEY", hidden=True),
        click.option(
            "--access-key", envvar="ROCKETMQ_ACCESS_KEY", metavar="KEY",
            help="Sign requests; the secret key comes from ROCKETMQ_SECRET_KEY. Without it, "
            "$ROCKETMQ_HOME/conf/tools.yml is used if it is there.  [env: ROCKETMQ_ACCESS_KEY]",
        ),
    ):  # fmt: skip
        function = option(function)
    return function


def take_credentials(options: dict[str, Any], environ: Mapping[str, str]) -> Credentials | None:
    """Take the values of `credential_options` out of `options`; None if nothing is to be signed.

    Raises:
        ConfigError: there is no secret key, or the file with the credentials can't be read.
    """
    access_key, secret_key = options.pop("access_key"), options.pop("secret_key")
    if access_key:
        if not secret_key:
            raise ConfigError("an access key needs its secret key: set ROCKETMQ_SECRET_KEY")
        return Credentials(access_key, secret_key)
    home = environ.get("ROCKETMQ_HOME")
    file = Path(home, "conf", "tools.yml") if home else None
    try:
        return parse_tools_yml(file.read_text()) if file and file.exists() else None
    except (OSError, UnicodeError) as error:
        raise ConfigError(f"can't read the credentials in {file}: {error}") from None


def parse_tools_yml(text: str) -> Credentials | None:
    """Read the credentials of Java's tools, `accessKey` and `secretKey`; None unless both are there."""
    values = {}
    for line in text.splitlines():
        key, colon, value = line.partition(":")
        if colon and not key.lstrip().startswith("#"):
            values[key.strip()] = value.partition(" #")[0].strip().strip("'\"")
    access_key, secret_key = values.get("accessKey"), values.get("secretKey")
    return Credentials(access_key, secret_key) if access_key and secret_key else None
