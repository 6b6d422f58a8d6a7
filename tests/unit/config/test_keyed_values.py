from typing import Annotated

import pytest
from msgspec import Meta, Struct

from namekeeper.config.keyed_values import struct_of
from namekeeper.errors import ConfigError


class _Table(Struct, rename={"begin": "from"}):
    topic: str
    begin: str | None = None
    names: list[str] = []
    every: float = 1.0
    is_on: bool = False
    limit: Annotated[int, Meta(ge=1)] = 1
    parts: dict[str, dict[str, object]] = {}


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        ({}, "here: topic is missing"),
        ({"topic": "a", "topik": "b"}, "here: unknown key 'topik': did you mean topic?"),
        ({"topic": "a", "begin": "b"}, "here: unknown key 'begin': it has topic, from, names"),
        ({"topic": 7}, "here: topic must be a text in quotes, not a whole number"),
        ({"topic": "a", "from": 7}, "here: from must be a text in quotes, not a whole number"),
        ({"topic": "a", "names": "b"}, "here: names must be a list, not a text in quotes"),
        ({"topic": "a", "names": [7]}, "here: a value of names must be a text in quotes, not a whole number"),
        ({"topic": "a", "every": "1s"}, "here: every must be a number, not a text in quotes"),
        ({"topic": "a", "is_on": "yes"}, "here: is_on must be true or false, not a text in quotes"),
        ({"topic": "a", "limit": 0}, "here: Expected `int` >= 1 - at `$.limit`"),
        ({"topic": "a", "parts": {"x\n": 7}}, "here: a value of parts must be a table, not a whole number"),
    ],
)
def test_an_error_names_the_place_the_key_and_what_to_write(table: dict[str, object], problem: str):
    with pytest.raises(ConfigError) as caught:
        struct_of(_Table, table, "here")
    assert str(caught.value).startswith(problem)


def test_a_table_without_an_error_is_the_struct():
    assert struct_of(_Table, {"topic": "a", "from": "b", "limit": 2}, "") == _Table(
        topic="a", begin="b", limit=2
    )
