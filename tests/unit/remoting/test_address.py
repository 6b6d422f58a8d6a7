import re

import pytest

from namekeeper.errors import ConfigError
from namekeeper.remoting.address import (
    Address,
    bare_host,
    format_address,
    parse_address,
    parse_addresses,
    sharing_host,
)


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


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("a:1,b:2", "a:1;b:2"),
        ("a:1, b:2", "a:1;b:2"),
        ("a:1 b:2", "a:1;b:2"),
        ("a:1\tb:2", "a:1;b:2"),
        ("a:1\nb:2", "a:1;b:2"),
        ("a:1|b:2", "a:1;b:2"),
        ("a:1\uff1bb:2", "a:1;b:2"),
        ("a:1\uff0cb:2", "a:1;b:2"),
        ("a\uff1a1", "a:1"),
        ("tcp://a:1", "without tcp://, as in a:1"),
        ("https://a:1/", "without https://, as in a:1"),
        ("rocketmq+ssl://a:1", "without rocketmq+ssl://, as in a:1"),
        ("tcp://a:1,tcp://b:2", "tcp://a:1;tcp://b:2"),
        ('"a:1"', "without quotes: a:1"),
        ("\u201ca:1\u201d", "without quotes: a:1"),
        ("'a:1", "without quotes: a:1"),
        ("\ufeffa:1", r"\ufeffa:1"),
        ("a:1/rocketmq/nsaddr", "without a path, as in a:1"),
        ("http://a:1/x", "without a path, as in a:1"),
        ("a: 1", "write host:port"),
        ("a b:1", "write host:port"),
        ("a:1:2", "write host:port"),
        ("::1", "write host:port"),
        ("2001:db8::1", "write host:port"),
        ("10.0.0.256:1", "write host:port"),
        ("10.0.0.1.2:1", "write host:port"),
        ("user@a:1", "write host:port"),
    ],
)
def test_what_is_wrong_is_said_in_the_words_of_the_input(text: str, advice: str):
    for parse in (parse_address, parse_addresses):
        with pytest.raises(ConfigError, match=rf"^address .* can't be used: .*{re.escape(advice)}") as caught:
            parse(text)
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


@pytest.mark.parametrize(
    ("host", "counts_as"),
    [
        ("10.0.0.1", "10.0.0.1"),
        ("2001:db8:1:2::1", "2001:db8:1:2::/64"),
        ("2001:DB8:1:2:ffff:ffff:ffff:ffff", "2001:db8:1:2::/64"),
        ("2001:db8:1:3::1", "2001:db8:1:3::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("no:address", "no:address"),
        ("", ""),
    ],
)
def test_the_addresses_of_a_network_of_ipv6_share_as_one_host(host, counts_as):
    assert sharing_host(host) == counts_as


@pytest.mark.parametrize(
    "text", [f"host:{'9' * 5_000}", f"{'9' * 5_000}.0.0.1:9876", f"0.0.0.0{'1' * 5_000}:9"]
)
def test_a_number_of_thousands_of_digits_is_no_address(text: str):
    with pytest.raises(ConfigError, match="can't be used"):
        parse_address(text)


def test_zeros_before_a_port_do_not_count():
    assert parse_address(f"host:{'0' * 5_000}9876") == Address("host", 9876)
