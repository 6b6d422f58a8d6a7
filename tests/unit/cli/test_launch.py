"""Files and environment are read, and what is wrong becomes one line and Java's status."""

import os

import pytest

from namekeeper.cli import launch as module
from namekeeper.cli.launch import FAILED, guarded, load_startup
from namekeeper.errors import ConfigError


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("ROCKETMQ_HOME", "ROCKETMQ_SERIALIZE_TYPE"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def test_file_environment_and_flags_are_put_together(home, monkeypatch):
    file = home / "namesrv.properties"
    file.write_bytes(b"listenPort=1\nproductEnvName=\xe4\n")
    monkeypatch.setenv("NAMEKEEPER_BIND_ADDRESS", "127.0.0.1")
    startup = load_startup(str(file), {"listen_port": "2", "help": "true"})
    assert startup.config_file == startup.settings.config_store_path == str(file)
    assert (startup.settings.listen_port, startup.settings.bind_address) == (2, "127.0.0.1")
    assert startup.settings.product_env_name == "ä"
    assert startup.settings.log_root == f"{home}/logs/rocketmqlogs"


def test_the_tls_file_is_read_where_it_is_readable(home):
    (home / "tls.properties").write_text("tls.server.certPath=/c.pem\n")
    startup = load_startup(None, {"tls_config_file": str(home / "tls.properties")})
    assert startup.settings.tls_server_cert_path == "/c.pem"
    assert load_startup(None, {"tls_config_file": str(home / "no")}).settings.tls_server_cert_path == ""
    assert load_startup(None, {"tls_config_file": ""}).settings.tls_server_cert_path == ""


@pytest.mark.parametrize("put", [os.mkfifo, os.mkdir, lambda path: path.symlink_to(path)])
def test_a_tls_file_that_can_not_be_read_is_left_out_with_a_warning(home, capsys, put):
    put(home / "tls.properties")
    startup = load_startup(None, {"tls_config_file": str(home / "tls.properties")})
    (warning,) = startup.warnings
    assert warning.startswith(f"tls.config.file={home}/tls.properties is left out: ")
    assert capsys.readouterr().err == f"WARN {warning}\n"


def test_a_file_that_is_not_there_is_refused_by_name(home):
    with pytest.raises(ConfigError, match=r"^can.t read the properties file .*no: No such file"):
        load_startup(str(home / "no"), {})


def test_the_line_that_scripts_know_is_printed_before_the_server_runs(home, capsys, monkeypatch):
    file = home / "namesrv.properties"
    file.touch()
    monkeypatch.setattr("namekeeper.app.run.run", lambda startup: 7 if startup.config_file else 8)
    assert module.launch(load_startup(str(file), {})) == 7
    assert capsys.readouterr().out == f"load config properties file OK, {file}\n"
    assert module.launch(load_startup(None, {})) == 8
    assert capsys.readouterr().out == ""


def failing(error: BaseException):
    def start() -> int:
        raise error

    return start


def test_what_is_refused_is_one_line_on_stderr(capsys):
    assert guarded(failing(ConfigError("a=b: must not"))) == FAILED == 255
    assert capsys.readouterr() == ("", "namekeeper: a=b: must not\n")


def test_a_bug_shows_where_it_is(capsys):
    assert guarded(failing(ValueError("bug"))) == FAILED
    assert "ValueError: bug" in capsys.readouterr().err


def test_a_reader_that_went_away_is_no_news(capsys):
    assert guarded(failing(BrokenPipeError())) == FAILED
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("content", ["", "\0\0\0", None], ids=["empty", "NULs", "none"])
def test_after_a_loss_of_power_the_backup_of_the_properties_is_used_and_said(tmp_path, capsys, content):
    file = tmp_path / "a.properties"
    if content is not None:
        file.write_text(content)
    (tmp_path / "a.properties.bak").write_text("listenPort=1234\n")
    startup = load_startup(str(file), {})
    assert startup.settings.listen_port == 1_234
    assert f"{file}.bak is used instead" in capsys.readouterr().err
    assert any(f"{file}.bak is used instead" in warning for warning in startup.warnings)


@pytest.mark.parametrize("put", [os.mkfifo, os.mkdir, lambda path: path.symlink_to("/dev/zero")])
def test_properties_that_are_no_file_are_one_line(tmp_path, put):
    put(tmp_path / "a.properties")
    with pytest.raises(
        ConfigError, match=r"can't read the properties file .*(is not a regular file|Is a directory)"
    ):
        load_startup(str(tmp_path / "a.properties"), {})


def test_properties_that_never_end_are_one_line(tmp_path):
    file = tmp_path / "a.properties"
    file.touch()
    os.truncate(file, 1 << 40)
    with pytest.raises(ConfigError, match="it has more than 4194304 bytes"):
        load_startup(str(file), {})


@pytest.fixture
def homeless(monkeypatch):
    """A user without HOME and passwd entry, as a container may be given one."""
    monkeypatch.delenv("HOME")
    monkeypatch.setattr("pwd.getpwuid", {}.__getitem__)
    monkeypatch.setattr("namekeeper.app.run.run", lambda startup: 7)


@pytest.mark.parametrize("home_variable", [None, "", "relative"])
def test_no_home_is_needed_where_every_path_is_given(homeless, monkeypatch, home_variable):
    if home_variable is not None:
        monkeypatch.setenv("HOME", home_variable)
    startup = load_startup(None, {"kv_config_path": "/a/kv", "log_root": "/a/log"})
    assert module.launch(startup) == 7


@pytest.mark.parametrize(
    ("flags", "lacking"),
    [
        ({}, "give kvConfigPath and logRoot$"),
        ({"kv_config_path": "/a"}, "give logRoot$"),
        ({"kv_config_path": "/a", "log_root": "/b", "allow_config_update": "true"}, "give configStorePath$"),
    ],
)
def test_without_a_home_the_paths_that_are_needed_are_named(homeless, flags, lacking):
    startup = load_startup(None, flags)
    with pytest.raises(ConfigError, match=rf"HOME is not set, and uid \d+ is in no passwd file; .*{lacking}"):
        module.launch(startup)


@pytest.mark.parametrize("field", ["kv_config_path", "log_root", "journal_path", "config_store_path"])
def test_a_path_below_a_dangling_link_is_refused(home, monkeypatch, field):
    monkeypatch.setattr("namekeeper.app.run.run", lambda startup: 7)
    (home / "data").symlink_to(home / "not mounted")
    startup = load_startup(None, {field: str(home / "data" / "namesrv" / "x")})
    with pytest.raises(ConfigError, match=r"data is a link to .*not mounted, which is not there"):
        module.launch(startup)
    (home / "not mounted").mkdir()
    assert module.launch(startup) == 7


def test_the_link_of_a_file_that_will_be_made_is_fine(home, monkeypatch):
    monkeypatch.setattr("namekeeper.app.run.run", lambda startup: 7)
    (home / "kv.json").symlink_to(home / "other.json")
    startup = load_startup(None, {"kv_config_path": str(home / "kv.json")})
    assert module.launch(startup) == 7
    (home / "kv.json").unlink()
    (home / "kv.json").symlink_to(home / "gone" / "other.json")
    with pytest.raises(ConfigError, match=r"kvConfigPath=.*is a link to"):
        module.launch(startup)


def test_a_folder_in_place_of_the_properties_file_is_explained(tmp_path):
    (tmp_path / "namesrv.conf").mkdir()
    with pytest.raises(ConfigError, match=r"namesrv\.conf: Is a directory: give a file\. A container engine"):
        load_startup(str(tmp_path / "namesrv.conf"), {})


@pytest.mark.parametrize(
    ("given", "advice"),
    [
        ("10.0.0.1:9876,10.0.0.2:9876", "10.0.0.1:9876;10.0.0.2:9876"),
        ("10.0.0.1:9876; 10.0.0.2:9876", "10.0.0.1:9876;10.0.0.2:9876"),
        ("http://10.0.0.1:9876", "write 10.0.0.1:9876"),
        ("::1:9876", "write [::1]:9876"),
        ("10.0.0.1", "'10.0.0.1' can't be used"),
        ("10.0.0.1:0", "between 1 and 65535"),
        ("10.0.0.1:65536", "between 1 and 65535"),
        ("10.0.0.1:9876\uff1b10.0.0.2:9876", "10.0.0.1:9876;10.0.0.2:9876"),
        ("10.0.0.1\uff1a9876", "write it with ASCII characters: 10.0.0.1:9876"),
    ],
)
def test_a_list_that_clients_would_take_literally_is_told_with_what_to_write(home, capsys, given, advice):
    file = home / "p"
    file.write_text(f"addressServerList={given}\n")
    load_startup(str(file), {})
    assert advice in capsys.readouterr().err


def test_a_host_name_that_no_request_has_is_told_with_what_to_write(home, capsys):
    load_startup(None, {"http_host_names": "ns, https://ns.example.com:9886/"})
    assert capsys.readouterr().err == (
        "WARN httpHostNames: https://ns.example.com:9886/ is no host name: write ns.example.com\n"
    )


@pytest.mark.parametrize(
    "given", ["", "10.0.0.1:9876", "ns-0.ns:9876;ns-1.ns:9876", "[::1]:9876;a.example:1"]
)
def test_a_list_that_clients_can_use_gives_no_warning(home, capsys, given):
    load_startup(None, {"address_server_list": given})
    assert capsys.readouterr().err == ""
