import click
import pytest
from click.testing import CliRunner

from namekeeper.cli.credentials import Credentials, credential_options, parse_tools_yml, take_credentials
from namekeeper.errors import ConfigError


def taken(*args, environ=None, **env):
    """What a command signs with, given these options."""
    found = []

    @click.command()
    @credential_options
    def command(**options):
        found.append(take_credentials(options, environ or {}))
        assert options == {}

    result = CliRunner(env=env).invoke(command, args)
    if result.exception:
        raise result.exception
    return found[0]


@pytest.fixture
def home(tmp_path):
    """The environment of somebody who has the file of Java's tools."""
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "tools.yml").write_text("accessKey: a\nsecretKey: s\n")
    return {"ROCKETMQ_HOME": str(tmp_path)}


def test_nothing_is_signed_by_default(tmp_path):
    assert taken() is None
    assert taken(environ={"ROCKETMQ_HOME": str(tmp_path)}) is None


def test_keys_come_from_the_environment():
    assert taken(ROCKETMQ_ACCESS_KEY="a", ROCKETMQ_SECRET_KEY="s") == Credentials("a", "s")


def test_keys_come_from_the_file_of_javas_tools(home):
    assert taken(environ=home) == Credentials("a", "s")


def test_what_is_given_is_before_the_file(home):
    assert taken("--access-key", "b", environ=home, ROCKETMQ_SECRET_KEY="t") == Credentials("b", "t")


def test_an_access_key_alone_is_no_use():
    with pytest.raises(ConfigError, match="set ROCKETMQ_SECRET_KEY"):
        taken("--access-key", "a")


def test_a_secret_key_is_never_shown():
    assert "S3CRET" not in repr(Credentials("a", "S3CRET"))


def test_a_file_of_keys_that_cant_be_read_is_an_error(tmp_path):
    (tmp_path / "conf" / "tools.yml").mkdir(parents=True)
    with pytest.raises(ConfigError, match=r"tools\.yml"):
        taken(environ={"ROCKETMQ_HOME": str(tmp_path)})


@pytest.mark.parametrize(
    ("text", "credentials"),
    [
        ("accessKey: RocketMQ\nsecretKey: '12345678'  # ours\n", Credentials("RocketMQ", "12345678")),
        ("#accessKey: x\nsecretKey: y\n", None),
        ("accessKey:\nsecretKey: y\n", None),
        ("", None),
    ],
)
def test_the_file_of_javas_tools_is_understood(text, credentials):
    assert parse_tools_yml(text) == credentials
