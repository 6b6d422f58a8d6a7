"""Options and lines that the commands with Spark share."""

import errno

import click
import pytest
from click.testing import CliRunner

from namekeeper.cli.spark import interval_option, pairs, refusals, session_options, shown_steps
from namekeeper.pipeline.errors import BusyError


@click.command("try")
@interval_option
@session_options
@click.option("--pair", "taken", multiple=True, callback=pairs)
def attempt(watch_ms, session, taken):
    """Show what was taken."""
    click.echo(repr((watch_ms, session(), taken)))


@pytest.fixture(autouse=True)
def _session_of_what_was_asked_for(monkeypatch):
    monkeypatch.setattr(
        "namekeeper.pipeline.session.get_session",
        lambda *, remote, master, conf: (remote, master, conf),
    )


def test_they_have_defaults():
    done = CliRunner().invoke(attempt, [], env={"SPARK_REMOTE": None})
    assert done.output == "(None, (None, 'local[*]', {'spark.driver.memory': '2g'}), {})\n"


def test_they_are_taken():
    words = ["--watch", "5m", "--memory", "1g", "--remote", "sc://h:1", "--conf", "a=b=c", "--pair", "x=y"]
    assert (
        CliRunner().invoke(attempt, words).output
        == "(300000, ('sc://h:1', 'local[*]', {'spark.driver.memory': '1g', 'a': 'b=c'}), {'x': 'y'})\n"
    )


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--watch", "soon"], "write it as 90s"),
        (["--conf", "a"], "NAME=VALUE"),
        *((["--memory", size], "512m or 2g") for size in ("", "2", "2gb", "0g", "10q", "-1g")),
    ],
)
def test_what_can_not_be_taken_is_said(words, complaint):
    done = CliRunner().invoke(attempt, words)
    assert done.exit_code == 2
    assert complaint in done.output


def test_a_refusal_is_a_line_and_a_code():
    @click.command("refused")
    def refused():
        with refusals():
            raise BusyError("in use")

    done = CliRunner().invoke(refused)
    assert done.exit_code == 2
    assert done.stderr.endswith(": in use\n")


def test_where_nobody_looks_each_step_is_a_line_once(capsys):
    with shown_steps() as show:
        for what, done, total in (
            ("reading", 0, 1),
            ("writing", 0, 16),
            ("writing", 3, 16),
            ("reading", 1, 1),
        ):
            show(what, done, total)
    assert capsys.readouterr().err == "reading\nwriting (16)\nreading\n"


def test_a_package_that_is_not_installed_is_a_line_that_says_how_to_install_it():
    @click.command("wants")
    def wants():
        with refusals():
            raise ModuleNotFoundError("No module named 'pyspark'", name="pyspark.sql")

    done = CliRunner().invoke(wants)
    assert done.exit_code == 2
    assert "needs pyspark, which is not installed: pip install 'namekeeper[pipeline]'" in done.stderr


def test_a_module_of_ours_that_is_missing_is_a_bug_and_stays_one():
    @click.command("broken")
    def broken():
        with refusals():
            raise ModuleNotFoundError("No module named 'namekeeper.nothing'", name="namekeeper.nothing")

    assert isinstance(CliRunner().invoke(broken).exception, ModuleNotFoundError)


def test_a_folder_without_permission_is_a_line_that_names_it():
    @click.command("denied")
    def denied():
        with refusals():
            raise PermissionError(errno.EACCES, "Permission denied", "/secret/w")

    done = CliRunner().invoke(denied)
    assert done.exit_code == 2
    assert "/secret/w can't be used: Permission denied; may this user" in done.stderr


def test_an_error_of_the_system_that_names_no_file_is_a_bug_and_stays_one():
    @click.command("broken")
    def broken():
        with refusals():
            raise OSError(errno.EBADF, "Bad file descriptor")

    assert isinstance(CliRunner().invoke(broken).exception, OSError)
