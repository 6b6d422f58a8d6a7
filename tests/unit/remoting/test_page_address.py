import pytest

from namekeeper.errors import ConfigError
from namekeeper.remoting.address import Address
from namekeeper.remoting.page_address import PageAddress, parse_page_addresses


def test_pages_speak_tls_where_it_is_written() -> None:
    plain, other, tls = parse_page_addresses("a:1; http://b:2/ ;https://[::1]:3/;")
    assert plain == PageAddress(Address("a", 1))
    assert (str(plain), plain.url) == ("a:1", "http://a:1")
    assert (str(other), other.url) == ("b:2", "http://b:2")
    assert (str(tls), tls.url) == ("https://[::1]:3", "https://[::1]:3")


@pytest.mark.parametrize("text", ["", " ; ", "a", "https://a", "ftp://a:1/x", "https://https://"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match=r"write host:port"):
        parse_page_addresses(text)
