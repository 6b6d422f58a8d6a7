import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from namekeeper.model.broker import BrokerData
from namekeeper.model.mapping import TopicQueueMappingInfo
from namekeeper.wire import fastjson
from namekeeper.wire.fastjson import (
    DialectError,
    decode,
    decode_in_slices,
    loads,
    quote_bare_keys,
    resolve_refs,
)
from tests.support.wire.legacy_json import dumps_legacy
from tests.wire_samples import load

MAPPING = (
    b'{"bname":"broker-a","currIdMap":{0:0,1:1},"dirty":false,"epoch":1700000000002,"scope":"__global__",'
    b'"topic":"StaticT","totalQueues":4}'
)
DECODED = TopicQueueMappingInfo("broker-a", {0: 0, 1: 1}, False, 1700000000002, "__global__", "StaticT", 4)

texts = st.text() | st.text(alphabet='{,0-1:"\\ }')
documents = st.recursive(
    st.booleans() | st.integers(-(2**63), 2**63 - 1) | texts,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(texts, inner, max_size=4)
        | st.dictionaries(st.integers(-(2**63), 2**63 - 1), inner, max_size=4)
    ),
    max_leaves=20,
)


def with_text_keys(value: object) -> object:
    return json.loads(json.dumps(value))


@given(documents)
def test_what_is_written_the_legacy_way_is_read(document):
    assert loads(dumps_legacy(document), lenient=False) == with_text_keys(document)


@given(documents)
def test_quoting_bare_keys_makes_standard_json(document):
    assert json.loads(quote_bare_keys(dumps_legacy(document))) == with_text_keys(document)


@given(documents)
def test_standard_json_has_no_bare_keys(document):
    standard = msgspec.json.encode(with_text_keys(document))
    assert quote_bare_keys(standard) == standard


@pytest.mark.parametrize(
    ("bare", "quoted"),
    [
        (b"{0:1}", b'{"0":1}'),
        (b"{ -12 :{3:4} , 5 : 6}", b'{ "-12" :{"3":4} , "5" : 6}'),
        (b'{"a":"{0:1,2:3","b":{1:"x"}}', b'{"a":"{0:1,2:3","b":{"1":"x"}}'),
        (b'["\\"{0:",{0:"\\\\"},"\\\\\\",1:",{1:2}]', b'["\\"{0:",{"0":"\\\\"},"\\\\\\",1:",{"1":2}]'),
        (b"[1,2,3]", b"[1,2,3]"),
    ],
)
def test_bare_keys_are_quoted_outside_strings_alone(bare, quoted):
    assert quote_bare_keys(bare) == quoted


@given(documents)
def test_bare_keys_are_the_same_however_the_search_is_cut(document):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fastjson, "_SLICE_BYTES", 1)
        assert json.loads(quote_bare_keys(dumps_legacy(document))) == with_text_keys(document)


def test_a_large_body_with_bare_keys_is_read_in_slices():
    body = b'{"a":["%b"],"b":{1:2}}' % b",".join([b"{0:x"] * 200_000)
    slices = decode_in_slices(body, dict[str, object])
    more = object()
    assert sum(1 for _ in iter(lambda: next(slices, more), more)) >= len(body) // fastjson._SLICE_BYTES - 1


@pytest.mark.parametrize("filler", [b"x", b'"x', b":x", b"0x"], ids=["text", "strings", "colons", "digits"])
def test_a_large_body_without_any_key_is_searched_in_slices(filler):
    body = b"{1:" + filler * 2_000_000
    slices = decode_in_slices(body, dict[str, object])
    more = object()
    for _ in range(len(body) // fastjson._SLICE_BYTES - 1):
        assert next(slices, more) is None
    with pytest.raises(DialectError):
        list(slices)


@pytest.mark.parametrize("filler", [b" ", b"1", b"\\"], ids=["blanks", "digits", "backslashes"])
def test_a_key_is_no_longer_than_a_slice(filler):
    beyond = b"{" + filler * (fastjson._SLICE_BYTES + fastjson._KEY_BYTES) + b"1:1}"
    with pytest.raises(DialectError, match="without a letter or bracket"):
        decode(beyond, dict[str, object])
    within = b"{" + b" " * fastjson._SLICE_BYTES + b"1:1}"
    assert decode(within, dict[str, int]) == {"1": 1}


def test_standard_json_is_read_in_one_slice():
    with pytest.raises(StopIteration) as end:
        next(decode_in_slices(b'{"a":1}', dict[str, int]))
    assert end.value.value == {"a": 1}


@pytest.mark.parametrize(
    ("body", "as_type"),
    [(b'{"a":"\xff%b"}', dict[str, str]), (b'{"a":1,"b":"%b"}', dict[str, str])],
    ids=["not UTF-8", "values of other types"],
)
def test_large_bodies_are_read_strictly_but_for_bare_keys(body, as_type):
    assert len(decode(body % b"small", as_type)) > 0
    with pytest.raises(DialectError, match=r"not UTF-8|values of other types"):
        decode(body % (b"x" * fastjson.MAX_COERCED_BYTES), as_type)


def test_bare_keys_have_a_limit(monkeypatch):
    monkeypatch.setattr(fastjson, "MAX_BARE_KEYS", 3)
    assert quote_bare_keys(b"{1:1,2:2,3:3}") == b'{"1":1,"2":2,"3":3}'
    for read in (quote_bare_keys, loads, lambda data: decode(data, dict[int, int])):
        with pytest.raises(DialectError, match="more than 3 bare numeric keys"):
            read(b"{1:1,2:2,3:3,4:4}")


@pytest.mark.parametrize(
    "body",
    [
        MAPPING,
        quote_bare_keys(MAPPING),
        MAPPING.replace(b":4}", b':"4","unknown":{0:{}}}'),
        MAPPING.replace(b'"', b"'"),
        MAPPING.replace(b'"epoch"', b"/* ms */epoch").replace(b":4}", b":4,}"),
        MAPPING.replace(b'"dirty":false', b'"dirty":null'),
        quote_bare_keys(MAPPING).replace(b'"dirty":false', b'"dirty":null'),
    ],
)
def test_a_body_of_any_dialect_has_its_type(body):
    assert decode(body, TopicQueueMappingInfo) == DECODED


def test_numbers_in_place_of_strings():
    assert decode(MAPPING.replace(b'"StaticT"', b"7"), TopicQueueMappingInfo).topic == "7"


def test_a_body_that_is_not_utf_8_is_read_with_replacements():
    body = MAPPING.replace(b"StaticT", b"\xff")
    assert decode(body, TopicQueueMappingInfo).topic == "\ufffd"
    assert loads(body)["topic"] == "\ufffd"


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (b"", "expected a value"),
        (b"null", "Expected `object`, got `null`"),
        (b'{"bname":{}}', "Expected `str`, got `object` - at `\\$.bname`"),
        (b"{'bname':[]}", "Expected `str`, got `array` - at `\\$.bname`"),
        (b"{}", "missing required field `bname`"),
        (MAPPING + b"x", "text after the document"),
        (b"{" * 100_000, "not JSON"),
        (b"{a:" * 1000, "nested more than"),
        (b'{"bname":' + b"[" * 100_000, "not JSON"),
    ],
)
def test_what_is_not_json_of_that_type_is_a_dialect_error(body, problem):
    with pytest.raises(DialectError, match=problem):
        decode(body, TopicQueueMappingInfo)


def test_a_dialect_error_is_a_value_error():
    assert issubclass(DialectError, ValueError)


def test_raw_members_too_deep_to_write_are_a_dialect_error(monkeypatch):
    class WithRaw(msgspec.Struct):
        number: int
        raw: msgspec.Raw

    def too_deep(*_):
        raise RecursionError("too deep")

    monkeypatch.setattr(fastjson, "coerce", too_deep)
    with pytest.raises(DialectError, match="too deep"):
        decode(b'{"number":null,"raw":[]}', WithRaw)


def test_only_small_bodies_are_read_leniently():
    spelled = b"{'a':'%b'}"
    assert loads(spelled % b"small") == {"a": "small"}
    with pytest.raises(DialectError, match="too large to read leniently"):
        loads(spelled % (b"x" * fastjson.MAX_LENIENT_BYTES))


def test_without_lenience_only_bare_keys_are_forgiven():
    assert loads(b"{0:1}", lenient=False) == {"0": 1}
    with pytest.raises(DialectError, match="not JSON"):
        loads(b"{'0':1}", lenient=False)


def test_legacy_json_byte_for_byte():
    broker = BrokerData("C", "b", {0: "10.0.0.1:10911", 1: "10.0.0.2:10911"})
    assert dumps_legacy(
        {"brokerDatas": [broker], "orderTopicConf": None, "filterServerTable": {}, "3": ("/", True)}
    ) == (
        b'{"brokerDatas":[{"cluster":"C","brokerName":"b","brokerAddrs":{0:"10.0.0.1:10911",1:"10.0.0.2:10911"},'
        b'"enableActingMaster":false}],"filterServerTable":{},"3":["/",true]}'
    )
    assert dumps_legacy("\x01\x1f\b\f\n\r\t\"\\/'<\x7f\u2028é\U0001f600") == (
        '"\\u0001\\u001f\\b\\f\\n\\r\\t\\"\\\\/\'<\x7f\u2028é\U0001f600"'.encode()
    )


def test_the_body_of_a_4_8_server_is_written_alike():
    body = load("v04_route_response_legacy")[8 + 95 :]
    document = loads(body)
    (broker,) = document["brokerDatas"]
    broker["brokerAddrs"] = {int(key): addr for key, addr in broker["brokerAddrs"].items()}
    assert dumps_legacy(document) == body


def test_references_to_flat_objects_are_resolved():
    document = loads(
        b'{"t":{"a-b.c":{"x":{"k":"v"}},"c":{"x":{"$ref":"$.t.a\\\\-b\\\\.c.x"}}},"l":[{"p":1},{"$ref":"$.l[0]"}]}'
    )
    assert resolve_refs(document) == {
        "t": {"a-b.c": {"x": {"k": "v"}}, "c": {"x": {"k": "v"}}},
        "l": [{"p": 1}, {"p": 1}],
    }


@pytest.mark.parametrize(
    "path",
    [
        "$",
        "$.a",
        "$.nothing",
        "$.l[9]",
        "$.l.x",
        "$.a[0]",
        "..",
        "@",
        "",
        "$x",
        "$.b.x",
        "$.flat.k",
        "$.self",
        "$.l[0]",
    ],
)
def test_other_references_are_empty(path):
    document = {"a": {"deep": {}}, "l": [1], "b": 5, "flat": {"k": "v"}, "self": {"$ref": path}}
    assert resolve_refs(document)["self"] == {}


def test_an_object_that_merely_has_a_ref_is_left_alone():
    assert resolve_refs({"$ref": 5}) == {"$ref": 5}
    assert resolve_refs({"$ref": "$", "more": 1}) == {"$ref": "$", "more": 1}


def test_references_are_not_sought_too_deep():
    with pytest.raises(DialectError, match="nested more than"):
        resolve_refs(json.loads("[" * 70 + "]" * 70))
