"""The KV table answers, changes and is written as Java's does."""

import contextlib

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from namekeeper.errors import ConfigError, RequestError
from namekeeper.kvconfig import store as module
from namekeeper.kvconfig.store import KvConfigStore
from namekeeper.route.events import KvChanged
from namekeeper.wire import fastjson


def filled() -> KvConfigStore:
    return KvConfigStore({"ns": {"k": "v"}, "empty": {}})


def refusal(call) -> tuple[int, str]:
    with pytest.raises(RequestError) as raised:
        call()
    return raised.value.code, raised.value.remark


def test_what_is_put_is_read_and_listed():
    store = KvConfigStore()
    assert store.put("ns", "k", "v") == (KvChanged("ns", "k", "v"),)
    assert store.get("ns", "k") == store.find("ns", "k") == "v"
    assert store.list_by_namespace("ns") == {"k": "v"}
    assert list(store.entries()) == [KvChanged("ns", "k", "v")]


def test_an_entry_is_overwritten_and_deleted():
    store = filled()
    assert store.put("ns", "k", "w") == (KvChanged("ns", "k", "w"),)
    assert store.delete("ns", "k") == (KvChanged("ns", "k", None),)
    assert store.find("ns", "k") is None


def test_what_changes_nothing_is_no_event():
    store = filled()
    assert store.put("ns", "k", "v") == ()
    assert store.put("empty", "k", None) == ()
    assert store.delete("ns", "other") == ()
    assert store.delete("nowhere", "k") == ()


def test_an_entry_put_without_a_value_reads_back_as_not_found():
    store = filled()
    assert store.put("ns", "k", None) == (KvChanged("ns", "k", None),)
    assert store.put("new", "k", None) == ()
    assert store.list_by_namespace("new") == {}
    assert refusal(lambda: store.get("ns", "k"))[0] == 22


def test_a_missing_entry_is_answered_in_javas_words():
    assert refusal(lambda: filled().get("ns", "x")) == (22, "No config item, Namespace: ns Key: x")
    assert refusal(lambda: filled().get("no", "k")) == (22, "No config item, Namespace: no Key: k")


def test_an_emptied_namespace_stays_and_an_unknown_one_is_not_found():
    store = filled()
    store.delete("ns", "k")
    assert store.list_by_namespace("ns") == {}
    assert store.list_by_namespace("empty") == {}
    assert refusal(lambda: store.list_by_namespace("no")) == (22, "No config item, Namespace: no")


def test_the_store_does_not_share_the_table_it_was_made_of():
    table = {"ns": {"k": "v"}}
    KvConfigStore(table).delete("ns", "k")
    assert table == {"ns": {"k": "v"}}


def test_peers_can_not_fill_it_without_end(monkeypatch):
    monkeypatch.setattr(module, "KV_BYTES_LIMIT", 20)
    store = KvConfigStore({"ns": {"k": "v"}})
    store.put("ns", "k", "0123456789")
    code, remark = refusal(lambda: store.put("ns", "k", "0123456789ab"))
    assert (code, remark) == (1, "the KV configuration is full: 20 bytes")
    assert refusal(lambda: store.put("namespace", "k", None))[0] == 1
    assert store.get("ns", "k") == "0123456789"
    store.delete("ns", "k")
    store.put("ns", "key", "0123456789ab")


@pytest.mark.parametrize("text", ["\x01", "\U0001f600", '"', "\\", "主", "v"])
def test_it_is_as_full_as_its_file(monkeypatch, text):
    """Sixteen million control characters held everybody up for half a second at each change."""
    monkeypatch.setattr(module, "KV_BYTES_LIMIT", 1_000)
    store = KvConfigStore()
    count = 0
    with contextlib.suppress(RequestError):
        while True:
            store.put("ns", f"k{count}", 10 * text)
            count += 1
    empty = len(KvConfigStore({"ns": {}}).to_text()) + count * len('"":"",')
    assert 900 < len(store.to_text()) - empty <= 1_000
    for number in range(count):
        store.delete("ns", f"k{number}")
    for number in range(count):
        store.put("ns", f"k{number}", 10 * text)


def test_the_file_is_the_one_line_that_java_writes():
    store = KvConfigStore({"ORDER_TOPIC_CONFIG": {"T1": "broker-a:4;broker-b:4"}, "ns": {}})
    assert store.to_text() == b'{"configTable":{"ORDER_TOPIC_CONFIG":{"T1":"broker-a:4;broker-b:4"},"ns":{}}}'


@given(st.dictionaries(st.text(), st.dictionaries(st.text(), st.text(), max_size=3), max_size=3))
def test_what_is_written_is_read_again(table):
    store = KvConfigStore.from_text(KvConfigStore(table).to_text())
    assert {namespace: dict(store.list_by_namespace(namespace)) for namespace in table} == table


@pytest.mark.parametrize("data", [b"", b" \n", b'{"configTable":{}}', b'{"configTable":{},"other":[1]}'])
def test_an_empty_file_is_an_empty_store(data):
    assert KvConfigStore.from_text(data).to_text() == b'{"configTable":{}}'


def test_nulls_in_the_file_are_no_entries():
    store = KvConfigStore.from_text(b'{"configTable":{"a":null,"b":{"k":null,"l":"v"}}}')
    assert store.to_text() == b'{"configTable":{"a":{},"b":{"l":"v"}}}'


@pytest.mark.parametrize(
    ("data", "position"),
    [
        (b"{", "truncated"),
        (b"{}", "configTable"),
        (b'{"configTable":{"ns":{"k":"v}}}', "truncated"),
        (b'{"configTable":{"ns":[]}}', r"\$\.configTable"),
        (b'{"configtable":{}}', "configTable"),
        (b'{"configTable":{"a":{"b":"\xff"}}}', "utf-8"),
        (b"\xff\xfe", "byte 0"),
    ],
)
@pytest.mark.parametrize("lenient", [None, fastjson.decode])
def test_a_file_that_can_not_be_read_is_an_error_that_names_the_position(data, position, lenient):
    if lenient is not None and data == b'{"configtable":{}}':
        return  # Java 5.3 and older read these; see wire/fastjson.py
    with pytest.raises(ConfigError, match=position):
        KvConfigStore.from_text(data, lenient=lenient)


def test_the_dialect_of_older_releases_is_read():
    store = KvConfigStore.from_text(b"{configTable:{'ns':{k:'v',1:2},}}", lenient=fastjson.decode)
    assert msgspec.json.decode(store.to_text()) == {"configTable": {"ns": {"k": "v", "1": "2"}}}


def test_entries_and_namespaces_have_a_limit_and_what_is_there_may_change():
    store = filled()
    store.entries_limit = 4
    assert store.put("ns", "k2", "v")
    full = (1, "the KV configuration is full: 4 entries (kvEntriesLimit)")
    assert refusal(lambda: store.put("ns", "k3", "v")) == full
    assert refusal(lambda: store.put("new", "k", None)) == full
    assert refusal(lambda: store.put("new", "k", "v")) == full
    assert store.put("ns", "k", "w")
    assert store.delete("ns", "k")
    assert store.put("empty", "k", "v")
    assert refusal(lambda: store.put("ns", "k", "v")) == full
    store.entries_limit = 0
    assert store.put("ns", "k", "v")


NAMES = st.sampled_from(["a", "b", "\x01", "主"])
CHANGES = st.lists(st.tuples(NAMES, NAMES, st.sampled_from([None, "", "v", '"w"'])), max_size=12)


@given(st.dictionaries(NAMES, st.dictionaries(NAMES, NAMES, max_size=3), max_size=3), CHANGES)
def test_after_any_changes_it_counts_the_entries_and_the_bytes_of_its_file(table, changes):
    store = KvConfigStore(table)
    for namespace, key, value in changes:
        store.put(namespace, key, value)
    spaces, filled_ones = len(store.table), sum(map(bool, store.table.values()))
    number = sum(map(len, store.table.values()))
    assert (len(store), store._count) == (number, number + spaces)
    punctuation = (
        len('{"configTable":{}}') + 5 * (spaces + number) + max(0, spaces - 1) + number - filled_ones
    )
    assert store._bytes == len(store.to_text()) - punctuation


@given(*2 * [st.dictionaries(NAMES, st.dictionaries(NAMES, NAMES, max_size=3), max_size=3)])
def test_another_table_is_told_by_its_differences_with_what_is_gone_first(table, other):
    store = KvConfigStore(table)
    events = store.become(other)
    assert store.table == other
    before = {(event.namespace, event.key): event.value for event in KvConfigStore(table).entries()}
    after = {(event.namespace, event.key): event.value for event in KvConfigStore(other).entries()}
    gone = [(*key, None) for key in before if key not in after]
    changed = [(*key, value) for key, value in after.items() if before.get(key) != value]
    assert [(event.namespace, event.key, event.value) for event in events] == [*gone, *changed]


def test_a_list_is_sorted_by_key_also_after_a_new_entry():
    store = KvConfigStore({"ns": {"c": "1", "b": "2"}})
    assert list(store.list_by_namespace("ns")) == ["b", "c"]
    store.put("ns", "a", "3")
    assert list(store.list_by_namespace("ns")) == ["a", "b", "c"]


def test_nothing_is_found_in_a_namespace_that_is_not_there():
    assert filled().find("nowhere", "k") is None


def test_a_limit_of_one_entry_is_a_limit():
    store = KvConfigStore()
    store.entries_limit = 1
    assert store.put("ns", "k", "v")
    assert refusal(lambda: store.put("ns", "l", "v"))[0] == 1


@pytest.mark.parametrize(("longer", "is_full"), [("", False), ("x", True)])
def test_room_is_for_the_namespace_the_key_and_the_value_and_the_last_byte_is_used(
    monkeypatch, longer, is_full
):
    monkeypatch.setattr(module, "KV_BYTES_LIMIT", len("namespace" + "a key" + "value"))
    store = KvConfigStore()
    if is_full:
        assert refusal(lambda: store.put("namespace", "a key", "value" + longer))[0] == 1
        assert refusal(lambda: store.put("namespace", "a key" + longer, "value"))[0] == 1
        assert refusal(lambda: store.put("namespace" + longer, "a key", "value"))[0] == 1
    else:
        assert store.put("namespace", "a key", "value")
