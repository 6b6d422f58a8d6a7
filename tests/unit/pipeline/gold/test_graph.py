"""The order of views, and which of them need each other."""

import re

import pytest

from namekeeper.pipeline.gold.graph import (
    Graph,
    UnexplainedViewError,
    UnknownViewError,
    UnreadViewError,
    ViewCycleError,
)
from namekeeper.pipeline.gold.sql_file import View


def view(name: str, *reads: str, **others: str) -> View:
    return View(name, "phase", "", "", (), frozenset(reads), **others)


def names(chains: list) -> list[list[str]]:
    return [[each.name for each in chain] for chain in chains]


def test_views_come_behind_what_they_need():
    graph = Graph([view("c", "b", writes="t"), view("b", "a"), view("a", "fact")], ["fact"])
    assert [each.name for each in graph] == ["a", "b", "c"]


def test_who_reads_a_table_reads_the_view_that_writes_it():
    graph = Graph([view("new_t", "fact", writes="t"), view("b", "t", collected="why")], ["fact"])
    assert [each.name for each in graph] == ["new_t", "b"]
    assert graph.maker("t") == "new_t"
    assert graph.readers("t") == graph.readers("new_t") == [graph["b"]]
    assert graph.from_table("t") == {"b"}


def test_what_is_filled_from_a_view_comes_behind_it():
    graph = Graph(
        [view("b", "fact", filled_from="c", writes="t"), view("c", "fact", collected="why")], ["fact"]
    )
    assert [each.name for each in graph] == ["c", "b"]


def test_views_that_need_each_other_are_a_chain_and_the_longest_is_the_first():
    graph = Graph(
        [
            view("a", "fact", writes="t"),
            view("b", "fact"), view("c", "b", writes="u"), view("d", "t", collected="why"),
            view("e", "fact"), view("f", "fact"), view("g", "e", "f", writes="v"),
        ],
        ["fact"],
    )  # fmt: skip
    assert names(graph.chains(lambda _: True)) == [["e", "f", "g"], ["a", "d"], ["b", "c"]]
    assert names(graph.chains(lambda each: each.name in {"a", "b", "c"})) == [["b", "c"], ["a"]]


def test_all_that_comes_from_a_table_is_found():
    graph = Graph(
        [
            view("a", "fact", writes="t"),
            view("b", "t"),
            view("c", "b", writes="u"),
            view("d", "fact", writes="v"),
        ],
        ["fact"],
    )
    assert graph.from_table("t") == {"b", "c"}
    assert graph.from_table("u") == set()


def test_a_circle_is_an_error_that_names_it():
    with pytest.raises(ViewCycleError, match=r"in a circle: (a <- b <- a|b <- a <- b)"):
        Graph([view("a", "b"), view("b", "a")], [])


def test_a_name_that_is_neither_a_view_nor_a_table_is_an_error():
    with pytest.raises(UnknownViewError, match=re.escape("a.sql reads b, c, which is neither")):
        Graph([view("a", "b", "c", "fact", writes="t")], ["fact"])


def test_a_view_that_nobody_reads_is_an_error():
    with pytest.raises(UnreadViewError, match="nobody reads a,"):
        Graph([view("a", "fact")], ["fact"])


def test_a_view_that_several_read_says_whether_it_is_kept():
    readers = [view("b", "a", writes="t"), view("c", "a", writes="u")]
    with pytest.raises(UnexplainedViewError, match="b, c read a: its header must say 'kept' or 'not kept'"):
        Graph([view("a", "fact"), *readers], ["fact"])
    assert Graph([view("a", "fact", kept="small"), *readers], ["fact"])["a"].kept
    assert Graph([view("a", "fact", not_kept="large"), *readers], ["fact"])["a"].not_kept
