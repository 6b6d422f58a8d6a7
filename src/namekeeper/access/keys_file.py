"""Reads the file of the users' secret keys, TOML. No message repeats a key."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from namekeeper.access.rules_file import parse_toml
from namekeeper.access.signature import AccessKeys
from namekeeper.errors import ConfigError

__all__ = ["NO_KEYS", "parse_keys_file"]

NO_KEYS: AccessKeys = MappingProxyType({})

_EXAMPLE = 'ops = "secret", ops = ["new secret", "old secret"] or ops = { env = "OPS_SECRET_KEY" }'


def parse_keys_file(text: str, *, source: str, environment: Mapping[str, str]) -> AccessKeys:
    """Read the text of a file of keys.

    Args:
        text: TOML; the table `users` has each user's secret key or keys.
        source: the file's name, for messages.
        environment: the variables in which the file says that keys are.

    Raises:
        ConfigError: something in it can't be used.
    """
    table = parse_toml(text, source=source)
    users = table.get("users")
    if not isinstance(users, dict) or table.keys() != {"users"}:
        raise ConfigError(f"{source}: must hold one table, [users], with a line for each: {_EXAMPLE}")
    return MappingProxyType(
        {user: _secret_keys(value, f"{source}: user {user!r}", environment) for user, value in users.items()}
    )


def _secret_keys(value: Any, where: str, environment: Mapping[str, str]) -> tuple[str, ...]:  # noqa: ANN401
    values = value if isinstance(value, list) else [value]
    keys = tuple(_secret_key(each, where, environment) for each in values)
    if not keys or where.endswith("user ''"):
        raise ConfigError(f"{where}: write {_EXAMPLE}")
    return keys


def _secret_key(value: object, where: str, environment: Mapping[str, str]) -> str:
    if isinstance(value, dict) and value.keys() == {"env"} and isinstance(value["env"], str):
        key = environment.get(value["env"], "")
        if not key:
            raise ConfigError(f"{where}: the environment variable {value['env']} is not set")
        return key
    if not isinstance(value, str) or not value:
        raise ConfigError(f"{where}: write {_EXAMPLE}")
    return value
