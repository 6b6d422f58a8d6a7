import pytest

from namekeeper.access.policy import AccessPolicy, check_users
from namekeeper.access.rules_file import parse_access_file
from namekeeper.errors import ConfigError

TEXT = """
mode = "audit"
keys = "keys.toml"
[[rule]]
name = "operators"
requests = ["admin"]
users = ["operator"]
"""


def test_a_user_without_a_key_is_named():
    rules = parse_access_file(TEXT, source="access.toml").rules
    check_users(AccessPolicy(rules, {"operator": ("s",), "other": ("s",)}), source="access.toml")
    with pytest.raises(ConfigError) as caught:
        check_users(AccessPolicy(rules, {"operators": ("s",)}), source="access.toml")
    assert str(caught.value) == (
        "access.toml: rule 'operators': user 'operator' has no key: did you mean operators?"
    )
