"""Options are read as commons-cli reads them."""

import pytest

from namekeeper.cli.options import BadOptionError, parse_options

VALUES = {"-c": "config", "--configFile": "config"}
SWITCHES = {"-p": "print", "-q": "quiet", "--order": "order", "--other": "other"}


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
        (["-configFile", "a"], {"config": "a"}),
        (["-configFile=a"], {"config": "a"}),
        (["-configFilea"], {"config": "a"}),
        (["--config=a"], {"config": "a"}),
        (["-con", "a"], {"config": "a"}),
        (["-ca=b"], {"config": "a=b"}),
        (["-pc", "a"], {"print": "true", "config": "a"}),
        (["-pca"], {"print": "true", "config": "a"}),
        (["-pq"], {"print": "true", "quiet": "true"}),
        (["-c", '"a b"'], {"config": "a b"}),
        (["-p", "--", "-c", "a"], {"print": "true"}),
    ],
)
def test_options_are_read(arguments, options):
    assert parse_options(arguments, VALUES, SWITCHES) == options


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["-x"], "Unrecognized option: -x"),
        (["--confgFile=a"], r"Unrecognized option: --confgFile=a \(did you mean --configFile\?\)"),
        (["-px"], r"Unrecognized option: -px \(did you mean -p\?\)"),
        (["--o"], r"Ambiguous option: '--o'  \(could be: 'order', 'other'\)"),
        (["-c"], "Missing argument for option: c"),
    ],
)
def test_what_is_wrong_is_said_in_javas_words(arguments, text):
    with pytest.raises(BadOptionError, match=f"^{text}$"):
        parse_options(arguments, VALUES, SWITCHES)


def test_a_name_that_java_lacks_is_written_in_full():
    with pytest.raises(BadOptionError, match="Unrecognized option: --ord"):
        parse_options(["--ord"], VALUES, SWITCHES, ours=["--order"])
