"""Text of strangers can do nothing to a terminal."""

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from namekeeper.common.printable import printable, printable_json, printable_lines

BIDI_CONTROLS = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", ""),
        ("plain text, 主题 and é", "plain text, 主题 and é"),
        ("a\nb\r\tc", "a\\nb\\r\\tc"),
        ("\x1b[2J", "\\x1b[2J"),
        ("\x7f\x9b31m", "\\x7f\\x9b31m"),
        ("\u202ecod.exe", "\\u202ecod.exe"),
        ("\u2028\u2029\ufeff", "\\u2028\\u2029\\ufeff"),
        ("\ud800", "\\ud800"),
        ("\U000e0041", "\\U000e0041"),
        ("back\\slash", "back\\slash"),
    ],
)
def test_what_is_not_for_display_is_escaped(text, shown):
    assert printable(text) == shown


def test_every_control_character_and_every_bidi_control_is_escaped():
    controls = [chr(code) for code in (*range(0x20), 0x7F, *range(0x80, 0xA0))] + list(BIDI_CONTROLS)
    for control in controls:
        assert control not in printable(f"a{control}b")
        assert printable(f"a{control}b").startswith("a\\")


@given(st.text())
def test_the_result_is_one_line_without_controls_and_can_be_encoded(text):
    shown = printable(text)
    assert len(shown.splitlines()) <= 1
    assert not {unicodedata.category(each) for each in shown} & {"Cc", "Cf", "Cs", "Zl", "Zp"}
    assert printable(shown) == shown
    shown.encode()


def test_lines_and_tabs_of_our_own_layout_stay():
    assert printable_lines("a\tb\nc\x1b\r\u2028") == "a\tb\nc\\x1b\\r\\u2028"


@given(st.text())
def test_json_keeps_its_value_and_shows_nothing_that_acts_on_a_terminal(text):
    shown = printable_json(json.dumps({text: [text]}, ensure_ascii=False, indent=2))
    assert json.loads(shown) == {text: [text]}
    assert not {unicodedata.category(each) for each in shown if each != "\n"} & {"Cc", "Cf", "Cs", "Zl", "Zp"}
