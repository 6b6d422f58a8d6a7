"""The reader obeys java.util.Properties; javaproperties, an independent reader, is the oracle."""

import javaproperties
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from namekeeper.config.properties import escape_value, format_properties, parse_properties
from namekeeper.errors import ConfigError

AWKWARD = st.text(alphabet="ab\\u00e9=:# \t\f\r\n!ä", max_size=30)


@pytest.mark.parametrize(
    ("text", "entries"),
    [
        ("", {}),
        ("a=1\nb:2\nc 3\nd\te", {"a": "1", "b": "2", "c": "3", "d": "e"}),
        ("  a =  1", {"a": "1"}),
        ("a=1  ", {"a": "1  "}),
        ("a", {"a": ""}),
        ("=a", {"": "a"}),
        ("# a=1\n  ! b=2\n\n \t\f\nc=3", {"c": "3"}),
        ("a=1\ra=2\r\nb=3", {"a": "2", "b": "3"}),
        ("a=one,\\\n   two,\\\r\n\tthree", {"a": "one,two,three"}),
        ("a=1\\\n# no comment", {"a": "1# no comment"}),
        ("a=1\\\\\nb=2", {"a": "1\\", "b": "2"}),
        ("a=1\\", {"a": "1"}),
        ("a=\\t\\n\\r\\f\\\\\\u00e9\\q", {"a": "\t\n\r\f\\éq"}),
        ("a\\=b\\:c\\ d = 1", {"a=b:c d": "1"}),
        ("a==1", {"a": "=1"}),
        ("a=\\ud83d\\ude00", {"a": "😀"}),
        ("a=\\ud83dx\\ude00", {"a": "?x?"}),
    ],
)
def test_text_is_read_as_java_reads_it(text, entries):
    assert parse_properties(text) == entries


def test_bytes_are_latin_1():
    assert parse_properties(b"a=\xe4") == {"a": "ä"}


@pytest.mark.parametrize("escape", ["\\u", "\\u12", "\\u12g4", "\\u-123", "\\u 123"])
def test_a_malformed_escape_is_an_error_that_names_the_line(escape):
    with pytest.raises(ConfigError, match=r"^a\.properties, line 3: "):
        parse_properties(f"# first\na=1\nb={escape}", source="a.properties")


@given(AWKWARD)
@example("\\\\\\\na")
@example("a\\\n\\\n=b")
@example("a\\\x0b=b")
def test_text_is_read_as_an_independent_reader_reads_it(text):
    try:
        expected = javaproperties.loads(text)
    except javaproperties.InvalidUEscapeError:
        with pytest.raises(ConfigError):
            parse_properties(text)
    else:
        assert parse_properties(text) == expected


@given(st.dictionaries(st.text(max_size=8), st.text(max_size=12), max_size=4))
@example({"#a": " b", "": "", "a=b": "\t \n", "😀": "é\u2028"})
def test_what_is_written_is_read_again(entries):
    text = format_properties(entries)
    assert parse_properties(text.encode("ascii")) == entries
    assert javaproperties.loads(text) == entries


def test_ordinary_values_are_written_as_they_are():
    assert escape_value("a=b;c:d#e!/f g ") == "a=b;c:d#e!/f g "
