"""The file of the expected state: it reads as it was written, and an error is one line with its place."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from namekeeper.errors import ConfigError
from namekeeper.expected import state_file
from namekeeper.expected.state import ExpectedCluster, ExpectedQueues, ExpectedState
from namekeeper.expected.state_file import expected_text, parse_expected, read_expected
from tests.unit.expected.seeds import HOSTILE, fleet, learned

FILE = """
since = "2026-01-31T03:12:00Z"
[[cluster]]
name = "c"
name_servers = ["ns-1", "ns-2"]
[cluster.brokers]
"broker-a" = [0, 1]
"broker-b" = [0]
[cluster.topics]
"orders" = { read = 8, write = 4, perm = "RW-" }
"payments" = [{ read = 1, write = 1, perm = "R--", on = ["broker-a"] }, { read = 2, write = 2, perm = 14, on = ["broker-b"] }]
[cluster.orders]
"orders" = "broker-a:8"
"""


def test_a_file_is_read():
    state = parse_expected(FILE, source="f.toml")
    both = ExpectedQueues(8, 4, 6)
    assert state == ExpectedState(
        1_769_829_120_000,
        (
            ExpectedCluster(
                name="c", name_servers=("ns-1", "ns-2"),
                brokers={"broker-a": frozenset({0, 1}), "broker-b": frozenset({0})},
                topics={
                    "orders": {"broker-a": both, "broker-b": both},
                    "payments": {"broker-a": ExpectedQueues(1, 1, 4), "broker-b": ExpectedQueues(2, 2, 14)},
                },
                orders={"orders": "broker-a:8"},
            ),
        ),
    )  # fmt: skip


def test_a_learned_state_reads_as_it_was_written():
    state = learned(fleet())
    assert parse_expected(expected_text(state), source="f") == state
    assert parse_expected(expected_text(parse_expected(FILE, source="f")), source="f").clusters == (
        parse_expected(FILE, source="f").clusters
    )


@pytest.mark.parametrize(
    "name",
    [
        HOSTILE,
        "a" * 300,
        "",
        " ",
        "é中😀",
        "\u202e",
        "\x00\x7f",
        "'''",
        '"""',
        "a\\",
        "[[cluster]]",
        ".".join("a" * 90),
        "# x",
    ],
)
def test_a_hostile_name_stays_data(name):
    queues = {name: {"b" + name: ExpectedQueues(1, 1, 6)}}
    cluster = ExpectedCluster(
        name=name, name_servers=("ns", "n" + name), brokers={"b" + name: frozenset({0})}, topics=queues,
        orders={name: name}, writable={name: 3},
    )  # fmt: skip
    state = ExpectedState(5, (cluster,))
    text = expected_text(state)
    assert parse_expected(text, source="f") == state
    assert all(each.isprintable() for each in text.split("\n"))


@given(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=80),
    st.integers(0, 2**63 - 1),
    st.integers(0, 1_000),
)
def test_any_name_and_number_reads_as_it_was_written(name, count, perm):
    queues = ExpectedQueues(count, count, perm)
    cluster = ExpectedCluster(
        name=name, name_servers=(name,), brokers={name: frozenset({count}), "b": frozenset({0})},
        topics={name: {name: queues}, f"{name}-": {name: queues, "b": ExpectedQueues(1, 2, 6)}}, orders={name: name},
    )  # fmt: skip
    state = ExpectedState(0, (cluster,))
    assert parse_expected(expected_text(state), source="f") == state


def test_a_name_that_toml_can_not_hold_is_refused():
    cluster = ExpectedCluster(name="\ud800", name_servers=("ns",), brokers={})
    with pytest.raises(ConfigError, match=re.escape("U+D800")):
        expected_text(ExpectedState(0, (cluster,)))


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ('"2026-01-31T03:12:00Z"', "5", 'since must be a time such as "2026-01-31T03:12:00Z"'),
        (
            '"2026-01-31T03:12:00Z"', "2026-01-31T03:12:00Z",
            ', in quotes: since = "2026-01-31T03:12:00+00:00"',
        ),
        ('"2026-01-31T03:12:00Z"', '"soon"', "since must be a time"),
        ("since =", "sinc = 1\nsince =", "unknown key 'sinc': did you mean since?"),
        ("[[cluster]]", "[[clusters]]", "unknown key 'clusters': did you mean cluster?"),
        ('name = "c"', "", 'cluster number 1 has no name: name = "DefaultCluster"'),
        ('name = "c"', 'name = "c"\nbroker = 1', "cluster 'c': unknown key 'broker': did you mean brokers?"),
        ('["ns-1", "ns-2"]', '"ns-1"', """cluster 'c': name_servers = ["10.0.0.1_9876"]: it must be a list"""),
        ('["ns-1", "ns-2"]', "[]", "it must be a list of names, and at least one"),
        ('["ns-1", "ns-2"]', '["ns-1", "ns-1"]', "it names 'ns-1' twice"),
        ('["ns-1", "ns-2"]', '["ns-1"]\nallow_other_topics = "no"', "allow_other_topics can't be 'no': write true or false"),
        ("[0, 1]", "[]", "cluster 'c': brokers: 'broker-a' must be a list of the ids of its members: [0, 1]"),
        ("[0, 1]", "[true]", "must be a list of the ids"),
        ("[0, 1]", "0", "must be a list of the ids"),
        ("read = 8, write = 4", "read = 8", "cluster 'c': topic 'orders': write must be a number of queues: write = 8"),
        ("read = 8", "read = -1", "read must be a number of queues"),
        ("read = 8", "reads = 8", "topic 'orders': unknown key 'reads': did you mean read?"),
        ('"RW-"', '"W"', """topic 'orders': perm must be one of ---, --X, -W-"""),
        ('on = ["broker-b"]', 'on = ["broker-c"]', "on: 'broker-c' is not among the brokers of its cluster: did you mean broker-"),
        ('on = ["broker-b"]', 'on = ["broker-a"]', "topic 'payments' has two rows on 'broker-a': leave one out"),
        ('{ read = 8, write = 4, perm = "RW-" }', "8", "topic 'orders' must be { read = 8"),
        ('"orders" = "broker', '"order" = "broker', "orders: 'order' is not among its topics: did you mean orders?"),
        ('"broker-a:8"', "8", "orders: 'orders' must be a text"),
        ('name = "c"', 'name = "c"\nwritable = 3', "writable must be a table [cluster.writable] with lines such as"),
        ("[cluster.orders]", '[cluster.writable]\n"orders" = 0\n[cluster.orders]', "writable: 'orders' must be the least number"),
        ("[cluster.orders]", "[cluster", "is not TOML"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_line_with_its_place_and_what_to_do(old, new, reason):
    assert old in FILE
    with pytest.raises(ConfigError) as caught:
        parse_expected(FILE.replace(old, new, 1), source="f.toml")
    message = str(caught.value)
    assert reason in message
    assert message.startswith("f.toml")
    assert "\n" not in message


def test_a_name_server_has_a_broker_in_one_cluster():
    other = FILE.partition("[[cluster]]")[2].replace('name = "c"', 'name = "d"')
    with pytest.raises(
        ConfigError, match="broker 'broker-a' of name server 'ns-1' is in two clusters: leave one out"
    ):
        parse_expected(f"{FILE}[[cluster]]{other}", source="f.toml")
    with pytest.raises(ConfigError, match="cluster 'c' of name server 'ns-1' is in two clusters"):
        parse_expected(f"{FILE}[[cluster]]{FILE.partition('[[cluster]]')[2]}", source="f.toml")
    apart = other.replace('"ns-1", "ns-2"', '"ns-3"')
    assert len(parse_expected(f"{FILE}[[cluster]]{apart}", source="f.toml").clusters) == 2


def test_a_file_that_is_not_there_is_one_line(tmp_path):
    with pytest.raises(ConfigError, match="does not exist"):
        read_expected(str(tmp_path / "none.toml"))


def test_a_long_list_with_a_name_twice_is_read_once():
    """Each name was counted in the whole list: an hour for a list of a megabyte."""
    names = ", ".join(f'"{number}"' for number in [*range(40_000), 39_999])
    text = f'since = "2026-01-31T03:12:00Z"\n[[cluster]]\nname = "c"\nname_servers = [{names}]\n'
    with pytest.raises(ConfigError, match="it names '39999' twice"):
        parse_expected(text, source="f.toml")


def test_rows_of_topics_have_a_limit(monkeypatch):
    monkeypatch.setattr(state_file, "ROWS_LIMIT", 3)
    with pytest.raises(ConfigError, match="its topics have more than 3 rows"):
        parse_expected(FILE, source="f.toml")
