"""The options of the page: its address, who needs a token, and a command that may run without the page."""

import click
import pytest
from click.testing import CliRunner

from namekeeper.cli.group import namekeeper
from namekeeper.cli.page_access import page_address
from namekeeper.cli.page_options import page_options, take_page
from namekeeper.console.companion import PageSettings


@pytest.mark.parametrize(
    ("host", "names", "token", "address"),
    [
        ("127.0.0.1", (), "", "http://127.0.0.1:9888/"),
        ("0.0.0.0", ("ns1.example.com", "ns1"), "secret", "http://ns1.example.com:9888/#token=secret"),
        ("::", ("ns1",), "", "http://ns1:9888/"),
        ("0.0.0.0", (), "secret", "http://0.0.0.0:9888/#token=secret"),
        ("10.0.0.1", ("ns1",), "", "http://10.0.0.1:9888/"),
        ("::1", (), "", "http://[::1]:9888/"),
    ],
)
def test_the_address_that_it_prints_is_one_that_others_can_open(host, names, token, address):
    assert page_address(host, names, token, 9888) == address


def test_a_name_that_no_host_can_have_is_refused():
    result = CliRunner().invoke(namekeeper, ["console", "--allow-host", "not a name"])
    assert (result.exit_code, "Invalid value for '--allow-host'" in result.output) == (2, True)


def taken(*words: str, is_optional: bool = False) -> PageSettings | None:
    found = []

    @click.command()
    @page_options(is_optional=is_optional)
    def command(history_bytes, expected_file, **given):
        found.append(take_page(given))
        assert given == {}
        assert history_bytes > 0
        assert expected_file is None

    result = CliRunner(env={"NAMEKEEPER_CONSOLE_TOKEN": None}).invoke(command, words)
    assert result.exit_code == 0, result.output
    return found[0]


def test_a_page_beyond_loopback_has_a_token():
    assert taken().doors.token == ""
    beyond = taken("--host", "0.0.0.0", "--allow-host", "NS1")
    assert len(beyond.doors.token) > 20
    assert beyond.doors.names == {"ns1"}
    assert beyond.address_of(1).endswith(f"#token={beyond.doors.token}")
    assert taken("--host", "0.0.0.0", "--token", "mine").doors.token == "mine"


def test_only_a_command_that_runs_without_the_page_may_leave_it_out():
    assert taken("--port", "-1", is_optional=True) is None

    @click.command()
    @page_options(is_optional=False)
    def command(**_given):
        pass

    assert "-1 is not in the range" in CliRunner().invoke(command, ["--port", "-1"]).output


def test_the_page_moves_to_a_free_port_only_if_nobody_chose_the_port():
    assert (taken().port, taken().may_move) == (9888, True)
    assert (taken("--port", "9888").port, taken("--port", "9888").may_move) == (9888, False)
