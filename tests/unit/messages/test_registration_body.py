"""Registration bodies in all their forms."""

import json
import zlib

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from namekeeper.errors import RequestError
from namekeeper.messages import registration_body
from namekeeper.messages.register_broker_body import RegisterBrokerBody, encode_registration_body
from namekeeper.messages.registration_body import decode_registration_body
from namekeeper.model.mapping import TopicQueueMappingInfo
from namekeeper.model.registration import RegistrationBody
from namekeeper.model.topic import QueueSpec, TopicConfig
from namekeeper.model.version import DataVersion
from tests.support.system.errors import assert_no_error
from tests.unit.messages.fuzz_targets import FUZZ_TARGETS
from tests.unit.messages.samples import count_turns, finish, mappings, sample, texts, topic_configs, versions

V4, V5 = 373, 513

VECTOR_TOPICS = {"TopicTest": QueueSpec(4, 4, 6, 0), "TBW102": QueueSpec(8, 8, 7, 0)}
VECTOR_VERSION = DataVersion(counter=3, timestamp=1_700_000_000_000)
VECTOR = RegistrationBody(VECTOR_VERSION, VECTOR_TOPICS, topic_count=2)
STATIC = TopicQueueMappingInfo(
    "broker-a", {0: 0, 1: 1}, epoch=1_700_000_000_002, topic="StaticT", total_queues=4
)

own_bodies = st.builds(
    RegisterBrokerBody,
    data_version=versions,
    topics=st.lists(topic_configs, max_size=5, unique_by=lambda topic: topic.topic_name).map(tuple),
    filter_servers=st.lists(texts, max_size=2).map(tuple),
    mappings=st.lists(mappings, max_size=2, unique_by=lambda mapping: mapping.topic).map(tuple),
)


def decode(
    body: bytes | str, version: int = V5, *, compressed: bool = False, slice_topics: int = 2
) -> RegistrationBody:
    data = body.encode() if isinstance(body, str) else body
    return finish(
        decode_registration_body(data, version=version, compressed=compressed, slice_topics=slice_topics)
    )


def wrapped(wrapper: str) -> str:
    return f'{{"filterServerList":[],"topicConfigSerializeWrapper":{wrapper}}}'


def table(members: str) -> str:
    return wrapped(f'{{"topicConfigTable":{members}}}')


def item(data: bytes) -> bytes:
    return len(data).to_bytes(4) + data


def sections(*topics: bytes, version: bytes = b"{}", filters: bytes = b"[]", tail: bytes = bytes(4)) -> bytes:
    inner = item(version) + len(topics).to_bytes(4) + b"".join(map(item, topics)) + item(filters) + tail
    return zlib.compress(inner)


def expected_of(body: RegisterBrokerBody, *, compressed: bool) -> RegistrationBody:
    return RegistrationBody(
        data_version=body.data_version,
        topics={
            topic.topic_name: QueueSpec(
                topic.read_queue_nums,
                topic.write_queue_nums,
                topic.perm,
                0 if compressed else topic.topic_sys_flag,
            )
            for topic in body.topics
        },
        topic_count=len(body.topics),
        filter_servers=body.filter_servers,
        mappings={mapping.topic: mapping for mapping in body.mappings},
    )


@given(own_bodies, st.booleans(), st.booleans(), st.integers(1, 3))
def test_a_body_survives_either_form(body, compressed, standard, slice_topics):
    encoded = encode_registration_body(body, compressed=compressed, standard=standard)
    decoded = decode(encoded, compressed=compressed, slice_topics=slice_topics)
    assert decoded == expected_of(body, compressed=compressed)


@pytest.mark.parametrize("number", [6, 7])
def test_v6_and_v7_say_the_same(number):
    command = sample(number)
    compressed = command.ext_fields["compressed"] == "true"
    assert decode(command.body, command.version, compressed=compressed) == VECTOR


def test_v8_has_a_static_topic():
    body = decode(sample(8).body, sample(8).version, compressed=True)
    assert body == RegistrationBody(
        VECTOR_VERSION, VECTOR_TOPICS, topic_count=2, mappings={"StaticT": STATIC}
    )


def test_the_5x_body_of_3_2_is_read_with_its_bare_keys():
    body = decode(
        '{"filterServerList":["10.0.0.1:9"],"topicConfigSerializeWrapper":{"dataVersion":{"counter":3,"stateVersion":0,'
        '"timestamp":1700000000000},"mappingDataVersion":{"counter":0,"stateVersion":0,"timestamp":1700000000001},'
        '"topicConfigTable":{"TopicTest":{"attributes":{"message.type":"NORMAL"},"order":false,"perm":6,"readQueueNums":4,'
        '"topicFilterType":"SINGLE_TAG","topicName":"TopicTest","topicSysFlag":3,"writeQueueNums":4}},'
        '"topicQueueMappingDetailMap":{},"topicQueueMappingInfoMap":{"StaticT":{"bname":"broker-a","currIdMap":{0:0,1:1},'
        '"dirty":false,"epoch":1700000000002,"scope":"__global__","topic":"StaticT","totalQueues":4}}}}'
    )
    assert body == RegistrationBody(
        VECTOR_VERSION,
        {"TopicTest": QueueSpec(4, 4, 6, 3)},
        topic_count=1,
        filter_servers=("10.0.0.1:9",),
        mappings={"StaticT": STATIC},
    )


@pytest.mark.parametrize(
    "body",
    [
        "{}",
        '{"filterServerList":null,"topicConfigSerializeWrapper":null}',
        wrapped('{"topicConfigTable":null,"dataVersion":null,"topicQueueMappingInfoMap":null}'),
        wrapped("{}"),
        table("{}"),
        table('{"T":null}'),
    ],
)
def test_what_is_missing_or_null_is_empty(body):
    assert decode(body) == RegistrationBody()


def test_members_of_a_topic_have_javas_defaults_and_null_is_zero():
    body = decode(table('{"T":{"topicName":"T"},"U":{"topicName":"U","perm":null,"readQueueNums":"8"}}'))
    assert body.topics == {"T": QueueSpec(16, 16, 6, 0), "U": QueueSpec(8, 16, 0, 0)}


def test_the_name_is_that_of_the_configuration_and_differing_keys_are_kept():
    assert decode(table('{"A":{"topicName":"A"}}')).topic_keys is None
    body = decode(table('{"A":{"topicName":"A"},"k":{"topicName":"B"},"C":{"topicName":"B"}}'))
    assert list(body.topics) == ["A", "B"]
    assert body.topic_keys == {"A", "k", "C"}
    assert body.topic_count == 3


def test_t16_a_shared_attributes_map_is_empty():
    assert decode(table('{"A":{"attributes":{"$ref":"$.x"},"topicName":"A"}}')).topic_count == 1


def test_equal_queues_are_one_object():
    body = decode(table('{"A":{"topicName":"A"},"B":{"topicName":"B"}}'))
    assert body.topics["A"] is body.topics["B"]


@pytest.mark.parametrize(
    "body",
    [
        "null",
        "[]",
        "{",
        "{}{}",
        '{"filterServerList":{}}',
        wrapped("[]"),
        table("[]"),
        table('{"T":[]}'),
        table('{"T":{"topicName":"T","perm":"x"}}'),
        table('{"T":{"topicName":"T","perm":true}}'),
        table('{"T":{"topicName":"T","readQueueNums":2147483648}}'),
        table('{"T":{"topicName":"T","writeQueueNums":-2147483649}}'),
        wrapped('{"dataVersion":{"counter":9223372036854775808}}'),
        wrapped('{"topicQueueMappingInfoMap":{"T":{"topic":"T"}}}'),
    ],
)
def test_json_that_says_nothing_is_refused_in_javas_words(body):
    with pytest.raises(RequestError) as raised:
        decode(body)
    assert raised.value.code == 1
    prefix = "org.apache.rocketmq.remoting.exception.RemotingCommandException: Failed to decode RegisterBrokerBody, "
    assert raised.value.remark.startswith(prefix)
    assert len(raised.value.remark) < 500


@pytest.mark.parametrize("config", ["{}", '{"topicName":null}', '{"topicName":""}', '{"$ref":"$.a"}'])
def test_t54_a_configuration_without_name_is_refused(config):
    with pytest.raises(RequestError, match="the topic configuration under 'K' has no topicName"):
        decode(table(f'{{"A":{{"topicName":"A"}},"K":{config}}}'))


@pytest.mark.parametrize(
    ("version", "filter_servers"), [(V5, ()), (V4, ()), (37, ()), (36, None), (1, None), (0, ())]
)
def test_no_body_is_no_topics(version, filter_servers):
    assert decode(b"", version) == RegistrationBody(filter_servers=filter_servers)
    assert decode(b"", version, compressed=True) == RegistrationBody(filter_servers=filter_servers)


OLD_WRAPPER = '{"dataVersion":{"counter":1,"timestamp":5},"topicConfigTable":{"T1":{"topicName":"T1"}}}'


@pytest.mark.parametrize("version", [0, 36, -1])
def test_before_3_0_11_the_body_is_a_bare_wrapper_and_filter_servers_stay(version):
    assert decode(OLD_WRAPPER, version) == RegistrationBody(
        DataVersion(counter=1, timestamp=5), {"T1": QueueSpec()}, topic_count=1, filter_servers=None
    )


@pytest.mark.parametrize("version", [0, 36])
def test_t14_a_register_body_is_known_by_its_members_whatever_the_version(version):
    assert decode(wrapped(OLD_WRAPPER), version).topics == {"T1": QueueSpec()}
    assert decode(wrapped(OLD_WRAPPER), version).filter_servers == ()
    assert decode('{"filterServerList":["f:1"]}', version) == RegistrationBody(filter_servers=("f:1",))
    assert decode("{}", version) == RegistrationBody(filter_servers=None)


def test_a_bare_wrapper_from_3_0_11_on_has_no_topics():
    assert decode(OLD_WRAPPER, 37) == RegistrationBody()


@pytest.mark.parametrize("version", [V5, V4, 0])
def test_t9_a_zlib_stream_is_inflated_whatever_the_header_says(version):
    body = sections(b"T 4 4 6 SINGLE_TAG")
    assert decode(body, version, compressed=False) == decode(body, version, compressed=True)
    assert decode(body, version).topics == {"T": QueueSpec(4, 4, 6, 0)}


@pytest.mark.parametrize("version", [V5, V4])
def test_t13_topic_strings_of_either_writer_are_read(version):
    body = decode(
        sections(
            b"A 4 4 6 SINGLE_TAG",
            b"B 8 8 7 MULTI_TAG {}",
            b"C 1 2 4 SINGLE_TAG ",
            b'D 1 2 4 SINGLE_TAG {"a":"b c"}',
            version=b'{"counter":2}',
        ),
        version,
        compressed=True,
    )
    assert body.data_version == DataVersion(counter=2)
    assert list(body.topics.values()) == [
        QueueSpec(4, 4, 6),
        QueueSpec(8, 8, 7),
        QueueSpec(1, 2, 4),
        QueueSpec(1, 2, 4),
    ]
    assert list(body.topics) == ["A", "B", "C", "D"]


MAPPING = b'{"bname":"b","topic":"S","currIdMap":{0:1}}'
ONE_MAPPING = b"\0\0\0\1" + item(MAPPING)


@pytest.mark.parametrize("version", [V5, V4, 0])
def test_mappings_are_read_where_they_are(version):
    body = decode(sections(tail=ONE_MAPPING + b"something else"), version, compressed=True)
    assert body.mappings == {"S": TopicQueueMappingInfo("b", {0: 1}, topic="S")}


BAD_TAILS = [
    b"",
    b"\0\0",
    b"\0\0\0\1",
    b"\0\0\0\1\0\0\0\2{}",
    b"\xff\xff\xff\xff",
    b'\0\0\0\1\0\0\0\x0d{"bname":"b"}',
]


@pytest.mark.parametrize("tail", BAD_TAILS)
def test_from_5_0_on_the_mapping_section_must_be_there(tail):
    with pytest.raises(RequestError, match="Failed to decode RegisterBrokerBody, "):
        decode(sections(tail=tail), 413, compressed=True)


@pytest.mark.parametrize("tail", BAD_TAILS)
def test_before_5_0_what_follows_the_third_section_may_be_anything(tail):
    assert decode(sections(tail=tail), 412, compressed=True) == RegistrationBody()


@pytest.mark.parametrize("filters", [b"x", b"", b"{}", b"null"])
def test_an_error_in_the_filter_section_is_no_filter_servers(filters):
    assert decode(sections(filters=filters), compressed=True).filter_servers == ()
    assert decode(sections(filters=b'["a:1"]'), compressed=True).filter_servers == ("a:1",)


@pytest.mark.parametrize(
    ("topic", "why"),
    [
        (b"", "has 2 parts"),
        (b"T", "has 2 parts"),
        (b"T 4 4 6", "has 4 parts"),
        (b"T 4 4 x SINGLE_TAG", "'x'"),
        (b"T 4 4 6 SOME_TAG", "SOME_TAG"),
        (b" 4 4 6 SINGLE_TAG", "a topic string has no name"),
    ],
)
def test_a_topic_string_that_java_refuses_fails_the_registration(topic, why):
    with pytest.raises(RequestError, match=why):
        decode(sections(b"A 4 4 6 SINGLE_TAG", topic), compressed=True)


def test_a_name_that_is_no_utf_8_is_read_as_java_does():
    assert list(decode(sections(b"T\xff 4 4 6 SINGLE_TAG"), compressed=True).topics) == ["T\ufffd"]


@pytest.mark.parametrize("name", ["T" * 127, "主题", "a" * 70_000])
def test_names_of_any_length_and_script_are_read(name):
    body = sections(f"{name} 4 4 6 SINGLE_TAG".encode(), b"U 4 4 6 SINGLE_TAG")
    assert list(decode(body, compressed=True).topics) == [name, "U"]


def test_a_topic_that_comes_twice_counts_once_and_the_last_holds():
    body = decode(sections(b"A 4 4 6 SINGLE_TAG", b"A 8 8 6 SINGLE_TAG"), compressed=True)
    assert body.topics == {"A": QueueSpec(8, 8, 6, 0)}
    assert body.topic_count == 1


@pytest.mark.parametrize(
    "inner",
    [
        b"",
        item(b"null"),
        item(b"{}") + b"\xff\xff\xff\xff",
        item(b"{}") + b"\x7f\xff\xff\xff",
        item(b"{}") + b"\0\0\0\1" + b"\xff\xff\xff\xff",
        item(b"{}") + b"\0\0\0\1" + b"\x7f\xff\xff\xff",
        item(b"{}") + b"\0\0\0\2" + item(b"A 4 4 6 SINGLE_TAG"),
        item(b"{}") + b"\0\0\0\0",
        item(b"x"),
    ],
)
def test_sections_that_end_early_or_lie_about_their_length_are_refused(inner):
    with pytest.raises(RequestError, match="Failed to decode RegisterBrokerBody, "):
        decode(zlib.compress(inner), compressed=True)


@pytest.mark.parametrize("body", [b"{}", b"x", b"\x78\xda", b"\x1f\x8b"])
def test_what_is_no_zlib_stream_is_refused(body):
    with pytest.raises(RequestError, match=r"not a zlib stream|unexpected end of the zlib stream"):
        decode(body, compressed=True)


MANY = RegisterBrokerBody(topics=tuple(TopicConfig(f"T{number}") for number in range(10_000)))


@pytest.mark.parametrize(("compressed", "least"), [(False, 10), (True, 10)])
def test_a_large_body_is_read_in_slices(compressed, least):
    body = encode_registration_body(MANY, compressed=compressed)
    turns = decode_registration_body(body, version=V5, compressed=compressed, slice_topics=1_000)
    assert count_turns(turns) >= least


def test_the_size_of_slices_does_not_matter():
    body = encode_registration_body(MANY, compressed=True)
    assert len(decode(body, compressed=True, slice_topics=7).topics) == 10_000
    assert decode(body, compressed=True, slice_topics=100_000) == decode(
        encode_registration_body(MANY), slice_topics=999
    )


# JSON bodies that are read in pieces


@pytest.fixture
def in_pieces(monkeypatch):
    """Every JSON body is read in pieces, as small as they can be."""
    monkeypatch.setattr(registration_body, "WHOLE_JSON_BYTES", -1)
    monkeypatch.setattr(registration_body, "PIECE_BYTES", 0)


odd_names = st.text(alphabet='a},:{"\\ ', min_size=1, max_size=8)
odd_bodies = st.dictionaries(odd_names, odd_names, max_size=5).map(
    lambda named: {
        "topicConfigSerializeWrapper": {
            "topicConfigTable": {
                key: {"topicName": name, "attributes": {name: {key: 1}}} for key, name in named.items()
            }
        }
    }
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(odd_bodies, st.sampled_from([(",", ":"), (", ", ": ")]), st.sampled_from([0, 36, V5]))
def test_pieces_say_the_same_as_the_whole(in_pieces, document, separators, version):
    body = json.dumps(document, separators=separators)
    pieces = decode(body, version)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registration_body, "WHOLE_JSON_BYTES", 1 << 20)
        assert pieces == decode(body, version)


def test_a_table_is_read_in_pieces(in_pieces):
    body = encode_registration_body(MANY)
    turns = decode_registration_body(body, version=V5, compressed=False, slice_topics=100_000)
    assert count_turns(turns) >= 10_000


def test_a_body_of_more_than_1_mib_is_not_read_at_once():
    topics = tuple(TopicConfig(f"T{number}") for number in range(10_000))
    body = encode_registration_body(RegisterBrokerBody(topics=topics))
    assert 1_048_576 < len(body) < 2_097_152
    turns = decode_registration_body(body, version=V5, compressed=False, slice_topics=100_000)
    assert count_turns(turns) > 5


OTHER_TABLE = '{"X":{"topicName":"X"},"Y":{"topicName":"Y"},"Z":{"topicName":"Z"}}'


@pytest.mark.parametrize(
    "before",
    [
        f'"topicConfigTable":{OTHER_TABLE},',
        f'"other":{{"topicConfigTable":{OTHER_TABLE}}},',
        f'"topicConfigSerializeWrapper":{{"topicConfigTable":{OTHER_TABLE}}},',
        f'"other\\"topicConfigTable":{OTHER_TABLE},',
    ],
)
def test_pieces_of_another_object_are_not_topics(in_pieces, before):
    real = '{"T1":{"topicName":"T1"},"T2":{"topicName":"T2"}}'
    body = f'{{{before}"topicConfigSerializeWrapper":{{"topicConfigTable":{real}}}}}'
    assert set(decode(body).topics) == {"T1", "T2"}


@pytest.mark.parametrize("members", ["null", "{}"])
def test_an_empty_table_has_no_pieces(in_pieces, members):
    assert decode(table(members)).topics == {}
    assert decode("{}").topics == {}


@pytest.mark.parametrize(
    "members",
    ['{"T1":{"topicName":"T1"},"T2":{"topicName":7,"perm":{}}}', '{"T1":{"topicName":"T1"},"T2":5}', "[1]"],
)
def test_a_table_of_other_things_is_refused_in_pieces_as_in_one(in_pieces, members):
    with pytest.raises(RequestError, match="Failed to decode RegisterBrokerBody"):
        decode(table(members))


def test_numbers_in_quotes_are_read_in_pieces(in_pieces):
    member = '"%s":{"topicName":"%s","perm":"4","readQueueNums":"1","writeQueueNums":"1"}'
    members = ",".join(member % (name, name) for name in ("T1", "T2"))
    topics = decode(table(f"{{{members}}}")).topics
    assert topics == dict.fromkeys(("T1", "T2"), QueueSpec(1, 1, 4, 0))


def test_keys_that_are_no_names_are_kept_over_all_pieces(in_pieces):
    content = decode(table('{"T1":{"topicName":"T1"},"K2":{"topicName":"T2"},"T3":{"topicName":"T3"}}'))
    assert (content.topic_keys, content.topic_count) == ({"T1", "K2", "T3"}, 3)
    assert set(content.topics) == {"T1", "T2", "T3"}


def test_a_key_twice_is_refused_if_the_first_would_stay(in_pieces):
    """The last one counts in Java: what the first said would have to be taken back."""
    with pytest.raises(RequestError, match="a key of topicConfigTable comes twice"):
        decode(table('{"K":{"topicName":"T1"},"K":{"topicName":"T2"}}'))
    assert set(decode(table('{"T1":{"topicName":"T1"},"T1":{"topicName":"T1"}}')).topics) == {"T1"}


MEMBERS = [
    "topicConfigSerializeWrapper",
    "topicConfigTable",
    "dataVersion",
    "counter",
    "topicName",
    "perm",
    "x",
]

json_like = st.recursive(
    st.none() | st.booleans() | st.integers() | texts,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(MEMBERS), inner, max_size=3),
    max_leaves=10,
).map(lambda value: json.dumps(value).encode())
any_bytes = st.binary(max_size=60)


@settings(deadline=None)
@given(any_bytes | any_bytes.map(zlib.compress) | json_like)
def test_any_bytes_give_a_value_or_a_request_error(body):
    for target in FUZZ_TARGETS.values():
        assert_no_error(target, body, allowed=RequestError)


@settings(deadline=None)
@given(own_bodies, st.booleans(), st.integers(0), st.binary(max_size=3), st.integers(0, 3))
def test_a_damaged_body_gives_a_value_or_a_request_error(body, compressed, at, added, removed):
    whole = encode_registration_body(body, compressed=compressed)
    at %= len(whole)
    for target in FUZZ_TARGETS.values():
        assert_no_error(target, whole[:at] + added + whole[at + removed :], allowed=RequestError)


def mapping_of(count: int) -> str:
    ids = ",".join(f'"{number}":0' for number in range(count))
    return f'{{"bname":"b","topic":"T","currIdMap":{{{ids}}}}}'


def too_large() -> dict[str, tuple[bytes | str, bool]]:
    """Bodies that exceed a limit of 2 by one; what they exceed -> body, whether it is compressed."""
    three = ",".join(f'"{name}":{mapping_of(0)}' for name in "abc")
    return {
        "topics": (sections(*(b"%c 4 4 6 SINGLE_TAG" % name for name in b"abc")), True),
        "filter servers": ('{"filterServerList":["a","b","c"]}', False),
        "filter servers, compressed": (sections(filters=b'["a","b","c"]'), True),
        "static topics": (wrapped(f'{{"topicQueueMappingInfoMap":{{{three}}}}}'), False),
        "static topics, compressed": (sections(tail=(3).to_bytes(4)), True),
        "logical queues": (wrapped(f'{{"topicQueueMappingInfoMap":{{"T":{mapping_of(3)}}}}}'), False),
        "logical queues, compressed": (sections(tail=(1).to_bytes(4) + item(mapping_of(3).encode())), True),
    }


@pytest.mark.parametrize("what", too_large())
def test_what_a_body_can_make_large_has_a_limit(monkeypatch, what):
    body, compressed = too_large()[what]
    limits = [name for name in dir(registration_body) if name.startswith("MAX_")]
    for name in limits:
        monkeypatch.setattr(registration_body, name, 2)
    with pytest.raises(RequestError, match=rf": .*, 3 {what.partition(',')[0]}.*; 2 are allowed") as raised:
        decode(body, compressed=compressed)
    assert raised.value.code == 1
    for name in limits:
        monkeypatch.setattr(registration_body, name, 3)
    if compressed and "static" in what:
        return  # its three mappings are not there
    assert decode(body, compressed=compressed)


@pytest.mark.parametrize(
    ("before", "what"),
    [
        ('"filterServerList":["a","b","c","d"]', "4 filter servers; 3 are allowed|commas; 3 are allowed"),
        (f'"topicQueueMappingInfoMap":{{"T":{mapping_of(1)}}},"x":{{}},"y":{{}}', "objects; 5 are allowed"),
    ],
)
def test_what_is_read_at_once_beside_the_pieces_has_a_limit_before_it_is_read(
    in_pieces, monkeypatch, before, what
):
    monkeypatch.setattr(registration_body, "MAX_FILTER_SERVERS", 3)
    monkeypatch.setattr(registration_body, "MAX_COMMAS_AT_ONCE", 3)
    monkeypatch.setattr(registration_body, "MAX_OBJECTS_AT_ONCE", 5)
    read = []
    monkeypatch.setattr(registration_body.fastjson, "decode_in_slices", lambda *_: read.append(1))
    members = ",".join(f'"T{number}":{{"topicName":"T{number}"}}' for number in range(40))
    with pytest.raises(RequestError, match=what):
        decode(f'{{{before},"topicConfigTable":{{{members}}}}}')
    assert not read
