"""A policy: the rules and keys that authorise requests."""

from msgspec import Struct

from namekeeper.access.rules import AccessRules
from namekeeper.access.signature import AccessKeys
from namekeeper.common.near_names import did_you_mean
from namekeeper.errors import ConfigError

__all__ = ["AccessPolicy", "check_users"]


class AccessPolicy(Struct, frozen=True):
    """The rules, and the keys of the users that they name; both are replaced together."""

    rules: AccessRules
    keys: AccessKeys


def check_users(policy: AccessPolicy, *, source: str) -> None:
    """Raise ConfigError if a rule names a user without a key: no request could prove to be from that user."""
    for rule in policy.rules.rules:
        for user in sorted((rule.users or frozenset()) - policy.keys.keys()):
            question = did_you_mean(user, policy.keys)
            raise ConfigError(f"{source}: rule {rule.name!r}: user {user!r} has no key{question}")
