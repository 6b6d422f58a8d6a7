from namekeeper.remoting.self_signed import make_self_signed


def test_self_signed_certificates_differ_and_are_pem():
    first, second = make_self_signed(), make_self_signed()
    assert first != second
    assert first[0].startswith(b"-----BEGIN CERTIFICATE-----")
    assert first[1].startswith(b"-----BEGIN PRIVATE KEY-----")
