"""Reading the options of `mqnamesrv` and `namekeeper serve`, as Java's commons-cli does.

argparse would cost a tenth of the time that a name server may take to start: its formatter is made for each
option and brings the archive formats of shutil along.
"""

from collections.abc import Mapping, Sequence

from namekeeper.common.near_names import did_you_mean

__all__ = ["BadOptionError", "parse_options"]


class BadOptionError(Exception):
    """An option that isn't known, or one without its value; the text says so in commons-cli's words."""


def parse_options(
    arguments: Sequence[str], with_value: Mapping[str, str], without_value: Mapping[str, str]
) -> dict[str, str]:
    """Options by their keys; a value is the next word or follows `=`; other words are ignored.

    Args:
        arguments: What was typed.
        with_value: Key of each option that has a value, by each of its names.
        without_value: The same for switches; they are "true" unless `=false` or another word after `=`, or
            the word `false` behind them, says otherwise.

    Raises:
        BadOptionError: Something is wrong with an option.
    """
    options: dict[str, str] = {}
    rest = list(arguments)
    while rest:
        name, equals, value = rest.pop(0).partition("=")
        if name in without_value:
            options[without_value[name]] = value if equals else _switch(rest)
        elif name in with_value:
            if not equals and not rest:
                raise BadOptionError(f"Missing argument for option: {name.lstrip('-')}")
            options[with_value[name]] = value if equals else rest.pop(0)
        elif name.startswith("-") and name != "-":
            question = did_you_mean(name, [*with_value, *without_value])
            meant = f" ({question.removeprefix(': ')})" if question else ""
            raise BadOptionError(f"Unrecognized option: {name}{equals}{value}{meant}")
    return options


def _switch(rest: list[str]) -> str:
    return rest.pop(0) if rest and rest[0] in {"true", "false"} else "true"
