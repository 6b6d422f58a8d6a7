"""Reading options as Java's commons-cli does, for the commands with RocketMQ's names and `namekeeper serve`.

argparse would cost a tenth of the time that a name server may take to start: its formatter is made for each
option and brings the archive formats of shutil along.
"""

from collections.abc import Collection, Mapping, Sequence

from namekeeper.common.near_names import did_you_mean

__all__ = ["BadOptionError", "parse_options", "read_options"]

_TRUTHS = ("true", "false")


class BadOptionError(Exception):
    """An option that isn't known, or one without its value; the text says so in commons-cli's words."""


def parse_options(
    arguments: Sequence[str],
    with_value: Mapping[str, str],
    without_value: Mapping[str, str],
    *,
    ours: Collection[str] = (),
) -> dict[str, str]:
    """Options by their keys; of one that is given twice the last value counts; other words are ignored.

    Args:
        arguments: The words that were typed.
        with_value: Key of each option that has a value, by each of its names.
        without_value: The same for switches; they are "true" unless `=false` or another word after `=`, or
            the word `false` behind them, says otherwise.
        ours: Names that Java lacks, which have to be written in full.

    Raises:
        BadOptionError: Something is wrong with an option.
    """
    return dict(read_options(arguments, with_value, without_value, truths=_TRUTHS, ours=ours)[0])


def read_options(
    arguments: Sequence[str],
    with_value: Mapping[str, str],
    without_value: Mapping[str, str],
    *,
    truths: Collection[str] = (),
    ours: Collection[str] = (),
) -> tuple[list[tuple[str, str]], list[str]]:
    """Options with their keys and values in the order of the command line, and the words that are no options.

    Every spelling of commons-cli is read: `-n VALUE`, `-nVALUE`, `-n=VALUE`, `--name VALUE`, `--name=VALUE`,
    the same with one dash, the beginning of a long name if it fits one option only, and switches in one word.

    Args:
        arguments: The words that were typed.
        with_value: Key of each option that has a value, by each of its names, `-n` or `--name`.
        without_value: The same for switches.
        truths: Words that are the value of a switch if they follow it.
        ours: Names that Java lacks, which have to be written in full.

    Raises:
        BadOptionError: Something is wrong with an option.
    """
    reading = _Reading(arguments, with_value, without_value, truths, ours)
    reading.run()
    return reading.options, reading.words


class _Reading:
    """One command line, from its first word to its last."""

    def __init__(
        self,
        arguments: Sequence[str],
        with_value: Mapping[str, str],
        without_value: Mapping[str, str],
        truths: Collection[str],
        ours: Collection[str],
    ) -> None:
        self._rest = list(arguments)
        self._with_value, self._without_value = with_value, without_value
        self._keys = {**with_value, **without_value}
        self._truths, self._ours = truths, ours
        self.options: list[tuple[str, str]] = []
        self.words: list[str] = []

    def run(self) -> None:
        while self._rest:
            word = self._rest.pop(0)
            if word == "--":
                self.words += self._rest
                return
            if not word.startswith("-") or word == "-":
                self.words.append(word)
            elif not self._take_name(word) and not self._take_letters(word):
                raise BadOptionError(f"Unrecognized option: {word}{self._question(word)}")

    def _take_name(self, word: str) -> bool:
        """Take a word that is one option, with its value behind `=` if it has one."""
        name, equals, value = word.partition("=")
        found = self._named(name)
        if found is None:
            return False
        self._take(found, value if equals else None)
        return True

    def _take_letters(self, word: str) -> bool:
        """Take a word in which a value follows a name without a blank, or which has several switches."""
        if word.startswith("--"):
            return False
        longest = max(
            (name for name in self._with_value if name[:2] == "--" and word[1:].startswith(name[2:])),
            key=len, default=None,
        )  # fmt: skip
        if longest is not None:
            self._take(longest, word[len(longest) - 1 :])
            return True
        taken = []
        for at, letter in enumerate(word[1:], 2):
            name = f"-{letter}"
            if name not in self._keys:
                return False
            taken.append((name, word[at:] or None))
            if name in self._with_value:
                break
        for name, value in taken:
            self._take(name, value if name in self._with_value else None)
        return True

    def _named(self, name: str) -> str | None:
        """The whole name of an option; None if there is none."""
        if name in self._keys:
            return name
        long = f"--{name.lstrip('-')}"
        if len(name) <= 2:
            return None
        if long in self._keys:
            return long
        near = [each for each in self._keys if each.startswith(long) and each not in self._ours]
        if len({self._keys[each] for each in near}) > 1:
            names = ", ".join(f"'{each[2:]}'" for each in near)
            raise BadOptionError(f"Ambiguous option: '{name}'  (could be: {names})")
        return near[0] if near else None

    def _take(self, name: str, value: str | None) -> None:
        key = self._keys[name]
        if name in self._without_value:
            if value is None:
                value = self._rest.pop(0) if self._rest and self._rest[0] in self._truths else "true"
            self.options.append((key, value))
            return
        if value is None and not self._rest:
            raise BadOptionError(f"Missing argument for option: {name.lstrip('-')}")
        self.options.append((key, _unquoted(self._rest.pop(0) if value is None else value)))

    def _question(self, word: str) -> str:
        question = did_you_mean(word.partition("=")[0], self._keys)
        return f" ({question.removeprefix(': ')})" if question else ""


def _unquoted(value: str) -> str:
    """A value without the quotes around it, which commons-cli drops."""
    if len(value) > 1 and value[0] == value[-1] == '"' and '"' not in value[1:-1]:
        return value[1:-1]
    return value
