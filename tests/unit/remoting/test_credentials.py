"""Keys are looked for in the environment, then in the file of Java's tools."""

import pytest

from namekeeper.errors import ConfigError
from namekeeper.remoting.credentials import Credentials, find_credentials, parse_tools_yml

FROM_ENVIRONMENT = {"ROCKETMQ_ACCESS_KEY": "b", "ROCKETMQ_SECRET_KEY": "t"}


@pytest.fixture
def home(tmp_path):
    """The environment of somebody who has the file of Java's tools."""
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "tools.yml").write_text("accessKey: a\nsecretKey: s\n")
    return {"ROCKETMQ_HOME": str(tmp_path)}


def test_there_may_be_none(tmp_path):
    assert find_credentials({}) is None
    assert find_credentials({"ROCKETMQ_HOME": str(tmp_path)}) is None


def test_the_environment_is_before_the_file(home):
    assert find_credentials(home) == Credentials("a", "s")
    assert find_credentials({**home, **FROM_ENVIRONMENT}) == Credentials("b", "t")


def test_an_access_key_alone_is_no_use(home):
    with pytest.raises(ConfigError, match="set ROCKETMQ_SECRET_KEY"):
        find_credentials({**home, "ROCKETMQ_ACCESS_KEY": "a"})


def test_a_secret_key_is_never_shown():
    assert "S3CRET" not in repr(Credentials("a", "S3CRET"))


def test_a_file_of_keys_that_cant_be_read_is_an_error(tmp_path):
    (tmp_path / "conf" / "tools.yml").mkdir(parents=True)
    with pytest.raises(ConfigError, match=r"tools\.yml"):
        find_credentials({"ROCKETMQ_HOME": str(tmp_path)})


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
