"""No bit of a manifest or a ledger can be altered unnoticed."""

import json

import pytest

from namekeeper.pipeline.errors import WarehouseError
from namekeeper.pipeline.ingest.ledger import Ledger, LoadedBoot
from namekeeper.pipeline.store import checked_json
from namekeeper.pipeline.store.checked_json import decode_checked, encode_checked
from namekeeper.pipeline.store.manifest import Catalog, DataFile, Manifest

MANIFEST = Manifest(3, 7, "UTC", "ledger/x.json", {"events": (DataFile("tables/events/1", 5),)})
LEDGER = Ledger({("ns", "0a1b2c3d", 5): LoadedBoot(((1, 5),))}, refused=frozenset([("ns", "ffffffff")]))


def test_what_was_written_is_read():
    members = {"a": [1, 2], "b": "\u00e9"}
    assert decode_checked(encode_checked(members)) == members
    assert json.loads(encode_checked(members))["a"] == [1, 2]
    assert decode_checked(b'{"a":1}\n') == {"a": 1}, "of the first pipelines"


@pytest.mark.parametrize(
    ("data", "read"),
    [
        (MANIFEST.to_json(), lambda data: Manifest.from_json(data, "here")),
        (
            MANIFEST._replace(catalog=Catalog("delta", "nk.x", "m", {"kv": 3})).to_json(),
            lambda data: Manifest.from_json(data, "here"),
        ),
        (LEDGER.to_json(), Ledger.from_json),
    ],
    ids=["manifest", "manifest of a catalog", "ledger"],
)
def test_each_altered_bit_of_a_file_is_told(data, read):
    whole = read(data)
    for bit in range(len(data) * 8):
        altered = bytearray(data)
        altered[bit // 8] ^= 1 << bit % 8
        try:
            assert read(bytes(altered)) == whole, altered
        except WarehouseError:
            continue
        assert altered[-1:] in b"\t\r ", "white space behind the object says nothing"


def test_what_is_nested_too_deeply_is_damaged():
    data = b"[" * 200_000
    with pytest.raises(ValueError, match="nested too deeply"):
        decode_checked(data)
    with pytest.raises(WarehouseError, match="is damaged"):
        Manifest.from_json(data, "manifests/1.json")
    with pytest.raises(WarehouseError, match="the ledger is damaged"):
        Ledger.from_json(data)


@pytest.mark.parametrize("data", [b'[[],[],{"a":[]}]', b"[1,2,3,4,5]"], ids=["lists and objects", "commas"])
def test_a_file_with_more_values_than_a_warehouse_has_is_damaged_before_it_is_parsed(monkeypatch, data):
    """80 million empty lists in 240 MB took 6 GB."""
    monkeypatch.setattr(checked_json, "CONTAINERS_LIMIT", 4)
    monkeypatch.setattr(checked_json, "COMMAS_LIMIT", 3)
    monkeypatch.delattr(checked_json, "json")
    with pytest.raises(ValueError, match="too many values"):
        decode_checked(data)
