from typing import Any

import msgspec
import pytest

from namekeeper.model.mapping import TopicQueueMappingInfo
from namekeeper.wire.coercion import coerce, scalar_text


class Inner(msgspec.Struct):
    name: str = "-"
    size: int = 16
    share: float = 0.5
    on: bool = True


class Outer(msgspec.Struct):
    inner: Inner = msgspec.field(default_factory=Inner)
    maybe: Inner | None = None
    zone: str | None = "default"
    names: list[str] = []
    pairs: tuple[str, ...] = ()
    table: dict[str, str] = {}
    counts: dict[int, int] = {}
    either: int | str = 0
    anything: Any = 0
    raw: msgspec.Raw = msgspec.Raw(b"")


def convert(value: object, as_type: type = Outer) -> Any:
    return msgspec.convert(coerce(value, as_type), as_type, strict=False)


def test_numbers_become_strings():
    assert convert(
        {"table": {"a": 1, "b": True, "c": 1.5}, "names": [1], "pairs": [False], "zone": 7}
    ) == Outer(table={"a": "1", "b": "true", "c": "1.5"}, names=["1"], pairs=("false",), zone="7")


def test_strings_become_numbers():
    assert convert({"size": "4", "share": "0.25", "on": "false"}, Inner) == Inner(
        size=4, share=0.25, on=False
    )
    assert convert({"currIdMap": {"0": "1"}, "bname": "b"}, TopicQueueMappingInfo).curr_id_map == {0: 1}


def test_null_and_nothing_leave_the_default():
    assert convert({"name": None, "size": None, "share": "", "on": ""}, Inner) == Inner()
    assert convert({"inner": None, "names": None, "table": {"a": None}, "counts": {"1": None}}) == Outer()
    assert convert({"names": [None, "a"], "inner": {"size": None}}).names == ["a"]


def test_null_stays_where_it_is_allowed():
    assert convert({"zone": None, "maybe": None, "anything": None}) == Outer(zone=None, anything=None)


def test_a_struct_that_may_be_missing_is_fitted_too():
    assert convert({"maybe": {"name": 5}}).maybe == Inner(name="5")


def test_unknown_members_are_dropped():
    assert convert({"nonsense": object(), "size": 3}, Inner) == Inner(size=3)


def test_other_unions_are_left_alone():
    assert convert({"either": 5}).either == 5
    assert convert({"either": "x"}).either == "x"


def test_raw_members_are_written_out():
    assert bytes(convert({"raw": {"0": [1]}}).raw) == b'{"0":[1]}'


@pytest.mark.parametrize("value", [5, "x", [], None, {"inner": 5}, {"names": {}}, {"table": []}])
def test_what_does_not_fit_is_left_to_msgspec(value):
    with pytest.raises(msgspec.ValidationError):
        convert(value)


def test_scalars_have_java_s_text():
    assert [scalar_text(value) for value in (True, False, 4, 1.5, "x", None, [])] == [
        "true",
        "false",
        "4",
        "1.5",
        "x",
        None,
        [],
    ]
