"""Texts become values as Java's setters make them, and each difference is said."""

import pytest

from namekeeper.config.property import PropertyKind, convert, format_value
from namekeeper.config.settings import SPECS
from namekeeper.errors import ConfigError

WAIT = SPECS["waitSecondsForService"]
SCAN = SPECS["scanNotActiveBrokerInterval"]
ORDER = SPECS["orderMessageEnable"]
UNIT = SPECS["productEnvName"]


@pytest.mark.parametrize(
    ("text", "value"), [("9", 9), ("+9", 9), ("007", 7), ("0", 0), ("2147483647", 2**31 - 1)]
)
def test_numbers_are_decimal(text, value):
    assert convert(WAIT, text, 45, strict=True) == (value, None)


@pytest.mark.parametrize("text", ["8 ", " 8", "", "0x10", "1_0", "1.5", "ten", "+", "2147483648", "9" * 5000])
def test_what_is_no_number_leaves_the_old_value_with_a_warning(text):
    value, warning = convert(WAIT, text, 45, strict=False)
    assert value == 45
    assert warning is not None
    assert warning.startswith("waitSecondsForService: ")
    with pytest.raises(ConfigError, match="not a number"):
        convert(WAIT, text, 45, strict=True)


def test_a_long_holds_more_than_an_int():
    assert SCAN.kind is PropertyKind.LONG
    assert convert(SCAN, "4294967296", 5000, strict=True) == (4294967296, None)
    assert convert(SCAN, "9223372036854775808", 5000, strict=False)[0] == 5000


@pytest.mark.parametrize(
    ("text", "value"), [("true", True), ("TRUE", True), ("false", False), ("False", False)]
)
def test_booleans_are_words_in_any_case(text, value):
    assert convert(ORDER, text, None, strict=True) == (value, None)


@pytest.mark.parametrize("text", ["true ", " true", "yes", "1", ""])
def test_any_other_word_is_false_with_a_warning(text):
    value, warning = convert(ORDER, text, True, strict=False)
    assert value is False
    assert warning is not None
    assert "taken as false" in warning
    with pytest.raises(ConfigError, match="not true or false"):
        convert(ORDER, text, True, strict=True)


def test_strings_lose_the_blanks_around_them():
    assert convert(UNIT, "\t a b \r", None, strict=True) == ("a b", None)


@pytest.mark.parametrize(
    ("name", "text", "allowed"),
    [
        ("listenPort", "70000", "from 0 to 65535"),
        ("listenPort", "-1", "from 0 to 65535"),
        ("scanNotActiveBrokerInterval", "-5", "from 1 to"),
        ("waitSecondsForService", "-1", "from 0 to"),
        ("tls.server.mode", "enforced", "disabled, permissive, enforcing"),
        ("bindAddress", " ", "must not be empty"),
    ],
)
def test_a_value_out_of_its_limits_is_an_error_that_says_what_is_allowed(name, text, allowed):
    with pytest.raises(ConfigError, match=f"^{name}.*{allowed}"):
        convert(SPECS[name], text, None, strict=False)


def test_choices_are_taken_in_any_case():
    assert convert(SPECS["tls.server.mode"], "ENFORCING", None, strict=True) == ("enforcing", None)
    assert convert(SPECS["serializeType"], "rocketmq", None, strict=True) == ("ROCKETMQ", None)


def test_values_are_written_as_java_writes_them():
    assert [format_value(value) for value in (True, False, 5, "x", None)] == ["true", "false", "5", "x", ""]
