"""Changes to an input: blind ones, and ones that know numbers, lengths, JSON and RocketMQ's words."""

from collections.abc import Callable
from random import Random
from struct import pack

__all__ = ["mutate"]

MAX_INPUT_BYTES = 16_384
"""Inputs stay small, so that there are many; what only large ones break has tests of its own."""

_TOKENS = [
    *(
        b"{",
        b"}",
        b"[",
        b"]",
        b":",
        b",",
        b'"',
        b"'",
        b"\\",
        b"/*",
        b"*/",
        b"//",
        b"\n",
        b"\r\n",
        b" ",
        b"\0",
    ),
    *(
        b"null",
        b"true",
        b"false",
        b"{}",
        b"[]",
        b'""',
        b"{0:0}",
        b",1:",
        b"-",
        b"1e999",
        b"0.1",
        b"9" * 30,
        b"NaN",
    ),
    *(
        b"\\u0000",
        b"\\ud800",
        b"\\udc00",
        b"\\x41",
        b"\\",
        b"\xff",
        b"\xc3\xa9",
        b"\xed\xa0\x80",
        b"\xef\xbb\xbf",
    ),
    *(b'{"$ref":"$"}', b'{"$ref":"$.a"}', b"$ref", b"$.a[0]", b'{"a":', b"[[[[[[[[", b"{a:{b:{c:"),
    *(
        b'"code":',
        b'"opaque":',
        b'"flag":',
        b'"version":',
        b'"language":',
        b'"extFields":',
        b'"remark":',
        b'"body":',
    ),
    *(b'"JAVA"', b'"GO"', b"2147483647", b"2147483648", b"-2147483649", b'"3"', b"3.0"),
    *(
        b"PROXY ",
        b"TCP4 ",
        b"TCP6 ",
        b"UNKNOWN",
        b"::1",
        b"127.0.0.1",
        b"65536",
        b"\r\n\r\n\0\r\nQUIT\n",
        b"\x21\x11",
    ),
]
_INTEGERS = [
    0,
    1,
    2,
    3,
    4,
    7,
    8,
    20,
    127,
    128,
    255,
    256,
    32767,
    32768,
    65535,
    0xFFFFFF,
    0x1000000,
    2**31 - 1,
    2**31,
    2**32 - 1,
]


def mutate(data: bytes, others: list[bytes], random: Random) -> bytes:
    """Change an input in one to six places; `others` are there to take pieces from."""
    for _ in range(random.randint(1, 6)):
        data = random.choice(_MUTATIONS)(data, others, random)
    return data[:MAX_INPUT_BYTES]


def _span(data: bytes, random: Random) -> tuple[int, int]:
    start = random.randint(0, len(data))
    return start, min(len(data), start + int(random.expovariate(0.1)))


def _flip_bit(data: bytes, others: list[bytes], random: Random) -> bytes:
    if not data:
        return data
    at = random.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << random.randrange(8)]) + data[at + 1 :]


def _set_byte(data: bytes, others: list[bytes], random: Random) -> bytes:
    at = random.randint(0, len(data))
    return data[:at] + random.randbytes(1) + data[at + 1 :]


def _remove(data: bytes, others: list[bytes], random: Random) -> bytes:
    start, end = _span(data, random)
    return data[:start] + data[end:]


def _repeat(data: bytes, others: list[bytes], random: Random) -> bytes:
    start, end = _span(data, random)
    return data[:end] + data[start:end] * random.choice((1, 2, 70)) + data[end:]


def _cut_short(data: bytes, others: list[bytes], random: Random) -> bytes:
    return data[: random.randint(0, len(data))]


def _put_token(data: bytes, others: list[bytes], random: Random) -> bytes:
    start, end = _span(data, random)
    return data[:start] + random.choice(_TOKENS) + data[random.choice((start, end)) :]


def _put_integer(data: bytes, others: list[bytes], random: Random) -> bytes:
    """Overwrite two or four bytes by a number that lengths and codes are sensitive to."""
    at = random.randint(0, len(data))
    number = random.choice((*_INTEGERS, len(data), len(data) - 4, len(data) - at))
    if random.random() < 0.3:
        return data[:at] + pack(">H", number & 0xFFFF) + data[at + 2 :]
    return data[:at] + pack(">I", number & 0xFFFFFFFF) + data[at + 4 :]


def _cross(data: bytes, others: list[bytes], random: Random) -> bytes:
    other = random.choice(others)
    start, end = _span(other, random)
    at = random.randint(0, len(data))
    return random.choice((data[:at] + other[start:end] + data[at:], data[:at] + other[start:], data + other))


_MUTATIONS: list[Callable[[bytes, list[bytes], Random], bytes]] = [
    _flip_bit, _set_byte, _remove, _repeat, _cut_short, _put_token, _put_token, _put_integer, _put_integer, _cross
]  # fmt: skip
