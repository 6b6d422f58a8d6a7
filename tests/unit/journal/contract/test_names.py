"""Names of segments are those of the contract, both ways."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import namekeeper.journal.contract.record as record_module
from namekeeper.journal.contract.names import SegmentName, id_of_host, is_valid_id

CONTRACT = json.loads((Path(str(record_module.__file__)).parent / "v1.json").read_text())
OPEN = SegmentName(namesrv="a-1.b_9876", uuid8="0123abcd", boot=1_700_000_000_000, first_seq=7)


def test_the_names_are_those_of_the_contract():
    assert str(OPEN) == "a-1.b_9876-0123abcd-1700000000000-000000000007.jsonl.open"
    sealed = SegmentName(**{**OPEN_FIELDS, "last_seq": 12, "form": ".gz"})
    assert str(sealed) == "a-1.b_9876-0123abcd-1700000000000-000000000007-000000000012.jsonl.gz"
    pattern = re.compile(CONTRACT["segment"]["pattern"])
    for name in (OPEN, sealed):
        match = pattern.match(str(name))
        assert (match["namesrv"], match["uuid8"], int(match["boot"])) == (name.namesrv, name.uuid8, name.boot)


OPEN_FIELDS = {field: getattr(OPEN, field) for field in OPEN.__struct_fields__}


@given(
    st.from_regex(r"[A-Za-z0-9._]+(?:-[A-Za-z0-9._]+)*", fullmatch=True).filter(lambda text: len(text) < 100),
    st.integers(1, 10**13 - 1), st.integers(1, 10**12 - 1), st.sampled_from([".open", ".gz", ""]),
)  # fmt: skip
def test_what_is_written_is_read_back(namesrv, boot, first, form):
    last = None if form == ".open" else first + 3 if first < 10**12 - 4 else first
    name = SegmentName(
        namesrv=namesrv, uuid8="00ff00ff", boot=boot, first_seq=first, last_seq=last, form=form
    )
    assert SegmentName.parse(str(name)) == name


@pytest.mark.parametrize(
    "text",
    [
        "identity.json", "lock", "quarantine", "",
        "ns-0123abcd-1700000000000-000000000007.jsonl",  # sealed, but how far?
        "ns-0123abcd-1700000000000-000000000007-000000000012.jsonl.open",
        "ns-0123abcd-1700000000000-000000000007-000000000012.jsonl.gz.sealing",
        "ns--0123abcd-1700000000000-000000000007.jsonl.open",
        "../ns-0123abcd-1700000000000-000000000007.jsonl.open",
    ],
)  # fmt: skip
def test_other_names_are_none(text):
    assert SegmentName.parse(text) is None


def test_segments_are_in_order_of_boot_and_place_and_sealed_ones_come_first():
    def name(boot, first, last=None):
        return SegmentName(
            namesrv="n",
            uuid8="0" * 8,
            boot=boot,
            first_seq=first,
            last_seq=last,
            form=".gz" if last else ".open",
        )

    ordered = [name(1, 1, 5), name(1, 6, 9), name(1, 6, 7), name(1, 6), name(2, 1)]
    backwards = ordered[::-1]
    assert sorted(backwards, key=lambda one: one.order) == ordered


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("mq-1.example.com", "mq-1.example.com_9876"), ("-a--b-", "a-b_9876"), ("häl/o", "h_l_o_9876"),
        ("", "namesrv_9876"), ("--", "namesrv_9876"),
    ],
)  # fmt: skip
def test_any_host_gives_an_id(host, expected):
    assert id_of_host(host, 9876) == expected


@given(st.text(max_size=300), st.integers(1, 65_535))
def test_every_id_of_a_host_is_valid(host, port):
    assert is_valid_id(id_of_host(host, port))


@pytest.mark.parametrize("text", ["", "a/b", "-a", "a-", "a--b", "a b", "a" * 121, "é", "a\n"])
def test_an_id_that_could_not_stand_in_a_name_is_not_valid(text):
    assert not is_valid_id(text)
