"""The keys of `tls.config.file` lie over the settings; a file that can't be read is none, as in Java."""

import pytest

from namekeeper.app.tls_files import read_tls_settings
from namekeeper.errors import ConfigError
from namekeeper.remoting.tls_settings import ClientAuth, TlsMode
from tests.unit.app.parts import startup


def read(folder, **flags):
    return read_tls_settings(startup(folder, **flags))


def test_settings_are_taken_as_they_are(tmp_path):
    found = read(
        tmp_path, tls_server_mode="enforcing", tls_test_mode_enable="false", tls_server_cert_path="/c.pem"
    )
    assert (found.mode, found.test_mode, found.server_cert_path) == (TlsMode.ENFORCING, False, "/c.pem")


def test_the_file_is_read_anew_each_time(tmp_path):
    file = tmp_path / "tls.properties"
    settings = startup(tmp_path, tls_config_file=str(file))
    assert read_tls_settings(settings).server_key_path == ""
    file.write_text("tls.server.keyPath=/k.pem\ntls.server.need.client.auth=optional\nlistenPort=1\n")
    found = read_tls_settings(settings)
    assert (found.server_key_path, found.need_client_auth) == ("/k.pem", ClientAuth.OPTIONAL)


def test_a_flag_stands_above_the_file(tmp_path):
    file = tmp_path / "tls.properties"
    file.write_text("tls.server.keyPath=/k.pem\ntls.server.certPath=/c.pem\n")
    found = read(tmp_path, tls_config_file=str(file), tls_server_cert_path="/mine.pem")
    assert (found.server_key_path, found.server_cert_path) == ("/k.pem", "/mine.pem")


@pytest.mark.parametrize("name", ["", "no/such/file", "."])
def test_a_file_that_can_not_be_read_is_none(tmp_path, name):
    assert read(tmp_path, tls_config_file=str(tmp_path / name) if name else "").mode is TlsMode.PERMISSIVE


def test_a_file_that_holds_what_can_not_be_used_is_refused_by_name(tmp_path):
    file = tmp_path / "tls.properties"
    file.write_text("tls.server.certPath=\\u12")
    with pytest.raises(ConfigError, match=r"tls\.properties"):
        read(tmp_path, tls_config_file=str(file))
