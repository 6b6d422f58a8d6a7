"""A list of ciphers or protocols means what it names, or it is refused; never does it mean "all"."""

import ssl

import pytest

from namekeeper.errors import ConfigError
from namekeeper.remoting.tls_lists import TlsLists, apply_lists, read_lists
from namekeeper.remoting.tls_settings import TlsSettings

GCM = "ECDHE-RSA-AES128-GCM-SHA256"
JDK_GCM = "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"


def lists(ciphers: str = "", protocols: str = "") -> TlsLists:
    return read_lists(TlsSettings.from_properties({"tls.ciphers": ciphers, "tls.protocols": protocols}))


def test_without_lists_openssl_chooses():
    assert lists() == TlsLists()


@pytest.mark.parametrize(
    ("ciphers", "protocols", "allowed", "versions"),
    [
        (JDK_GCM, "", (GCM,), ("TLSv1.2",)),
        (GCM, "TLSv1.2,TLSv1.3", (GCM,), ("TLSv1.2",)),
        (f"{GCM}, TLS_EMPTY_RENEGOTIATION_INFO_SCSV", "", (GCM,), ("TLSv1.2",)),
        ("TLS_AES_128_GCM_SHA256", "", (), ("TLSv1.3",)),
        (f"TLS_AES_256_GCM_SHA384,{JDK_GCM}", "", (GCM,), ("TLSv1.2", "TLSv1.3")),
        (f"TLS_AES_256_GCM_SHA384,{JDK_GCM}", "TLSv1.3", (GCM,), ("TLSv1.3",)),
        ("", "TLSv1.3,TLSv1.1", (), ("TLSv1.1", "TLSv1.3")),
    ],
)
def test_versions_without_a_listed_cipher_are_off(ciphers, protocols, allowed, versions):
    found = lists(ciphers, protocols)
    assert (found.ciphers, found.versions) == (allowed, versions)


@pytest.mark.parametrize(
    ("ciphers", "protocols", "said"),
    [
        ("FOO", "", "tls.ciphers has no cipher that OpenSSL knows: FOO"),
        ("AES_128_GCM,FOO", "", "no cipher that OpenSSL knows"),
        ("HIGH:!aNULL", "", "write names of ciphers, separated by commas"),
        ("HIGH", "", "no cipher that OpenSSL knows"),
        (f"{GCM}:ECDHE-RSA-AES256-GCM-SHA384", "", "separated by commas"),
        ("TLS_EMPTY_RENEGOTIATION_INFO_SCSV", "", "no cipher that OpenSSL knows"),
        (" , ", "", "tls.ciphers=, names nothing"),
        ("", ",,", "tls.protocols=,, names nothing"),
        ("", "TLSv1.2;TLSv1.3", "tls.protocols: unknown 'TLSv1.2;TLSv1.3'"),
        ("", "TLSv1.2,SSLv3", "tls.protocols: unknown 'SSLv3'"),
        (JDK_GCM, "TLSv1.3", "has no cipher of tls.protocols=TLSv1.3"),
        ("TLS_AES_128_GCM_SHA256", "TLSv1.2", "has no cipher of tls.protocols=TLSv1.2"),
    ],
)
def test_a_list_of_nothing_that_can_be_used_is_refused(ciphers, protocols, said):
    with pytest.raises(ConfigError) as refused:
        lists(ciphers, protocols)
    assert said in str(refused.value)


def test_what_is_left_out_of_a_list_is_reported():
    assert lists(f"{JDK_GCM},TLS_NO_WITH_SUCH").notes == (
        "tls.ciphers: OpenSSL knows no cipher 'TLS_NO_WITH_SUCH'; it is left out",
    )
    (note,) = lists("TLS_AES_128_GCM_SHA256").notes
    assert "TLS_AES_256_GCM_SHA384, TLS_CHACHA20_POLY1305_SHA256" in note


def test_a_gap_between_versions_stays_a_gap():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    apply_lists(context, TlsLists(versions=("TLSv1.1", "TLSv1.3")))
    assert context.minimum_version is ssl.TLSVersion.TLSv1_1
    assert context.options & ssl.OP_NO_TLSv1_2
    assert not context.options & ssl.OP_NO_TLSv1_1
