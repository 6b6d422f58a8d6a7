"""Words of our own that gave way to the field's: no name is made of them again; and each class name means one thing."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

from namekeeper.pipeline.gold.tables import GOLD
from namekeeper.pipeline.schema import FACTS
from tests.support.documents.names import classes_of, names_in_python, names_in_sql, words_of
from tests.support.documents.statements import statements

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ROOT / "src" / "namekeeper"

WORDS = {
    "life": "boot",
    "lives": "boots",
    "told": "recorded",
    "said": "recorded",
    "handful": "bucket",
    "print": "fingerprint",
    "place": "position",
    "moment": "event time",
    "wall": "range end",
    "work": "recompute range",
    "outside": "kept range",
    "concerned": "overlapping",
    "made_again": "replaced",
    "together": "concurrency",
    "workshop": "engine",
    "straight": "clean",
    "crooked": "damaged",
    "mending": "repair",
    "kept_store": "warehouse folder",
    "room": "shared files",
    "greeting": "protocol sniffing",
    "reception": "handshake",
    "known": "look-up cache",
    "tally": "counter",
    "fitting": "coercion",
    "deeds": "actions",
    "pace": "fixed rate",
    "standing": "assessment",
    "whole": "checkpoint applied, or complete",
    "news": "writer message",
    "hold": "folder lock",
}
"""A word that had a meaning of its own here -> what the field says."""

UNMISTAKABLE = {
    "life", "lives", "handful", "concerned", "made_again", "workshop", "crooked", "mending", "kept_store",
    "greeting", "reception", "tally", "deeds", "standing",
}  # fmt: skip
"""Words with no other use in names: variables and attributes may not have them either."""

COMMON = {
    "wall clock time, in contrast with monotonic time": "wall_ms",
    "in contrast with unknown": "known known_digest known_topic known_position KnownPeriod KnownSpan computed_known_span",
    "what somebody knows": "_Known _known _known_address",
    "to hold": "holds _holds hold_pid_file",
    "to print": "_print _print_kv_config _print_replies _print_order_conf _print_plan print_config _print_progress",
    "RocketMQ's machine rooms": (
        "AllocateMachineRoomNearby AllocateMessageQueueByMachineRoom _by_room room_of"
    ),
    "space that is left": "has_room _has_room _make_room _check_room",
    "nothing of it is missing": "whole is_whole _whole_days set_whole_days",
    "to say": "_said_by",
    "what is to be done: a coroutine or a function": "work",
    "sockets that a server listens at": "places",
    "something new": "_is_news_that_it_is_absent",
}
"""A common meaning of a word of the list -> the names that have the word in this meaning."""

COMMON_IN_TESTS = {
    "to print": "_print_counts _print_run_counts _print_verdicts prints",
    "to hold": "hold hold_victim",
    "in contrast with unknown": "assert_known_up_to is_known known known_up_to",
    "something was said": "said",
    "RocketMQ's machine rooms": "broker_rooms room",
    "nothing of it is missing": "_unregister_is_whole",
}
"""The same for names in tests and benchmarks."""

COMMON_NAMES = {name for names in COMMON.values() for name in names.split()}

FILLERS = {"a", "an", "and", "as", "in", "is", "it", "of", "the", "this", "to"}

STRANGE = UNMISTAKABLE - {"life", "lives"} | {"straight"}
"""Words of the list that no sentence needs: not even the names of test functions, which are sentences, have them."""

TERMS = re.compile(
    r"\b(?:handfuls|workshop|crooked|mending|kept[ _]store|tally|tallies|deeds|known requests)\b"
    r"|\b(?:one|this|that|each|every|previous|last|next|earlier|per|same|other|whose|process's|boot's) life\b"
    r"|\b(?:its|two|several|these|those|all|many|few) lives\b",
    re.IGNORECASE,
)
"""Words of the list as terms, in texts that people read."""

IDIOMS = {
    "as ever": "as before, as usual",
    "hang on, hangs on": "depend on",
    "vouch, vouches": "guarantee",
    "of whatever make": "of any implementation",
    "without a word": "silently, without an error, without an answer",
    "blank behind, bytes behind, text behind": "after: behind is for places, not for the order of a text",
}
"""Phrases that somebody who learned English later has to look up -> plain ones."""

IDIOM = re.compile(rf"\b(?:{'|'.join(', '.join(IDIOMS).split(', '))})\b", re.IGNORECASE)


MAY_HAVE = re.compile("|".join(word.replace("_", "_*") for word in WORDS), re.IGNORECASE)
"""Found in every text that has a name with a word of the list, and in others: it costs less than to parse them."""


def has_word(name: str, words: set[str]) -> str | None:
    """The first word of the list that a name is made of."""
    parts = words_of(name)
    joined = {*parts, *(f"{one}_{two}" for one, two in pairwise(parts))}
    plural = {part[:-1] for part in parts if part.endswith("s")}
    return min(words & (joined | plural), default=None)


@cache
def written_names() -> set[str]:
    """Names of written tables and of their columns: they stay, or old warehouses could not be read."""
    tables = [*FACTS.values(), *GOLD.values()]
    return {table.name for table in tables} | {column.name for table in tables for column in table.columns}


def wrong_names(path: str, source: str) -> Iterator[str]:
    """Names in one file that are made of a word of the list."""
    words, allowed = set(WORDS), written_names() | COMMON_NAMES
    file = Path(path)
    if file.stem not in allowed and has_word(file.stem, words):
        yield file.stem
    written = (name for name in set(re.findall(r"\w+", source)) - allowed if MAY_HAVE.search(name))
    if not any(has_word(name, words) for name in written):
        return
    found = names_in_python(source) if file.suffix == ".py" else names_in_sql(source)
    for name in found:
        banned = UNMISTAKABLE if name.kind in {"variable", "attribute", "window"} else words
        if name.name not in allowed and has_word(name.name, banned):
            yield name.name


def sources() -> Iterator[tuple[str, str]]:
    for path in sorted(SOURCES.rglob("*")):
        if path.suffix in {".py", ".sql"}:
            yield path.relative_to(SOURCES).as_posix(), path.read_text()


def other_sources() -> Iterator[tuple[str, str]]:
    for folder in ("tests", "benchmarks", "examples"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            if path != Path(__file__):
                yield path.relative_to(ROOT).as_posix(), path.read_text()


def wrong_names_in_tests(path: str, source: str) -> Iterator[str]:
    """The same as `wrong_names`, but names of test functions are sentences, in which common words stay common."""
    common = {name for names in COMMON_IN_TESTS.values() for name in names.split()}
    for name in wrong_names(path, source):
        is_sentence = name.startswith("test_") and name != Path(path).stem
        if not (name in common or (is_sentence and not has_word(name, STRANGE))):
            yield name


def documents() -> Iterator[tuple[str, str]]:
    for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("benchmarks/*.md")]:
        yield path.relative_to(ROOT).as_posix(), path.read_text()


def test_names_use_the_words_of_the_field():
    wrong = {path: set(wrong_names(path, source)) for path, source in sources()}
    assert {path: names for path, names in wrong.items() if names} == {}


def test_names_in_tests_and_benchmarks_use_them_too():
    wrong = {path: set(wrong_names_in_tests(path, source)) for path, source in other_sources()}
    assert {path: names for path, names in wrong.items() if names} == {}


def test_the_check_of_names_in_tests_can_fail():
    source = "def test_it_is_told(): ...\ndef test_a_crooked_one(): ...\ndef told(): ...\ndef test_a_sign_of_life(): ..."
    assert set(wrong_names_in_tests("a.py", source)) == {"test_a_crooked_one", "told"}
    assert set(wrong_names_in_tests("test_it_is_told.py", "")) == {"test_it_is_told"}


def test_each_common_name_has_a_word_of_the_list():
    assert {name for name in COMMON_NAMES if not has_word(name, set(WORDS))} == set()


def shared_class_names(modules: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Class names that more than one module has; a leading underscore and capitals make no other name."""
    homes = defaultdict(list)
    for path, source in modules:
        for name in classes_of(source):
            homes[name.lstrip("_").lower()].append(f"{path}: {name}")
    return {name: classes for name, classes in homes.items() if len(classes) > 1}


def test_a_class_name_means_one_thing():
    assert shared_class_names((path, source) for path, source in sources() if path.endswith(".py")) == {}


def test_the_check_of_class_names_can_fail():
    modules = [
        ("a.py", "class Span: ..."),
        ("b.py", "class Boot:\n    class _Span: ..."),
        ("c.py", "class Spans: ..."),
    ]
    assert shared_class_names(modules) == {"span": ["a.py: Span", "b.py: _Span"]}


def empty_docstrings(source: str) -> Iterator[str]:
    """Docstrings that say no more than the name does, and arguments that are described by their own name."""
    for node in statements(ast.parse(source)):
        if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            text = ast.get_docstring(node) or ""
            names = {word.rstrip("s") for word in words_of(node.name)}
            said = {word.rstrip("s") for word in words_of(text)} - FILLERS
            if text and said <= names:
                yield text
            for name, meaning in re.findall(r"^ +(\w+): (.*)$", text, re.MULTILINE):
                if set(words_of(meaning)) - FILLERS <= set(words_of(name)):
                    yield f"{name}: {meaning}"


def test_no_docstring_only_repeats_its_name():
    found = {path: list(empty_docstrings(source)) for path, source in sources() if path.endswith(".py")}
    assert {path: texts for path, texts in found.items() if texts} == {}


def test_the_check_of_docstrings_can_fail():
    source = '''
def read_file(path, how):
    """Read a file.

    Args:
        path: The path.
        how: How.
        record: It.
    """
class Boot:
    """One run of a process."""
'''
    assert list(empty_docstrings(source)) == [
        "path: The path.", "how: How.", "record: It.",
    ]  # fmt: skip
    assert list(empty_docstrings('def read_file():\n    """Read the file."""')) == ["Read the file."]


def test_documents_comments_and_messages_use_the_words_of_the_field():
    texts = [*documents(), *sources(), *other_sources()]
    found = {path: set(TERMS.findall(text)) for path, text in texts}
    assert {path: terms for path, terms in found.items() if terms} == {}


def test_texts_do_without_idioms():
    found = {path: set(IDIOM.findall(text)) for path, text in [*documents(), *sources(), *other_sources()]}
    assert {path: phrases for path, phrases in found.items() if phrases} == {}


def test_the_check_of_idioms_can_fail():
    assert IDIOM.findall("It hangs on it, as ever; it depends on it, as before.") == ["hangs on", "as ever"]


@pytest.mark.parametrize(
    ("file", "source", "wrong"),
    [
        ("a.py", "class WriteTally: ...", {"WriteTally"}),
        ("a.py", "def is_told(): ...", {"is_told"}),
        ("a.py", "async def f(x, *, life=1): ...", {"life"}),
        ("a.py", "made_again = [handful for handful in x]", {"made_again", "handful"}),
        ("a.py", "self._reception = 1", {"_reception"}),
        ("tally.py", "", {"tally"}),
        ("a.py", "from x import Tally\ntold = print(life)  # a tally\nwall_ms = 'life'", set()),
        ("told_rows.sql", "SELECT 1", {"told_rows"}),
        ("a.sql", "WITH told AS (SELECT 1 AS handful), b AS (SELECT place FROM t) SELECT * FROM told", {"told", "handful"}),
        ("a.sql", "-- WITH told AS (\nSELECT 'AS life' AS position", set()),
        ("a.sql", "SELECT sum(x) OVER lives FROM t WINDOW lives AS (PARTITION BY y)", {"lives"}),
    ],
)  # fmt: skip
def test_the_check_of_names_can_fail(file: str, source: str, wrong: set[str]):
    assert set(wrong_names(file, source)) == wrong


def test_the_check_of_documents_can_fail():
    assert TERMS.findall("For two lives of the process, two handfuls; then each life, and a tally") == [
        "two lives", "handfuls", "each life", "tally",
    ]  # fmt: skip
    assert TERMS.findall("a sign of life, as long as it lives, the life of a broker") == []


def test_names_are_split_at_case_and_underscores():
    assert words_of("_HTTPServer_isTold2") == ["http", "server", "is", "told2"]
