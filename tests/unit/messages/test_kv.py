"""Headers of the KV configuration."""

import pytest

from namekeeper.errors import RequestError
from namekeeper.messages.fields import decode_header, encode_header
from namekeeper.messages.kv import (
    DeleteKVConfigRequestHeader,
    GetKVConfigRequestHeader,
    GetKVConfigResponseHeader,
    GetKVListByNamespaceRequestHeader,
    PutKVConfigRequestHeader,
)


@pytest.mark.parametrize(
    "header_type", [PutKVConfigRequestHeader, GetKVConfigRequestHeader, DeleteKVConfigRequestHeader]
)
@pytest.mark.parametrize("name", ["namespace", "key"])
def test_an_entry_is_named_by_namespace_and_key(header_type, name):
    fields = {"namespace": "n", "key": "k"}
    assert encode_header(decode_header(header_type, fields)) == fields
    with pytest.raises(RequestError, match=f"the field {name} is missing"):
        decode_header(header_type, {key: value for key, value in fields.items() if key != name})


@pytest.mark.parametrize("value", [None, "", "v"])
def test_a_value_may_be_missing_or_empty_and_the_two_differ(value):
    fields = {"namespace": "n", "key": "k"} | ({} if value is None else {"value": value})
    assert decode_header(PutKVConfigRequestHeader, fields).value == value
    expected = {} if value is None else {"value": value}
    assert encode_header(GetKVConfigResponseHeader(value)) == expected


def test_a_list_needs_a_namespace():
    assert decode_header(GetKVListByNamespaceRequestHeader, {"namespace": "n"}).namespace == "n"
    with pytest.raises(RequestError, match="the field namespace is missing"):
        decode_header(GetKVListByNamespaceRequestHeader, None)
