from typing import get_args

import pytest

from namekeeper.wire.codes import LanguageCode, LanguageName, RequestCode, language_name, version_ordinal


def test_language_names_are_those_of_the_codes():
    assert get_args(LanguageName) == tuple(code.name for code in sorted(LanguageCode))


def test_a_language_byte_has_a_name_or_none():
    assert language_name(3) == "PYTHON"
    assert language_name(14) is None
    assert language_name(-1) is None


@pytest.mark.parametrize(
    ("release", "ordinal"),
    [
        ("4.0.0", 213),
        ("4.3.2", 277),
        ("4.8.0", 373),
        ("4.9.4", 401),
        ("5.0.0", 413),
        ("5.3.3", 479),
        ("5.5.0", 513),
    ],
)
def test_ordinals_of_releases(release, ordinal):
    assert version_ordinal(release) == ordinal


def test_request_codes_have_java_s_names():
    assert RequestCode(105) is RequestCode.GET_ROUTEINFO_BY_TOPIC
