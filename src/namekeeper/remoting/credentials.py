"""The keys with which this program signs: from the environment, or from the file of Java's tools."""

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from namekeeper.errors import ConfigError
from namekeeper.files import SMALL_FILE_BYTES, read_if_exists

__all__ = ["ACCESS_KEY_VARIABLE", "SECRET_KEY_VARIABLE", "Credentials", "find_credentials", "parse_tools_yml"]

ACCESS_KEY_VARIABLE = "ROCKETMQ_ACCESS_KEY"
SECRET_KEY_VARIABLE = "ROCKETMQ_SECRET_KEY"  # noqa: S105 - the name of a variable


class Credentials(Struct, frozen=True):
    """A user's access key and secret key."""

    access_key: str
    secret_key: str

    def __repr__(self) -> str:
        return f"Credentials({self.access_key!r})"


def find_credentials(environ: Mapping[str, str]) -> Credentials | None:
    """The keys in the environment, or else in `$ROCKETMQ_HOME/conf/tools.yml`; None if there are none.

    Raises:
        ConfigError: there is no secret key, or the file with the keys can't be read.
    """
    access_key, secret_key = environ.get(ACCESS_KEY_VARIABLE), environ.get(SECRET_KEY_VARIABLE)
    if access_key:
        if not secret_key:
            raise ConfigError(f"an access key needs its secret key: set {SECRET_KEY_VARIABLE}")
        return Credentials(access_key, secret_key)
    home = environ.get("ROCKETMQ_HOME")
    file = Path(home, "conf", "tools.yml") if home else None
    try:
        data = read_if_exists(str(file), limit=SMALL_FILE_BYTES) if file else None
        return None if data is None else parse_tools_yml(data.decode())
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
