"""Rules are checked and explained without a server."""

import os

import pytest
from click.testing import CliRunner

from namekeeper.cli.group import namekeeper

RULES = """
mode = "audit"
keys = "keys.toml"

[[rule]]
name = "brokers"
requests = ["broker"]
networks = ["10.0.0.0/8"]
clusters = ["prod"]

[[rule]]
name = "operators"
requests = ["admin"]
users = ["ops"]

[[rule]]
name = "everybody"
requests = ["read"]

[[rule]]
name = "too late"
requests = [105, 206]
"""


@pytest.fixture
def file(tmp_path):
    file = tmp_path / "access.toml"
    file.write_text(RULES)
    keys = tmp_path / "keys.toml"
    keys.write_text('[users]\nops = "s"\n')
    keys.chmod(0o600)
    return file


def run(*arguments: object):
    return CliRunner().invoke(namekeeper, ["access", *map(str, arguments)])


def test_check_says_what_was_found_and_what_is_probably_not_meant(file):
    result = run("check", file)
    assert result.exit_code == 0
    assert result.output.splitlines() == [
        f"{file} can be used: 4 rules, 1 user, mode audit",
        "rule 'too late' never holds: 'everybody' decides before it, for everybody",
    ]


def test_check_names_what_nobody_may_send(tmp_path):
    file = tmp_path / "access.toml"
    file.write_text('mode = "enforce"\n[[rule]]\nname = "r"\nrequests = ["any"]\ntopics = ["T"]')
    lines = run("check", file).output.splitlines()
    assert "nobody may send REGISTER_BROKER (103, broker)" in lines
    assert not [line for line in lines if "(105" in line or "(216" in line]


def test_check_says_when_pages_see_certificates(tmp_path):
    file = tmp_path / "access.toml"
    rule = '[[rule]]\nname = "r"\nrequests = [{}"http"]\ncertificates = ["CN=a"]'
    for also in ('"any", ', ""):
        file.write_text('mode = "enforce"\n' + rule.format(also))
        result = run("check", file)
        assert result.exit_code == 0
        assert "rule 'r' opens pages only where httpTlsNeedClientAuth asks for certificates" in result.output


@pytest.mark.parametrize(("mode", "warns"), [(0o644, False), (0o664, True), (0o646, True)])
def test_check_says_who_else_may_write_the_rules(file, mode, warns):
    file.chmod(mode)
    result = run("check", file)
    assert result.exit_code == 0
    assert (f"others may write {file}, and so decide who may do what" in result.output) == warns


def test_check_says_why_a_file_cant_be_used(file):
    (file.parent / "keys.toml").chmod(0o644)
    result = run("check", file)
    assert result.exit_code == 2
    assert "keys.toml holds secrets, and others may use it (mode 644): chmod 600" in result.stderr


def test_explain_names_the_rule_that_decides(file):
    result = run("explain", file, "--code", 103, "--peer", "10.0.0.1", "--cluster", "prod")
    assert (result.exit_code, result.output.splitlines()) == (
        0, ["REGISTER_BROKER (103, broker): allowed, by rule 'brokers'", "  brokers: holds"],
    )  # fmt: skip


def test_explain_ends_with_1_for_what_is_refused(file):
    result = run("explain", file, "--code", 205, "--peer", "10.0.0.1", "--broker", "b", "--user", "guest")
    assert (result.exit_code, result.output.splitlines()) == (
        1,
        [
            "WIPE_WRITE_PERM_OF_BROKER (205, admin): refused, no rule covers it",
            "mode audit: a server logs and counts the refusal, and handles the request",
            "  brokers: is not about this request",
            "  operators: users: guest",
            "  everybody: is not about this request",
            "  too late: is not about this request",
        ],
    )


def test_explain_knows_the_http_pages(file):
    result = run("explain", file, "--code", "http")
    assert (result.exit_code, result.output) == (0, "http: allowed, no rule is about them\n" + "".join(
        f"  {name}: is not about this request\n" for name in ("brokers", "operators", "everybody", "too late")
    ))  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--code", "register"), "a name server does not know code register"),
        (("--code", "4711"), "a name server does not know code 4711"),
        (("--code", "103", "--peer", "x"), "--peer 'x' is not an IP address: write 10.1.2.3 or fd00::1"),
    ],
)
def test_explain_says_what_is_wrong_with_the_question(file, arguments, message):
    result = run("explain", file, *arguments)
    assert result.exit_code == 2
    assert message in result.stderr


@pytest.mark.timeout(60)
@pytest.mark.parametrize("command", [("check",), ("explain", "--code", "105")], ids=["check", "explain"])
def test_what_is_no_regular_file_is_not_waited_for(tmp_path, command):
    os.mkfifo(tmp_path / "pipe")
    result = run(command[0], tmp_path / "pipe", *command[1:])
    assert (result.exit_code, "pipe is not a regular file" in result.stderr) == (2, True)


def test_explain_says_that_the_file_is_missing(tmp_path):
    result = run("explain", tmp_path / "none.toml", "--code", "103")
    assert (result.exit_code, "none.toml can't be read: No such file or directory" in result.stderr) == (
        2,
        True,
    )
