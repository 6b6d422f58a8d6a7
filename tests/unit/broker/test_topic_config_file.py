"""`topics.json`: Java's format, what is unknown survives, nothing is lost."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from namekeeper.broker.topic_config_file import StoredTopics, TopicConfigFile, parse_topics, write_topics
from namekeeper.broker.topic_config_manager import TopicConfigManager
from namekeeper.errors import ConfigError
from namekeeper.model.topic import TopicConfig
from namekeeper.model.version import DataVersion

JAVA = b"""{
\t"dataVersion":{
\t\t"counter":2,
\t\t"stateVersion":0,
\t\t"timestamp":1700000000000
\t},
\t"someday":{"a":[1]},
\t"topicConfigTable":{
\t\t"T1":{"attributes":{"message.type":"NORMAL"},"order":true,"perm":6,"readQueueNums":4,
\t\t\t"topicFilterType":"SINGLE_TAG","topicName":"T1","topicSysFlag":1,"writeQueueNums":8,"newer":7},
\t\t"T2":{"attributes":{"$ref":"$.topicConfigTable.T1.attributes"},"topicName":"T2"},
\t\t"T3":{"topicName":"T3","perm":null,"readQueueNums":"3"}
\t}
}"""


def test_java_s_file_is_read():
    stored = parse_topics(JAVA)
    assert stored.data_version == DataVersion(2, 0, 1_700_000_000_000)
    assert stored.configs == (
        TopicConfig("T1", 4, 8, 6, "SINGLE_TAG", 1, True, {"message.type": "NORMAL"}),
        TopicConfig("T2", attributes={"message.type": "NORMAL"}),
        TopicConfig("T3", 3),
    )


def test_what_is_unknown_survives():
    stored = parse_topics(JAVA)
    assert parse_topics(write_topics(stored)) == stored
    written = json.loads(write_topics(stored))
    assert (written["someday"], written["topicConfigTable"]["T1"]["newer"]) == ({"a": [1]}, 7)


names = st.text(min_size=1, max_size=5).filter(lambda name: not any(char.isspace() for char in name))
stored_topics = st.builds(
    StoredTopics,
    data_version=st.builds(DataVersion, *3 * [st.integers(0, 2**53)]),
    configs=st.lists(
        st.builds(
            TopicConfig, names, *3 * [st.integers(0, 2**31 - 1)], order=st.booleans(),
            attributes=st.dictionaries(names, st.text(max_size=3), max_size=2),
        ),
        max_size=4,
        unique_by=lambda config: config.topic_name,
    ).map(tuple),
)  # fmt: skip


@given(stored_topics)
def test_what_is_written_is_read(stored):
    assert parse_topics(write_topics(stored)) == stored


@pytest.mark.parametrize(
    "data",
    [b"{", b"[]", b"\xff\xff", b'{"topicConfigTable":[1]}', b'{"topicConfigTable":{"T":5}}',
     b'{"topicConfigTable":{"T":{"perm":"x"}}}', b'{"dataVersion":{"counter":"x"}}'],
)  # fmt: skip
def test_what_is_none_is_said(data):
    with pytest.raises(ValueError, match=r"."):
        parse_topics(data)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "config" / "topics.json"


@pytest.fixture
def file(path):
    return TopicConfigFile(path)


def beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


ONE = StoredTopics(DataVersion(1), (TopicConfig("T1"),))
TWO = StoredTopics(DataVersion(2), (TopicConfig("T1"), TopicConfig("T2")))


def test_nothing_there_is_nothing_stored(file):
    assert file.load() == StoredTopics()
    assert file.was_broken is None


def test_what_is_saved_is_loaded_and_the_one_before_is_beside_it(file, path):
    file.save(ONE)
    file.save(TWO)
    assert file.load() == TWO
    assert parse_topics(beside(path, ".bak").read_bytes()) == ONE


@pytest.mark.parametrize("content", [None, b""])
def test_without_the_file_its_backup_will_do_as_in_java(file, path, content):
    file.save(ONE)
    file.save(TWO)
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    assert file.load() == ONE


def test_a_corrupt_file_is_kept_and_its_backup_is_used_and_survives(file, path):
    file.save(ONE)
    file.save(TWO)
    path.write_bytes(b"{broken")
    assert file.load() == ONE
    assert file.was_broken
    file.save(TWO)
    assert beside(path, ".corrupt").read_bytes() == b"{broken"
    assert parse_topics(beside(path, ".bak").read_bytes()) == ONE


@pytest.mark.parametrize("backup", [None, b"{also"])
def test_without_any_that_can_be_read_it_says_what_to_do(file, path, backup):
    path.parent.mkdir()
    path.write_bytes(b"{broken")
    if backup is not None:
        beside(path, ".bak").write_bytes(backup)
    with pytest.raises(ConfigError, match="repair the file, or move both away"):
        file.load()
    assert path.read_bytes() == b"{broken"


def test_what_can_not_be_read_or_written_is_named(file, path):
    path.mkdir(parents=True)
    with pytest.raises(ConfigError, match="can't read"):
        file.load()
    with pytest.raises(ConfigError, match="can't write"):
        file.save(ONE)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "{\n\u201cdataVersion\u201d: {}}",
            "line 2: not JSON: expected a key at character 2; these quotes are typographic",
        ),
        ("dataVersion:\n  counter: 2\n", "line 1: not JSON"),
        ("dataVersion:\n  counter: 2\n", "looks like YAML"),
        (
            '{"dataVersion": {"counter": "two"}}',
            'line 1: dataVersion: counter can\'t be "two": write a whole number',
        ),
        ('{\n"dataVersion": 3}', "line 2: dataVersion is no JSON object"),
        ('{\n\n"topicConfigTable": ["T"]}', "line 3: topicConfigTable is no JSON object"),
        ('{"topicConfigTable": {\n"T": 6}}', "line 2: the configuration of topic 'T' is no JSON object"),
        (
            '{"topicConfigTable": {\n"T": {"perm": "RW"}}}',
            "line 2: the configuration of topic 'T': perm can't be \"RW\"",
        ),
        ('{"topicConfigTable": {\n"T": {"order": "x"}}}', 'order can\'t be "x": write true or false'),
        ('{"topicConfigTable": {"T": {"attributes": []}}}', "attributes can't be []: write an object"),
        ('{"topicConfigTable": {"T": {"topicName": [1]}}}', "topicName can't be [1]: write text"),
    ],
)
def test_a_mistake_is_named_with_its_line_and_what_to_write_instead(file, path, text, said):
    path.parent.mkdir()
    path.write_text(text, "utf-8")
    with pytest.raises(ConfigError) as refused:
        file.load()
    assert said in str(refused.value)


TABLE = b'{"topicConfigTable":{"T":{"topicName":"T"}}}'


@pytest.mark.parametrize(
    ("data", "remark"),
    [
        (b"\xef\xbb\xbf" + TABLE, "line 1: it begins with a byte order mark: save it as UTF-8 without one"),
        (TABLE.replace(b'"', b"'"), 'line 1: it has single quotes: write "straight double" ones'),
        (b'{"topics":{}}', "it has no topicConfigTable, so there are no topics"),
        (b'{"TopicConfigTable":{}}', "it has no topicConfigTable, so there are no topics; is TopicConfigTable meant to be it?"),
        (b'{"topicConfigTable":{\n"T":{"topicName":"U"}}}', "line 2: topic 'T' has the topicName 'U', which counts"),
        (b'{"topicConfigTable":{\n"T":{"readQueueNum":4}}}', "line 2: topic 'T': readQueueNum is not read; did you mean readQueueNums?"),
    ],
)  # fmt: skip
async def test_what_is_read_otherwise_than_it_looks_is_one_line(data, remark, path, caplog):
    path.parent.mkdir()
    path.write_bytes(data)
    await TopicConfigManager.open(path)
    assert caplog.messages == [f"{path}: {remark}"]


@pytest.mark.parametrize("data", [b"", b" \n"])
async def test_an_empty_file_says_that_there_are_no_topics(data, path, caplog):
    path.parent.mkdir()
    path.write_bytes(data)
    await TopicConfigManager.open(path)
    assert caplog.messages == [f"{path}: it is empty; there are no topics, and no .bak to take them from"]


@pytest.mark.parametrize("data", [JAVA, b"{}", TABLE])
async def test_a_file_as_a_broker_writes_it_says_nothing(data, path, caplog):
    path.parent.mkdir()
    path.write_bytes(data)
    await TopicConfigManager.open(path)
    assert caplog.messages == []


def test_remarks_have_a_limit():
    many = ",".join(f'"T{number}":{{"readQueueNum":1}}' for number in range(100))
    assert len(parse_topics(f'{{"topicConfigTable":{{{many}}}}}'.encode()).remarks) == 20
