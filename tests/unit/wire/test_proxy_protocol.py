from struct import pack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from namekeeper.errors import ProtocolError
from namekeeper.wire.proxy_protocol import MAX_V1_BYTES, MAX_V2_BYTES, NeedMore, ProxyHeader, parse
from tests.wire_samples import load

V1 = b"PROXY TCP4 192.0.2.1 198.51.100.1 56324 9876\r\n"
SIGNATURE = b"\r\n\r\n\0\r\nQUIT\n"
IPV4 = bytes([192, 0, 2, 1, 198, 51, 100, 1]) + pack(">HH", 56324, 9876)
MAPPED = (bytes(10) + b"\xff\xff" + bytes([192, 0, 2, 1])) * 2 + pack(">HH", 56324, 9876)
IPV6 = bytes.fromhex("20010db8" + 11 * "00" + "01") * 2 + pack(">HH", 56324, 9876)


def v2(command: int, kind: int, content: bytes, length: int | None = None) -> bytes:
    return SIGNATURE + pack(">BBH", command, kind, len(content) if length is None else length) + content


@pytest.mark.parametrize(
    ("header", "source"),
    [
        (V1, ("192.0.2.1", 56324)),
        (b"PROXY TCP6 2001:db8::1 ::1 0 65535\r\n", ("2001:db8::1", 0)),
        (b"PROXY TCP6 2001:DB8:0::0001 ::1 0 65535\r\n", ("2001:db8::1", 0)),
        (b"PROXY TCP6 ::ffff:192.0.2.1 ::1 0 65535\r\n", ("192.0.2.1", 0)),
        (b"PROXY TCP6 ::FFFF:c000:201 ::1 0 65535\r\n", ("192.0.2.1", 0)),
        (v2(0x21, 0x21, MAPPED), ("192.0.2.1", 56324)),
        (b"PROXY UNKNOWN\r\n", None),
        (b"PROXY UNKNOWN ffff::1 what ever 1 2\r\n", None),
        (v2(0x21, 0x11, IPV4), ("192.0.2.1", 56324)),
        (v2(0x21, 0x12, IPV4), ("192.0.2.1", 56324)),
        (v2(0x21, 0x21, IPV6 + b"\x04\x00\x01x"), ("2001:db8::1", 56324)),
        (v2(0x21, 0x31, bytes(216)), None),
        (v2(0x21, 0x00, b""), None),
        (v2(0x21, 0x00, b"TLVs and the like"), None),
        (v2(0x20, 0x00, b""), None),
        (v2(0x20, 0xFF, b"whatever"), None),
    ],
)
def test_a_header_tells_the_client_and_its_own_length(header, source):
    assert parse(header) == parse(header + b"\x16rest") == ProxyHeader(source, len(header))


@pytest.mark.parametrize(
    "header", [V1, b"PROXY UNKNOWN\r\n", v2(0x21, 0x11, IPV4 + b"TLV"), v2(0x20, 0, b"")]
)
def test_every_beginning_needs_more(header):
    for end in range(len(header)):
        needed = parse(header[:end])
        assert isinstance(needed, NeedMore)
        assert end < needed.at_least <= len(header)


def test_the_second_version_says_how_much_it_needs():
    header = v2(0x21, 0x11, IPV4)
    assert parse(header[:12]) == NeedMore(16)
    assert parse(header[:16]) == NeedMore(28)


@pytest.mark.parametrize(
    "prefix",
    [b"\x16\x03\x01", b"PROXi", b"\r\n\r\n\r", b"GET / HTTP/1.1", b"\0", load("v01_route_request_json")],
)
def test_other_bytes_are_no_header(prefix):
    assert parse(prefix) is None


@pytest.mark.parametrize(
    "line",
    [
        b"PROXY \r\n",
        b"PROXY TCP4\r\n",
        b"PROXY tcp4 1.2.3.4 1.2.3.4 1 2\r\n",
        b"PROXY TCP5 1.2.3.4 1.2.3.4 1 2\r\n",
        b"PROXY TCP4 1.2.3.4 1.2.3.4 1\r\n",
        b"PROXY TCP4 1.2.3.4 1.2.3.4 1 2 3\r\n",
        b"PROXY TCP4 1.2.3.4  1.2.3.4 1 2\r\n",
        b"PROXY TCP4 ::1 ::1 1 2\r\n",
        b"PROXY TCP4 1.2.3.4 host 1 2\r\n",
        b"PROXY TCP6 1.2.3.4 1.2.3.4 1 2\r\n",
        b"PROXY TCP4 \xff \xff 1 2\r\n",
        b"PROXY TCP4 1.2.3.4 1.2.3.4 65536 2\r\n",
        b"PROXY TCP4 1.2.3.4 1.2.3.4 1 -2\r\n",
        b"PROXY TCP4 1.2.3.4 1.2.3.4 1 000002\r\n",
        b"PROXY UNKNOWN " + b"x" * MAX_V1_BYTES + b"\r\n",
        b"PROXY UNKNOWN " + b"x" * MAX_V1_BYTES,
        b"PROXY TCP6 fe80::1%eth0 ::1 1 2\r\n",
        b"PROXY TCP6 fe80::1%\x1b[31m\nERROR<b> ::1 1 2\r\n",
    ],
)
def test_a_broken_line_is_a_protocol_error(line):
    with pytest.raises(ProtocolError, match="bad PROXY header"):
        parse(line)


def test_the_longest_line():
    line = b"PROXY UNKNOWN " + b"x" * (MAX_V1_BYTES - 16) + b"\r\n"
    assert parse(line) == ProxyHeader(None, MAX_V1_BYTES)
    assert isinstance(parse(line[:-1]), NeedMore)


@pytest.mark.parametrize(
    "header",
    [
        v2(0x11, 0x11, IPV4),
        v2(0x22, 0x11, IPV4),
        v2(0x21, 0x41, IPV4),
        v2(0x21, 0x13, IPV4),
        v2(0x21, 0x11, IPV4[:-1]),
        v2(0x21, 0x21, IPV6[:-1]),
        v2(0x21, 0x31, bytes(215)),
        v2(0x21, 0x11, b"", length=MAX_V2_BYTES - 15),
    ],
)
def test_a_broken_binary_header_is_a_protocol_error(header):
    with pytest.raises(ProtocolError, match="bad PROXY header"):
        parse(header)


def test_the_longest_binary_header():
    header = v2(0x21, 0x11, IPV4 + bytes(MAX_V2_BYTES - 16 - len(IPV4)))
    assert parse(header) == ProxyHeader(("192.0.2.1", 56324), MAX_V2_BYTES)


@given(
    st.sampled_from([b"", b"PROXY ", b"PROXY TCP4 ", SIGNATURE, SIGNATURE + b"\x21\x11"]),
    st.binary(max_size=60),
)
def test_a_header_more_bytes_nothing_or_a_protocol_error(start, rest):
    try:
        parsed = parse(start + rest)
    except ProtocolError:
        return
    assert parsed is None or isinstance(parsed, NeedMore) or parsed.header_length <= len(start + rest)
