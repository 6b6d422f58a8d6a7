"""A wrong name in a program is refused with the right one, for every class that programs use."""

import asyncio
import copy
import inspect
import pickle

import pytest

import namekeeper.broker
import namekeeper.client
from namekeeper.broker.blocking import BlockingBrokerRegistrar
from namekeeper.broker.registrar import BrokerRegistrar
from namekeeper.broker.settings import BrokerSettings
from namekeeper.broker.topic_config_manager import TopicConfigManager
from namekeeper.client.blocking import BlockingClient
from namekeeper.client.client_config import ClientConfig, name_servers_of
from namekeeper.client.instance import MQClientInstance
from namekeeper.client.queues.message_queue import MessageQueue
from namekeeper.client.subscription import SubscriptionData
from namekeeper.common.spelled_names import SpelledNames
from namekeeper.errors import ConfigError
from namekeeper.model.topic import TopicConfig
from tests.support.system.errors import case

BROKER = BrokerSettings(broker_name="b", broker_addr="a:1", cluster_name="c", namesrv_addr="n:1")


def classes() -> list[type]:
    packages = (namekeeper.broker, namekeeper.client)
    found = [getattr(package, name) for package in packages for name in package.__all__]
    return [each for each in found if isinstance(each, type) and issubclass(each, SpelledNames)]


def java(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


METHODS = [
    (cls, name, member)
    for cls in classes()
    for name, member in inspect.getmembers(cls, inspect.isfunction)
    if not name.startswith("_")
]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: BlockingClient(namesrvAddr="x"), ("BlockingClient has no argument 'namesrvAddr': did you mean"
         " BlockingClient(ClientConfig(namesrv_addr=...))?")),
        (lambda: MQClientInstance(namesrv_addr="x"), ("MQClientInstance has no argument 'namesrv_addr': did you mean"
         " MQClientInstance(ClientConfig(namesrv_addr=...))?")),
        (lambda: BlockingBrokerRegistrar(brokerName="x"), ("BlockingBrokerRegistrar has no argument 'brokerName': did you"
         " mean BlockingBrokerRegistrar(BrokerSettings(broker_name=...))?")),
        (lambda: BrokerRegistrar(BROKER, onResult=print), "BrokerRegistrar has no argument 'onResult': did you mean on_result?"),
        (lambda: TopicConfigManager(dataVersion=None), ("TopicConfigManager has no argument 'dataVersion': did you mean"
         " data_version?")),
        (lambda: TopicConfig(topicName="T"), "TopicConfig has no setting 'topicName': did you mean topic_name?"),
        (lambda: MessageQueue(topic="T", brokerName="b", queueId=1), ("MessageQueue has no setting 'brokerName': did you mean"
         " broker_name?")),
        (lambda: SubscriptionData(subString="*"), "SubscriptionData has no setting 'subString': did you mean sub_string?"),
        (lambda: BlockingClient(colour="x"), "BlockingClient has no argument 'colour': it has config"),
        (lambda: BlockingClient("a:1").register_producer(producerGroup="g"), ("BlockingClient.register_producer() has no argument"
         " 'producerGroup': did you mean producer_group?")),
        (lambda: asyncio.run(MQClientInstance.topic_route(None, topicName="T")), ("MQClientInstance.topic_route() has no"
         " argument 'topicName': it has topic")),
    ],
)  # fmt: skip
def test_a_wrong_argument_is_refused_with_the_right_one(make, message):
    with pytest.raises(TypeError) as refused:
        make()
    assert str(refused.value) == message


def test_every_method_is_found_by_its_name_in_java():
    for cls, name, member in METHODS:
        with case(cls, name):
            value = cls.__new__(cls)
            for wrong in {java(name), f"get{java(name)[:1].upper()}{java(name)[1:]}"} - {name}:
                with pytest.raises(AttributeError) as refused:
                    getattr(value, wrong)
                assert f"did you mean {name}" in str(refused.value)
            assert inspect.signature(member) == inspect.signature(inspect.unwrap(member))
            assert inspect.iscoroutinefunction(member) is inspect.iscoroutinefunction(inspect.unwrap(member))


@pytest.mark.parametrize(
    ("value", "name", "says"),
    [
        (BROKER, "brokerName", "did you mean broker_name?"),
        (ClientConfig("a:1"), "getNamesrvAddr", "did you mean namesrv_addr?"),
        (BlockingClient("a:1"), "start", "it starts with a `with` or `async with` statement"),
        (BlockingClient("a:1"), "destroy", "did you mean close?"),
    ],
)
def test_what_java_has_otherwise_is_told(value, name, says):
    with pytest.raises(AttributeError) as refused:
        getattr(value, name)
    assert f"{type(value).__name__!r} object has no attribute {name!r}: {says}" == str(refused.value)


def test_nothing_else_changes():
    client = BlockingClient("a:1")
    assert not hasattr(client, "__such_a_thing__")
    assert copy.copy(BROKER) == pickle.loads(pickle.dumps(BROKER)) == BROKER
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'topic'"):
        client.topic_route()
    assert list(inspect.signature(BlockingClient).parameters) == ["config"]


def test_a_url_is_no_name_server():
    for make, setting in [
        (ClientConfig, "namesrv_domain"),
        (BlockingClient, "namesrv_domain"),
        (MQClientInstance, "namesrv_domain"),
        (lambda addr: ClientConfig(namesrv_addr=f"a:1; {addr}"), "namesrv_domain"),
        (lambda addr: BrokerSettings(broker_name="b", broker_addr="a:1", cluster_name="c", namesrv_addr=addr),
         "address_server"),
    ]:  # fmt: skip
        for url in ("http://x:1/list", "https://x:1/list", "https://x:1", "tcp://x:1"):
            with pytest.raises(ConfigError) as refused:
                make(url)
            assert str(refused.value) == (
                f"namesrv_addr: {url!r} is a URL: write a name server as host:port, as in x:1, or an address server as"
                f" {setting}={url!r}"
            )
    assert ClientConfig(namesrv_domain="http://x:1").namesrv_addr == ""
    assert name_servers_of(ClientConfig("http://x:1")) == (["x:1"], None), "as in Java"
