"""Reads the file of rules and the file of the users' secret keys, both TOML.

An error is one line that names the place and what to write there. No message repeats a key.
"""

import re
import tomllib
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from msgspec import Struct

from namekeeper.access.names import NAMED
from namekeeper.access.request_class import (
    CLASSES,
    HTTP,
    HTTP_PAGES,
    PLANNING,
    PLANNING_REQUESTS,
    TAKING_OVER,
    codes_of,
)
from namekeeper.access.rules import AccessMode, AccessRules, NamePatterns, Rule
from namekeeper.access.signature import AccessKeys
from namekeeper.common.copied_text import advice_for_toml
from namekeeper.common.networks import IpNetwork, parse_network
from namekeeper.config.keyed_values import refuse_unknown_keys
from namekeeper.errors import ConfigError
from namekeeper.messages.catalogue import NameKind, RequestClass

__all__ = [
    "LISTS_LIMIT", "NO_KEYS", "RULES_LIMIT", "TABLES_LIMIT", "AccessFile", "parse_access_file",
    "parse_keys_file", "parse_toml",
]  # fmt: skip

RULES_LIMIT = 1_000
"""Most rules in a file: each new connection is compared with every rule, and each rule is a series of a
metric."""

EVERYTHING = "any"
"""The word for all classes of requests, and planning. It leaves out the HTTP pages, which a rule has to name.
"""

_KEY_PARTS = 50
"""Most names that dots join, in a key or in a text. Our keys have one name; an address of `ip6.arpa` has 34.
The time of `tomllib` grows with the square of their number: a key of a megabyte would take hours."""
_PART = r"""(?:[\w-]+|"[^"\n]*"|'[^'\n]*')"""
_LONG_KEY = re.compile(rf"(?<![\w-]){_PART}(?:[ \t]*\.[ \t]*{_PART}){{{_KEY_PARTS}}}")
TABLES_LIMIT = 200_000
"""Most tables with a head, and dots between names, of one file. While `tomllib` reads, each of these names
takes up to 900 bytes, hundreds of times its own size. Our files have one table for each cluster, rule or
receiver."""
LISTS_LIMIT = 1_000_000
"""Most lists and tables that are values. Each takes up to 250 bytes: 32 MiB of `{}` took 1.3 GB. An expected
state of 100,000 topics with rows of their own on four brokers has 900,000."""
_TABLE = re.compile(
    r"""
    "[^"\\\n]*(?:\\.[^"\\\n]*)*"?|'[^'\n]*'?|\#[^\n]*    # texts and remarks, perhaps without an end: skipped
    |(\.|^[ \t]*\[)                                        # a dot, or the start of a head
    |([\[{])                                               # the start of a list or table
    """,
    re.MULTILINE | re.VERBOSE,
)
_LINE = re.compile(r"\(at line ([0-9]+),")
"""The place of an error in a message of `tomllib`."""
_TOP = ("mode", "keys", "rule")
_CONDITIONS = ("networks", "users", "certificates", *(kind.value for kind in NameKind))
_RULE = ("name", "effect", "requests", "takes_over", *_CONDITIONS)
_EFFECTS = {"allow": True, "refuse": False}


class AccessFile(Struct, frozen=True):
    """The contents of a file of rules."""

    rules: AccessRules
    keys_path: str | None
    """The file of the users' keys as written, relative to the file of rules."""


def parse_access_file(text: str, *, source: str) -> AccessFile:
    """Read the text of a file of rules.

    Args:
        text: TOML.
        source: the file's name, for messages.

    Raises:
        ConfigError: a part of the file can't be used; then no part of it may be used.
    """
    table = parse_toml(text, source=source)
    refuse_unknown_keys(table, _TOP, source)
    mode = _one_of(table.get("mode"), [each.value for each in AccessMode], f"{source}: mode")
    keys_path = table.get("keys")
    if keys_path is not None and (not isinstance(keys_path, str) or not keys_path):
        raise ConfigError(f'{source}: keys must be the path of a file: keys = "access-keys.toml"')
    rows = table.get("rule", [])
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ConfigError(f"{source}: write each rule as a table: [[rule]], and its lines below")
    if len(rows) > RULES_LIMIT:
        raise ConfigError(f"{source}: {len(rows)} rules; {RULES_LIMIT} are allowed")
    rules = tuple(_rule(row, number, source) for number, row in enumerate(rows, 1))
    _refuse_twins(rules, source)
    if keys_path is None and (asking := [rule.name for rule in rules if rule.users is not None]):
        raise ConfigError(
            f'{source}: rule {asking[0]!r} names users, so their keys are needed: keys = "access-keys.toml"'
        )
    return AccessFile(AccessRules(AccessMode(mode), rules), keys_path)


def parse_toml(text: str, *, source: str) -> dict[str, Any]:
    """Read TOML and skip a byte order mark at its start. A ConfigError names the place of an error."""
    plain = text.removeprefix("\ufeff")
    if (found := _LONG_KEY.search(plain)) is not None:
        line = plain.count("\n", 0, found.start()) + 1
        raise ConfigError(f"{source}: line {line} joins more than {_KEY_PARTS} names by dots: split it")
    _refuse_many_tables(plain, source)
    try:
        return tomllib.loads(plain)
    except (ValueError, RecursionError) as error:  # also of a number of thousands of digits
        advice = _advice(plain, str(error))
        raise ConfigError(f"{source} is not TOML: {error}{'; ' if advice else ''}{advice}") from None


def _refuse_many_tables(text: str, source: str) -> None:
    brackets = text.count("[")
    if text.count(".") + brackets <= TABLES_LIMIT and text.count("{") + brackets <= LISTS_LIMIT:
        return
    tables = lists = 0
    for found in _TABLE.finditer(text):
        tables += found[1] is not None
        lists += found[2] is not None
        if tables > TABLES_LIMIT or lists > LISTS_LIMIT:
            excess = (
                f"{TABLES_LIMIT:,} tables and dots between names"
                if tables > TABLES_LIMIT
                else f"{LISTS_LIMIT:,} lists and tables as values"
            )
            line = text.count("\n", 0, found.start()) + 1
            raise ConfigError(f"{source}: more than {excess}, up to line {line}")


def _advice(text: str, problem: str) -> str:
    """Advice for the line that a problem names: the text to write instead."""
    found = _LINE.search(problem)
    if found is not None:
        return advice_for_toml(text.split("\n")[int(found[1]) - 1], problem)
    return advice_for_toml(text.rstrip().rpartition("\n")[2], problem) if "end of document" in problem else ""


def _rule(row: Mapping[str, Any], number: int, source: str) -> Rule:
    name = row.get("name")
    if not isinstance(name, str) or not name.strip():
        raise ConfigError(f'{source}: rule number {number} has no name: name = "operators"')
    where = f"{source}: rule {name!r}"
    refuse_unknown_keys(row, _RULE, where)
    codes = _codes(row.get("requests"), where)
    rule = Rule(
        name=name,
        allows=_EFFECTS[_one_of(row.get("effect", "allow"), list(_EFFECTS), f"{where}: effect")],
        codes=codes,
        networks=_networks(row, where),
        users=None if (users := _texts(row, "users", where)) is None else frozenset(users),
        certificates=_patterns(row, "certificates", where),
        names=_names(row, where),
        takes_over=_takes_over(row, codes, where),
    )
    for kind, _ in rule.names:
        if not any(kind in NAMED.get(code, ()) for code in codes):
            raise ConfigError(f"{where}: none of its requests has {kind.value}, so it would never hold")
    if len(rule.names) > 1 and {code for code in codes if rule.covers_code(code)} == {PLANNING_REQUESTS}:
        raise ConfigError(
            f"{where}: each kind of name of a window is judged alone, so it would never hold: write a rule"
            " for each kind"
        )
    return rule


def _codes(value: object, where: str) -> frozenset[int]:
    if not isinstance(value, list) or not value:
        raise ConfigError(f'{where}: requests must be a list: requests = ["read", "broker", 205]')
    codes: set[int] = set()
    for item in value:
        codes |= _codes_of(item, where)
    return frozenset(codes)


def _codes_of(item: object, where: str) -> frozenset[int]:
    classes = [each.value for each in RequestClass]
    if item == HTTP:
        return frozenset((HTTP_PAGES,))
    if item == EVERYTHING:
        return frozenset((*map(int, CLASSES), PLANNING_REQUESTS))
    if item == PLANNING:
        return frozenset((PLANNING_REQUESTS,))
    if isinstance(item, str) and item in classes:
        return codes_of(RequestClass(item))
    if isinstance(item, int) and not isinstance(item, bool) and item in CLASSES:
        return frozenset((item,))
    raise ConfigError(
        f"{where}: requests: {item!r} is none of {', '.join([*classes, EVERYTHING, HTTP, PLANNING])}, nor a"
        " code that a name server handles"
    )


def _networks(row: Mapping[str, Any], where: str) -> tuple[IpNetwork, ...] | None:
    texts = _texts(row, "networks", where)
    try:
        return None if texts is None else tuple(map(parse_network, texts))
    except ValueError as error:
        raise ConfigError(f"{where}: networks: {error}") from None


def _takes_over(row: Mapping[str, Any], codes: frozenset[int], where: str) -> bool:
    value = row.get("takes_over", False)
    if not isinstance(value, bool):
        raise ConfigError(f"{where}: takes_over can't be {value!r}: write true or false")
    if value and (row.get("effect") == "refuse" or TAKING_OVER.isdisjoint(codes)):
        raise ConfigError(f"{where}: takes_over is for rules that allow to register or unregister (103, 104)")
    return value


def _names(row: Mapping[str, Any], where: str) -> tuple[tuple[NameKind, NamePatterns], ...]:
    found = ((kind, _patterns(row, kind.value, where)) for kind in NameKind)
    return tuple((kind, patterns) for kind, patterns in found if patterns is not None)


def _patterns(row: Mapping[str, Any], key: str, where: str) -> NamePatterns | None:
    texts = _texts(row, key, where)
    return None if texts is None else NamePatterns.of(texts)


def _texts(row: Mapping[str, Any], key: str, where: str) -> tuple[str, ...] | None:
    """A list of texts; an empty list is refused as a mistake, because its rule would never match."""
    value = row.get(key)
    if value is None:
        return None
    if not isinstance(value, list) or not value or not all(isinstance(each, str) and each for each in value):
        raise ConfigError(f'{where}: {key} must be a list of texts that are not empty: {key} = ["..."]')
    return tuple(value)


def _one_of(value: object, choices: list[str], where: str) -> str:
    if isinstance(value, str) and value in choices:
        return value
    written = "is missing" if value is None else f"can't be {value!r}"
    raise ConfigError(f"{where} {written}: write {' or '.join(map(repr, choices))}")


def _refuse_twins(rules: tuple[Rule, ...], source: str) -> None:
    names = [rule.name for rule in rules]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"{source}: two rules are named {name!r}; refusals and metrics name the rule")


NO_KEYS: AccessKeys = MappingProxyType({})

_EXAMPLE = 'ops = "secret", ops = ["new secret", "old secret"] or ops = { env = "OPS_SECRET_KEY" }'


def parse_keys_file(text: str, *, source: str, environment: Mapping[str, str]) -> AccessKeys:
    """Read the text of a file of keys.

    Args:
        text: TOML; the table `users` has each user's secret key or keys.
        source: the file's name, for messages.
        environment: the variables that the file may name instead of keys.

    Raises:
        ConfigError: a part of the file can't be used.
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
