import pytest

from namekeeper.remoting.tls_settings import ClientAuth, TlsMode, TlsSettings


def test_defaults_are_javas():
    settings = TlsSettings.from_properties({})
    assert settings == TlsSettings()
    assert (settings.mode, settings.enable, settings.test_mode) == (TlsMode.PERMISSIVE, False, True)


@pytest.mark.parametrize(
    ("text", "mode"),
    [
        ("disabled", TlsMode.DISABLED),
        ("enforcing", TlsMode.ENFORCING),
        ("Disabled", TlsMode.PERMISSIVE),
        ("x", TlsMode.PERMISSIVE),
    ],
)
def test_the_mode_is_exact_lower_case(text: str, mode: TlsMode):
    assert TlsSettings.from_properties({"tls.server.mode": text}).mode is mode


@pytest.mark.parametrize(
    ("text", "auth"),
    [
        ("REQUIRE", ClientAuth.REQUIRE),
        ("optional", ClientAuth.OPTIONAL),
        ("x", ClientAuth.NONE),
        ("", ClientAuth.NONE),
    ],
)
def test_client_auth_ignores_case(text: str, auth: ClientAuth):
    assert TlsSettings.from_properties({"tls.server.need.client.auth": text}).need_client_auth is auth


def test_the_file_overrides_all_but_mode_and_enable():
    system = {
        "tls.server.mode": "disabled",
        "tls.server.certPath": "a",
        "tls.server.keyPath": "k",
        "tls.enable": "TRUE",
    }
    file = {
        "tls.server.mode": "enforcing", "tls.enable": "false", "tls.server.certPath": "b", "tls.test.mode.enable": "false",
        "tls.ciphers": "A, B,", "tls.protocols": "TLSv1.3",
    }  # fmt: skip
    settings = TlsSettings.from_properties(system, file)
    assert settings == TlsSettings(
        mode=TlsMode.DISABLED, enable=True, test_mode=False, server_cert_path="b", server_key_path="k",
        ciphers=("A", "B"), protocols=("TLSv1.3",),
    )  # fmt: skip
