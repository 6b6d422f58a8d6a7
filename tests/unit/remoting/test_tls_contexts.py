import contextlib
import errno
import os
import ssl
from pathlib import Path

import pytest
from msgspec import structs

from namekeeper.errors import ConfigError
from namekeeper.remoting import tls_contexts
from namekeeper.remoting.tls_contexts import (
    ServerTls,
    check_server_settings,
    client_context,
    server_tls,
)
from namekeeper.remoting.tls_lists import openssl_cipher_name
from namekeeper.remoting.tls_settings import ClientAuth, TlsSettings
from tests.support.wire.certificates import Certificates


@pytest.fixture
def certificates(tmp_path: Path) -> Certificates:
    return Certificates(tmp_path)


def settings_of(certificates: Certificates, **changes: object) -> TlsSettings:
    cert, key = certificates.issue("server")
    return TlsSettings(
        **{"test_mode": False, "server_cert_path": str(cert), "server_key_path": str(key), **changes}
    )


def test_a_required_client_certificate_needs_somebody_to_trust():
    settings = TlsSettings(test_mode=False, need_client_auth=ClientAuth.REQUIRE)
    with pytest.raises(ConfigError, match=r"trustCertPath.*or use optional"):
        check_server_settings(settings)
    check_server_settings(TlsSettings(need_client_auth=ClientAuth.REQUIRE))


def test_test_mode_needs_no_files():
    assert server_tls(TlsSettings(server_cert_path="/missing")).context.verify_mode is ssl.CERT_NONE


@pytest.mark.parametrize(
    ("auth", "verifies", "mode"),
    [
        (ClientAuth.NONE, True, ssl.CERT_NONE),
        (ClientAuth.OPTIONAL, False, ssl.CERT_NONE),
        (ClientAuth.OPTIONAL, True, ssl.CERT_OPTIONAL),
        (ClientAuth.REQUIRE, False, ssl.CERT_REQUIRED),
        (ClientAuth.REQUIRE, True, ssl.CERT_REQUIRED),
    ],
)
def test_client_certificates_are_asked_for_as_configured(certificates, auth, verifies, mode):
    settings = settings_of(
        certificates,
        need_client_auth=auth,
        auth_client=verifies,
        server_trust_cert_path=str(certificates.trust),
    )
    assert server_tls(settings).context.verify_mode is mode


def test_optional_certificates_are_verified_against_the_systems_authorities_without_a_file(certificates):
    context = server_tls(
        settings_of(certificates, need_client_auth=ClientAuth.OPTIONAL, auth_client=True)
    ).context
    assert context.verify_mode is ssl.CERT_OPTIONAL


def test_a_key_may_have_a_password(certificates):
    cert, key = certificates.issue("locked", password="secret")
    locked = {"server_cert_path": str(cert), "server_key_path": str(key)}
    server_tls(settings_of(certificates, **locked, server_key_password="secret"))
    for wrong in ("", "wrong"):
        with pytest.raises(ConfigError, match="keyPath"):
            server_tls(settings_of(certificates, **locked, server_key_password=wrong))


def test_the_key_of_a_client_may_have_a_password(certificates):
    cert, key = certificates.issue("locked", password="secret")
    settings = TlsSettings(
        enable=True, test_mode=False, client_cert_path=str(cert), client_key_path=str(key), client_key_password="secret"
    )  # fmt: skip
    assert client_context(settings) is not None
    with pytest.raises(ConfigError, match="keyPath"):
        client_context(structs.replace(settings, client_key_password="wrong"))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"server_key_path": ""}, "must both be set"),
        ({"server_cert_path": "/missing"}, "certPath=/missing"),
        (
            {"need_client_auth": ClientAuth.REQUIRE, "server_trust_cert_path": "/missing"},
            "trustCertPath=/missing",
        ),
        ({"ciphers": ("TLS_NO_WITH_SUCH_CIPHER",)}, "tls.ciphers"),
        ({"protocols": ("SSLv3",)}, "SSLv3"),
    ],
)
def test_what_can_not_be_used_is_named(certificates, changes, message):
    with pytest.raises(ConfigError, match=message):
        server_tls(settings_of(certificates, **changes))


@pytest.mark.parametrize(
    ("java", "openssl"),
    [
        ("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "ECDHE-RSA-AES128-GCM-SHA256"),
        ("TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-ECDSA-CHACHA20-POLY1305"),
        ("TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA384", "ECDHE-RSA-AES256-SHA384"),
        ("TLS_RSA_WITH_AES_128_CBC_SHA", "AES128-SHA"),
        ("ECDHE-RSA-AES128-GCM-SHA256", "ECDHE-RSA-AES128-GCM-SHA256"),
    ],
)
def test_ciphers_have_the_jdks_names(certificates, java, openssl):
    assert openssl_cipher_name(java) == openssl
    context = server_tls(settings_of(certificates, ciphers=(java, "TLS_AES_128_GCM_SHA256"))).context
    old = [cipher["name"] for cipher in context.get_ciphers() if cipher["protocol"] != "TLSv1.3"]
    assert old == [openssl]


def test_protocols_are_a_range(certificates):
    context = server_tls(settings_of(certificates, protocols=("TLSv1.3", "TLSv1.2"))).context
    assert (context.minimum_version, context.maximum_version) == (
        ssl.TLSVersion.TLSv1_2,
        ssl.TLSVersion.TLSv1_3,
    )


def test_clients_speak_tls_only_if_told():
    assert client_context(TlsSettings()) is None


@pytest.mark.parametrize(
    ("test_mode", "auth_server", "mode"),
    [(True, True, ssl.CERT_NONE), (False, False, ssl.CERT_NONE), (False, True, ssl.CERT_REQUIRED)],
)
def test_clients_verify_the_server_as_configured(certificates, test_mode, auth_server, mode):
    context = client_context(
        TlsSettings(
            enable=True,
            test_mode=test_mode,
            auth_server=auth_server,
            client_trust_cert_path=str(certificates.trust),
        )
    )
    assert context is not None
    assert context.verify_mode is mode
    assert not context.check_hostname


def test_lists_that_leave_nothing_for_the_certificate_are_refused(certificates):
    of_rsa_keys = settings_of(certificates, ciphers=("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",))
    with pytest.raises(ConfigError, match=r"no peer could connect with tls\.ciphers=TLS_ECDHE_RSA"):
        server_tls(of_rsa_keys)


def test_a_protocol_that_openssl_does_not_speak_is_reported(certificates):
    found = server_tls(settings_of(certificates, protocols=("TLSv1.1", "TLSv1.2")))
    assert found.notes == ("tls.protocols: OpenSSL does not speak TLSv1.1 here",)
    with pytest.raises(ConfigError, match="no peer could connect"):
        server_tls(settings_of(certificates, protocols=("TLSv1",)))


def test_what_expires_is_known(certificates):
    cert, key = certificates.issue("short", begin_days=-2, end_days=1)
    found = server_tls(
        settings_of(
            certificates, server_cert_path=str(cert), server_key_path=str(key), server_trust_cert_path=str(certificates.trust),
            need_client_auth=ClientAuth.REQUIRE,
        )
    )  # fmt: skip
    assert found.not_after is not None
    assert found.trust_not_after is not None
    assert found.problem(found.not_before) == found.problem(found.not_after - 1) == ""
    assert "is not valid before" in found.problem(found.not_before - 1)
    assert "expired at" in found.problem(found.not_after)
    last = ServerTls(context=found.context, trust_not_after=5.0, trust_path="/ca")
    assert last.problem(5.0) == "the authorities in /ca expired at 1970-01-01 00:00:05+00:00"


@pytest.mark.parametrize("put", [os.mkfifo, os.mkdir, lambda path: path.symlink_to("/dev/zero")])
def test_a_certificate_that_is_no_file_is_neither_waited_for_nor_read_without_end(tmp_path, put):
    put(tmp_path / "cert.pem")
    settings = TlsSettings(
        test_mode=False,
        server_cert_path=str(tmp_path / "cert.pem"),
        server_key_path=str(tmp_path / "key.pem"),
    )
    with pytest.raises(ConfigError, match=r"cert\.pem can't be used: it is not a regular file"):
        server_tls(settings)


def test_a_key_that_this_user_may_not_read_is_named_with_user_and_owner(certificates, monkeypatch):
    """Issuers leave keys to root. Tests may run as root, so the system's refusal is played."""
    settings = settings_of(certificates)
    read = tls_contexts.read_if_exists

    def refuse_the_key(path, **limits):
        if path == settings.server_key_path:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return read(path, **limits)

    monkeypatch.setattr(tls_contexts, "read_if_exists", refuse_the_key)
    monkeypatch.setattr(os, "geteuid", lambda: 3000)
    with pytest.raises(
        ConfigError, match=r"keyPath=.* can't be used: Permission denied for uid 3000: .* belongs"
    ):
        server_tls(settings)


@pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="needs files in memory (Linux)")
def test_test_mode_needs_no_folder_for_temporary_files(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("tempfile.tempdir", "/nowhere/at/all")
    client, server = ssl.MemoryBIO(), ssl.MemoryBIO()
    anybody = ssl.create_default_context()
    anybody.check_hostname, anybody.verify_mode = False, ssl.CERT_NONE
    ends = (
        anybody.wrap_bio(client, server),
        server_tls(TlsSettings()).context.wrap_bio(server, client, server_side=True),
    )
    for _ in range(2):
        for end in ends:
            with contextlib.suppress(ssl.SSLWantReadError):
                end.do_handshake()
    assert ends[0].getpeercert(binary_form=True)
