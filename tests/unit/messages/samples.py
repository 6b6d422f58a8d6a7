"""The frames of protocol.md 9 and values for laws about messages."""

from collections.abc import Generator
from pathlib import Path
from typing import TypeVar

from hypothesis import strategies as st

from namekeeper.messages.fields import INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN
from namekeeper.model.broker import BrokerData
from namekeeper.model.mapping import TopicQueueMappingInfo
from namekeeper.model.route import BrokerMemberGroup, ClusterInfo, TopicList, TopicRouteData
from namekeeper.model.topic import QueueData, QueueSpec, TopicConfig
from namekeeper.model.version import DataVersion
from namekeeper.wire.codec import CommandDecoder
from namekeeper.wire.command import RemotingCommand

T = TypeVar("T")

SAMPLES = Path(__file__).parents[2] / "wire_samples"


def sample(number: int) -> RemotingCommand:
    """The command of one test vector."""
    (path,) = SAMPLES.glob(f"v{number:02d}_*.hex")
    digits = "".join(line for line in path.read_text().splitlines() if not line.startswith("#"))
    (command,) = CommandDecoder().feed(bytes.fromhex(digits))
    return command


def finish(turns: Generator[None, None, T]) -> T:
    """What a generator of turns returns in the end."""
    while True:
        try:
            next(turns)
        except StopIteration as stop:
            value: T = stop.value
            return value


def count_turns(turns: Generator[None, None, object]) -> int:
    return sum(1 for _ in turns)


int32s = st.integers(INT32_MIN, INT32_MAX)
int64s = st.integers(INT64_MIN, INT64_MAX)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
names = st.text(st.characters(exclude_categories=["Cs"], exclude_characters=" "), min_size=1, max_size=12)

versions = st.builds(DataVersion, int64s, int64s, int64s)
brokers = st.builds(
    BrokerData,
    cluster=texts,
    broker_name=texts,
    broker_addrs=st.dictionaries(int64s, texts, max_size=3),
    enable_acting_master=st.booleans(),
    zone_name=st.none() | texts,
)
queues = st.builds(QueueData, texts, int32s, int32s, int32s, int32s)
specs = st.builds(QueueSpec, int32s, int32s, int32s, int32s)
mappings = st.builds(
    TopicQueueMappingInfo,
    bname=texts,
    curr_id_map=st.dictionaries(int32s, int32s, max_size=3),
    dirty=st.booleans(),
    epoch=int64s,
    scope=texts,
    topic=names,
    total_queues=int32s,
)
routes = st.builds(
    TopicRouteData,
    broker_datas=st.lists(brokers, max_size=3),
    queue_datas=st.lists(queues, max_size=3),
    filter_server_table=st.dictionaries(texts, st.lists(texts, max_size=2), max_size=2),
    order_topic_conf=st.none() | texts,
    topic_queue_mapping_by_broker=st.none() | st.dictionaries(texts, mappings, max_size=2),
)
cluster_infos = st.builds(
    ClusterInfo,
    broker_addr_table=st.dictionaries(texts, brokers, max_size=3),
    cluster_addr_table=st.dictionaries(texts, st.lists(texts, max_size=3).map(sorted), max_size=2),
)
groups = st.builds(BrokerMemberGroup, texts, texts, st.dictionaries(int64s, texts, max_size=3))
topic_lists = st.builds(TopicList, st.lists(texts, max_size=4), st.none() | texts)
topic_configs = st.builds(
    TopicConfig,
    topic_name=names,
    read_queue_nums=int32s,
    write_queue_nums=int32s,
    perm=int32s,
    topic_filter_type=st.sampled_from(["SINGLE_TAG", "MULTI_TAG"]),
    topic_sys_flag=int32s,
    order=st.booleans(),
    attributes=st.dictionaries(texts, texts, max_size=2),
)
