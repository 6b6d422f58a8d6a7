import inspect
import subprocess
import sys

import msgspec
import pytest

import namekeeper.broker
from namekeeper.broker import BlockingBrokerRegistrar, BrokerRegistrar, BrokerSettings
from namekeeper.errors import ConfigError
from namekeeper.model.topic import TopicConfig
from tests.support.system.help import public, references_in_help
from tests.support.system.waiting import PATIENCE


def test_every_name_is_there():
    assert (
        sorted(namekeeper.broker._MODULES)
        == sorted(namekeeper.broker.__all__)
        == sorted(dir(namekeeper.broker))
    )
    for name in namekeeper.broker.__all__:
        assert getattr(namekeeper.broker, name) is not None


def test_another_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = namekeeper.broker.Nothing


def test_importing_it_loads_nothing():
    code = "import sys, namekeeper.broker; print('asyncio' in sys.modules or 'msgspec' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=50 * PATIENCE, check=True
    )
    assert done.stdout == "False\n"


def test_help_documents_every_setting():
    for field in msgspec.structs.fields(BrokerSettings):
        assert f"    {field.name}: " in inspect.getdoc(BrokerSettings), field.name


def test_help_refers_to_nothing_that_is_not_in_a_wheel():
    assert list(references_in_help(namekeeper.broker)) == []


def test_the_blocking_registrar_has_the_verbs_of_the_other():
    assert public(BrokerRegistrar) <= public(BlockingBrokerRegistrar)


@pytest.mark.parametrize(
    ("topics", "said"),
    [
        ("orders", r"topics is text: write a list, \[TopicConfig\('orders'\)\]"),
        (["orders"], r"'orders' is no topic: write TopicConfig\('orders'\)"),
        ([TopicConfig("T"), TopicConfig("U"), TopicConfig("T")], "topic 'T' is given twice"),
    ],
)
def test_what_is_no_list_of_topics_is_named(topics, said):
    settings = BrokerSettings(broker_name="b", broker_addr="h:1", namesrv_addr="n:1")
    for kind in (BrokerRegistrar, BlockingBrokerRegistrar):
        with pytest.raises(ConfigError, match=said):
            kind(settings, topics)
