import pytest

from namekeeper.errors import ConfigError
from namekeeper.remoting.address import Address, bare_host, format_address, parse_address, parse_addresses


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("10.0.0.1:9876", "10.0.0.1", 9876),
        ("namesrv.example:1", "namesrv.example", 1),
        ("[::1]:9876", "::1", 9876),
        ("::1:9876", "::1", 9876),
        ("[fe80::1%eth0]:9876", "fe80::1%eth0", 9876),
        ("fe80::1%eth0:9876", "fe80::1%eth0", 9876),
        (" http://10.0.0.1:9876/ ", "10.0.0.1", 9876),
    ],
)
def test_the_port_is_behind_the_last_colon(text: str, host: str, port: int):
    assert parse_address(text) == Address(host, port)


@pytest.mark.parametrize(
    "text", ["", "host", ":9876", "[]:9876", "host:", "host:x", "host:-1", "host:٣", "host:0", "host:65536"]
)
def test_what_can_not_be_used_is_named(text: str):
    with pytest.raises(ConfigError, match="can't be used") as caught:
        parse_address(text)
    assert repr(text) in str(caught.value)


def test_a_list_is_separated_by_semicolons():
    assert parse_addresses("a:1;[::1]:2; b:3 ;") == [Address("a", 1), Address("::1", 2), Address("b", 3)]


@pytest.mark.parametrize("text", ["", " ; "])
def test_an_empty_list_is_an_error(text: str):
    with pytest.raises(ConfigError, match="empty"):
        parse_addresses(text)


def test_the_bad_item_of_a_list_is_named():
    with pytest.raises(ConfigError, match="'bad'"):
        parse_addresses("a:1;bad;b:2")


def test_ipv6_hosts_are_written_with_brackets():
    assert format_address("::1", 5) == str(Address("::1", 5)) == "[::1]:5"
    assert format_address("10.0.0.1", 5) == "10.0.0.1:5"
    assert bare_host("[::1]") == "::1"
    assert bare_host("localhost") == "localhost"
