import pytest

from namekeeper.access.rules_file import parse_keys_file
from namekeeper.errors import ConfigError


def parse(text: str, **environment: str):
    return parse_keys_file(text, source="keys.toml", environment=environment)


def test_a_key_two_keys_and_one_in_the_environment():
    keys = parse(
        '[users]\nops = "one"\nbroker = ["new", "old"]\nci = { env = "CI_KEY" }\n"a.b" = "dotted"',
        CI_KEY="two",
    )
    assert keys == {"ops": ("one",), "broker": ("new", "old"), "ci": ("two",), "a.b": ("dotted",)}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "keys.toml: must hold one table, [users]"),
        ('ops = "one"', "keys.toml: must hold one table, [users]"),
        ('[users]\nops = "one"\n[more]\n', "keys.toml: must hold one table, [users]"),
        ("[users]\nops = 5", "keys.toml: user 'ops': write ops = "),
        ('[users]\nops = ""', "keys.toml: user 'ops': write ops = "),
        ("[users]\nops = []", "keys.toml: user 'ops': write ops = "),
        ('[users]\nops = { env = "NOT_SET" }', "user 'ops': the environment variable NOT_SET is not set"),
        ('[users]\nops = { file = "x" }', "keys.toml: user 'ops': write ops = "),
        ('[users]\n"" = "one"', "keys.toml: user '': write ops = "),
        ("[users\n", "keys.toml is not TOML: "),
    ],
)
def test_what_is_wrong_is_said(text: str, message: str):
    with pytest.raises(ConfigError) as caught:
        parse(text)
    assert message in str(caught.value)


def test_no_message_repeats_a_secret():
    for text in (
        '[users]\nops = "S3CRET"\nops = "S3CRET"',
        '[users]\nops = "S3CRET',
        '[users]\nops = ["S3CRET", 5]',
    ):
        with pytest.raises(ConfigError) as caught:
            parse(text)
        assert "S3CRET" not in str(caught.value)
