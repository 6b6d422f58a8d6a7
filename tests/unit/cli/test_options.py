"""Options are read as commons-cli reads them."""

import pytest

from namekeeper.cli.options import BadOptionError, parse_options

VALUES = {"-c": "config", "--configFile": "config"}
SWITCHES = {"-p": "print", "--order": "order"}


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        ([], {}),
        (["-c", "a", "-p"], {"config": "a", "print": "true"}),
        (["--configFile=a=b"], {"config": "a=b"}),
        (["-c", "-p"], {"config": "-p"}),
        (["-c="], {"config": ""}),
        (["-c", "a", "-c", "b"], {"config": "b"}),
        (["word", "-"], {}),
        (["--order", "false", "-p"], {"order": "false", "print": "true"}),
        (["--order", "true"], {"order": "true"}),
        (["--order=no"], {"order": "no"}),
        (["--order", "word"], {"order": "true"}),
    ],
)
def test_options_are_read(arguments, options):
    assert parse_options(arguments, VALUES, SWITCHES) == options


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["-x"], "Unrecognized option: -x"),
        (["--config=a"], "Unrecognized option: --config=a"),
        (["-c"], "Missing argument for option: c"),
    ],
)
def test_what_is_wrong_is_said_in_javas_words(arguments, text):
    with pytest.raises(BadOptionError, match=f"^{text}$"):
        parse_options(arguments, VALUES, SWITCHES)
