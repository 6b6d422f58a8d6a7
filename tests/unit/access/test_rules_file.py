from ipaddress import ip_network

import pytest

from namekeeper.access import rules_file
from namekeeper.access.request_class import CLASSES, PLANNING_REQUESTS, codes_of
from namekeeper.access.rules import AccessMode
from namekeeper.access.rules_file import LISTS_LIMIT, RULES_LIMIT, TABLES_LIMIT, parse_access_file, parse_toml
from namekeeper.errors import ConfigError
from namekeeper.messages.catalogue import NameKind, RequestClass

FULL = """
mode = "enforce"
keys = "keys.toml"

[[rule]]
name = "brokers of production"
requests = ["broker", 105]
networks = ["10.0.0.0/8", "fd00::1"]
users = ["broker"]
certificates = ["CN=broker-*"]
clusters = ["prod"]
takes_over = true

[[rule]]
name = "the rest"
effect = "refuse"
requests = ["any"]
"""


RULE = 'mode = "audit"\n[[rule]]\nname = "r"\n'


def parse(text: str):
    return parse_access_file(text, source="access.toml")


def test_everything_that_a_file_can_say():
    file = parse("\ufeff" + FULL)
    brokers, rest = file.rules.rules
    assert (file.rules.mode, file.keys_path) == (AccessMode.ENFORCE, "keys.toml")
    assert (brokers.name, brokers.allows) == ("brokers of production", True)
    assert brokers.codes == {*codes_of(RequestClass.BROKER), 105}
    assert brokers.networks == (ip_network("10.0.0.0/8"), ip_network("fd00::1"))
    assert brokers.users == {"broker"}
    assert (brokers.takes_over, rest.takes_over) == (True, False)
    assert brokers.certificates is not None
    assert brokers.certificates.texts == ("CN=broker-*",)
    assert [(kind, patterns.texts) for kind, patterns in brokers.names] == [(NameKind.CLUSTERS, ("prod",))]
    assert (rest.name, rest.allows, rest.codes) == ("the rest", False, {*CLASSES, PLANNING_REQUESTS})
    assert rest.is_certain


def test_a_file_without_rules_refuses_everything_and_is_no_error():
    assert parse('mode = "enforce"').rules.rules == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "access.toml: mode is missing: write 'audit' or 'enforce'"),
        ('mode = "on"', "access.toml: mode can't be 'on': write 'audit' or 'enforce'"),
        ("mode = 1", "access.toml: mode can't be 1"),
        ('mode = "audit"\nkeys = 5', "access.toml: keys must be the path of a file"),
        ('mode = "audit"\nrules = []', "access.toml: unknown key 'rules': did you mean rule?"),
        ('mode = "audit"\nother = []', "access.toml: unknown key 'other': it has mode, keys, rule"),
        ('mode = "audit"\n[rule]\nname = "r"', "access.toml: write each rule as a table: [[rule]]"),
        ('mode = "audit"\nrule = [1]', "access.toml: write each rule as a table: [[rule]]"),
        ('mode = "audit"\n[[rule]]\nrequests = ["read"]', "access.toml: rule number 1 has no name"),
        (RULE, "access.toml: rule 'r': requests must be a list"),
        (RULE + "requests = []", "requests must be a list"),
        (RULE + 'requests = "read"', "requests must be a list"),
        (
            RULE + 'requests = ["write"]',
            "requests: 'write' is none of read, broker, admin, any, http, planning, nor a code",
        ),
        (RULE + "requests = [999]", "requests: 999 is none of"),
        (RULE + "requests = [905]", "requests: 905 is none of"),
        (RULE + "requests = [true]", "requests: True is none of"),
        (RULE + 'requests = ["read"]\neffect = "deny"', "effect can't be 'deny': write 'allow' or 'refuse'"),
        (
            RULE + 'requests = ["read"]\nnetwork = ["10.0.0.0/8"]',
            "unknown key 'network': did you mean networks?",
        ),
        (RULE + 'requests = ["read"]\nnetworks = "10.0.0.0/8"', "networks must be a list of texts"),
        (RULE + 'requests = ["read"]\nnetworks = []', "networks must be a list of texts that are not empty"),
        (
            RULE + 'requests = ["read"]\nnetworks = ["10.0.0.1/8"]',
            "networks: '10.0.0.1/8' has bits beyond its prefix",
        ),
        (RULE + 'requests = ["read"]\nusers = [""]', "users must be a list of texts that are not empty"),
        (RULE + 'requests = ["read"]\nusers = ["a"]', "rule 'r' names users, so their keys are needed"),
        (RULE + 'requests = ["read"]\nbrokers = ["a"]', "rule 'r': none of its requests has brokers"),
        (RULE + 'requests = ["read"]\n' + RULE[15:] + 'requests = ["read"]', "two rules are named 'r'"),
        (RULE + "requests = [103]\ntakes_over = 1", "rule 'r': takes_over can't be 1: write true or false"),
        (RULE + "requests = [105]\ntakes_over = true", "takes_over is for rules that allow to register"),
        (
            RULE + 'requests = [103]\neffect = "refuse"\ntakes_over = true',
            "takes_over is for rules that allow",
        ),
        ("mode =", "access.toml is not TOML: "),
        ("mode =", "mode has no value"),
        (
            'mode = "enforce"\n\nrule:\n',
            "(at line 3, column 5); this is no TOML but looks like YAML: write rule",
        ),
        ("mode = \u201cenforce\u201d", 'these quotes are typographic: write "straight" ones'),
        ("mode = enforce", 'write the value in quotes: mode = "..."'),
        ('\ufeff{"mode": "enforce"}', "looks like JSON"),
        ("[" * 100_000, "access.toml is not TOML: "),
        ("mode = " + "9" * 5_000, "access.toml is not TOML: "),
    ],
)
def test_what_is_wrong_is_one_line_that_says_where(text: str, message: str):
    with pytest.raises(ConfigError) as caught:
        parse(text)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_too_many_rules_are_refused():
    row = '[[rule]]\nname = "{}"\nrequests = ["read"]\n'
    text = 'mode = "audit"\n' + "".join(row.format(number) for number in range(RULES_LIMIT + 1))
    with pytest.raises(ConfigError, match="1001 rules; 1000 are allowed"):
        parse(text)


def test_toml_is_read():
    assert parse_toml("a = 1", source="x") == {"a": 1}


@pytest.mark.parametrize(
    "line", ["[a{}.b]\n", "a{}.b.c = 1\n", '"a{}" . b . c = "\\"" # "\n', "[b{}]\n[[c]]\n"]
)
def test_a_file_with_too_many_tables_is_refused_before_it_takes_gigabytes(line: str):
    """Each name of a table takes 900 bytes while `tomllib` reads: 4.8 MB took 887 MiB."""
    text = "".join(map(line.format, range(TABLES_LIMIT // 2 + 1)))
    with pytest.raises(
        ConfigError, match=r"^f: more than 200,000 tables and dots between names, up to line \d+$"
    ):
        parse_toml(text, source="f")


@pytest.mark.parametrize(
    ("value", "limit"), [("{}", LISTS_LIMIT), ("[]", 100_000), ("{a = 0}", 100_000), ('[""]', 100_000)]
)
def test_a_file_with_too_many_values_is_refused_before_it_takes_gigabytes(
    value: str, limit: int, monkeypatch: pytest.MonkeyPatch
):
    """32 MiB of `{}` took 1.3 GB, after two minutes. One value is counted up to the limit of today."""
    monkeypatch.setattr(rules_file, "LISTS_LIMIT", limit)
    text = f'a = "{{"\nb = [{f"{value}, " * (limit - 1)}\n'
    with pytest.raises(
        ConfigError, match=rf"^f: more than {limit:,} lists and tables as values, up to line 3$"
    ):
        parse_toml(f"{text}0, {value}]", source="f")


def test_dots_and_brackets_of_texts_and_remarks_are_no_tables():
    dots = "." * (TABLES_LIMIT + 1)
    text = f"\"{dots}\\\"{dots}\" = '{dots}' # {dots}\nb = '{'[' * TABLES_LIMIT}.'\n"
    assert parse_toml(text, source="f").keys() == {f'{dots}"{dots}', "b"}


@pytest.mark.parametrize(
    "text",
    [
        "\n{key} = 1",
        "\n[{key}]",
        "\n[[ {key} ]]",
        "\na = {{ {key} = 1 }}",
        '\n"a b" . {key} = 1',
    ],
)
@pytest.mark.parametrize("name", ["a", '"b c"', "'d'"])
def test_a_key_of_many_names_is_refused_before_it_takes_hours(text: str, name: str):
    with pytest.raises(ConfigError, match=r"^f: line 2 joins more than 50 names by dots: split it$"):
        parse_toml(text.format(key=".".join([name] * 300_000)), source="f")


def test_a_text_may_have_as_many_dots_as_a_reverse_address():
    text = "f." * 32 + "ip6.arpa"
    assert parse_toml(f'a = "{text}"', source="f") == {"a": text}
