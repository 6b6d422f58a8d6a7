import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from namekeeper.wire.lenient_json import MAX_DEPTH, DialectError, parse
from tests.support.system.errors import assert_no_error

documents = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(documents, st.booleans())
def test_standard_json_is_read_as_the_standard_library_does(document, ascii_only):
    assert parse(json.dumps(document, ensure_ascii=ascii_only)) == document


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{0:1,-7:2}", {"0": 1, "-7": 2}),
        ("{a:1,$ref:'$.b',_c9:2}", {"a": 1, "$ref": "$.b", "_c9": 2}),
        ("{null:[]}", {"null": []}),
        ("['a', \"b'c\", 'd\"e', 'f\\'g']", ["a", "b'c", 'd"e', "f'g"]),
        ("{,,'a':1,,b:2,}", {"a": 1, "b": 2}),
        ("[,1,,2,]", [1, 2]),
        ("[,]", []),
        ("{,}", {}),
        ("\ufeff{}", {}),
        (" /* a **/ [ // b\n 1 /**/ , 2 ] // end", [1, 2]),
        ("\b\f[]\r\n\t", []),
        (r'"\x41\u0042\n\0\7\v\/\\"', "AB\n\0\7\v/\\"),
        ('"a\nb\x00"', "a\nb\x00"),
        (r'"\ud83d\ude00"', "\U0001f600"),
        (r'"\ud83dx\ude00"', "\ufffdx\ufffd"),
        ("007", 7),
        ("-1.5e3", -1500.0),
        ("true", True),
    ],
)
def test_dialects_are_understood(text, value):
    assert parse(text) == value


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "expected a value at character 0"),
        ("/* without end", "expected a value"),
        ("nul", "expected a value"),
        ("NaN", "expected a value"),
        ("{} {}", "text after the document at character 3"),
        ("[1 2]", "expected ',' or '\\]'"),
        ("[1", "expected ',' or '\\]'"),
        ("[", "expected a value"),
        ("{'a' 1}", "expected ':'"),
        ("{'a':1 'b':2}", "expected ',' or '}'"),
        ("{'a':}", "expected a value"),
        ("{", "expected a key"),
        ("{[]:1}", "expected a key"),
        ("{1.5:1}", "expected ':'"),
        ("'abc", "string without an end"),
        ("'abc\\", "string without an end"),
        ("'\\q'", r"unknown escape \\q"),
        ("'\\u12'", r"unknown escape \\u"),
        ("'\\x1'", r"unknown escape \\x"),
        ("-", "not a number"),
        ("²", "not a number"),
        ("1" * 65, "not a number"),
        ("1e999", "number out of range"),
        ("-1e999", "number out of range"),
        ("[" * (MAX_DEPTH + 1), "nested more than"),
        ("{a:" * (MAX_DEPTH + 1), "nested more than"),
    ],
)
def test_garbage_is_a_dialect_error(text, problem):
    with pytest.raises(DialectError, match=problem):
        parse(text)


def test_the_deepest_document():
    assert parse("[" * MAX_DEPTH + "]" * MAX_DEPTH) is not None


@given(st.text(alphabet="{}[]:,'\"\\/*0-1.eux $anull\n"))
def test_a_value_or_a_dialect_error(text):
    assert_no_error(parse, text, allowed=DialectError)
