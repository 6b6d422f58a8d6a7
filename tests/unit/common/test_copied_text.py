"""What people copy into a file is recognised, and the advice says what to write instead."""

import pytest

from namekeeper.common.copied_text import (
    TYPOGRAPHIC_QUOTES,
    advice_for_json,
    advice_for_toml,
    remarks_on_json,
)


@pytest.mark.parametrize(
    ("line", "problem", "advice"),
    [
        ("mode = \u201cenforce\u201d", "Invalid value", 'write "straight" ones'),
        ("mode = \u2018enforce\u2019", "Invalid value", 'write "straight" ones'),
        ("mode: enforce", "Expected '='", "looks like YAML: write mode = ..."),
        ("  - name: x", "Invalid statement", "looks like YAML: write name = ..."),
        ("rule:", "Expected '='", "looks like YAML"),
        ("- read", "Invalid statement", "looks like YAML: write name = value, and [[rule]]"),
        ("---", "Expected '='", "looks like YAML"),
        ('{"mode": "enforce"}', "Invalid statement", "looks like JSON"),
        ("mode = enforce", "Invalid value", 'write the value in quotes: mode = "..."'),
        ("keys = /etc/keys.toml", "Invalid value", 'keys = "..."'),
        ("takes_over = True", "Invalid value", "write takes_over = true"),
        ("takes_over = no  # never", "Invalid value", "write takes_over = false"),
        ("mode =", "Invalid value", "mode has no value"),
        ("mode = # enforce", "Invalid value", "mode has no value"),
        ("mode = 'audit'", "Cannot overwrite a value", "mode stands in an earlier line, too"),
        (r'keys = "C:\keys"', "Unescaped '\\' in a string", "write two backslashes"),
        (r'keys = "C:\users"', "Invalid hex value", "write two backslashes"),
        ("// rules", "Invalid statement", "write # before a comment"),
        ("; rules", "Invalid statement", "write # before a comment"),
        ('mode = "enforce" x', "Expected newline", ""),
        ("[rule", "Expected ']'", ""),
    ],
)
def test_a_line_that_is_no_toml_gets_what_to_write_instead(line: str, problem: str, advice: str):
    found = advice_for_toml(line, problem)
    assert advice in found
    assert bool(found) == bool(advice)


@pytest.mark.parametrize("quote", TYPOGRAPHIC_QUOTES)
def test_every_typographic_quote_is_named_in_toml_and_json(quote: str):
    assert "typographic" in advice_for_toml(f"a = {quote}b{quote}", "")
    assert "typographic" in advice_for_json(f"{{{quote}a{quote}: 1}}", f"{{{quote}a{quote}: 1}}")


@pytest.mark.parametrize(
    "line", ["a: s3cret", "a = s3cret", 'a = "s3cret\\d"', "a = \u201cs3cret\u201d", "- s3cret"]
)
def test_advice_never_repeats_a_value(line: str):
    assert "s3cret" not in advice_for_toml(line, "Unescaped '\\'") + advice_for_json(line, line)


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("topic:\n  a: 1", "looks like YAML"),
        ("--- # x", "looks like YAML"),
        ("a=1", "looks like a line of properties"),
        ("hello", "begins with {"),
        (" \n", "it is empty"),
        ('{"a" 1}', ""),
    ],
)
def test_a_text_that_is_no_json_gets_what_to_write_instead(text: str, advice: str):
    found = advice_for_json(text, text.splitlines()[0])
    assert advice in found
    assert bool(found) == bool(advice)


@pytest.mark.parametrize(
    ("data", "remarks"),
    [
        (b"", []), (b'{"a": 1}', []), (b'{"a": "it\'s // no comment"}', []),
        (b'\xef\xbb\xbf{"a":1}', ["line 1: it begins with a byte order mark: save it as UTF-8 without one"]),
        (b"{'a':1}", ['line 1: it has single quotes: write "straight double" ones']),
        (b'{"a":\n\'b\'}', ['line 2: it has single quotes: write "straight double" ones']),
        (b"{\na:1}", ['line 2: it has a name without quotes: write "name"']),
        (b'// x\n{"a":1}', ["line 1: it has a comment, which JSON lacks: leave it out"]),
        (b'{"a":1,\n}', ["line 2: it has a comma with nothing behind it: leave it out"]),
        (b'{"a":[1,]}', ["line 1: it has a comma with nothing behind it: leave it out"]),
        (b'{"a":1,\n"a":2}', ["line 2: 'a' stands in it twice, and the last one counts: leave one out"]),
        (b'{"\xe4":1}', ["line 1: it has bytes that are no UTF-8: save it as UTF-8"]),
        (b"\xef\xbb\xbf{'a':1}", ["line 1: it begins with a byte order mark: save it as UTF-8 without one",
         'line 1: it has single quotes: write "straight double" ones']),
    ],
)  # fmt: skip
def test_what_only_rocketmq_reads_is_told(data, remarks):
    if data:
        assert remarks_on_json(data) == remarks
