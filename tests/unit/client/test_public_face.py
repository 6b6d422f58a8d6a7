import inspect
import subprocess
import sys

import msgspec
import pytest

import namekeeper.client
from namekeeper.client import BlockingClient, BlockingConsumer, ClientConfig, Consumer, MQClientInstance
from tests.support.system.help import public, references_in_help
from tests.support.system.waiting import PATIENCE


def test_every_name_is_there():
    assert (
        sorted(namekeeper.client._MODULES)
        == sorted(namekeeper.client.__all__)
        == sorted(dir(namekeeper.client))
    )
    for name in namekeeper.client.__all__:
        assert getattr(namekeeper.client, name) is not None


def test_another_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = namekeeper.client.Nothing


def test_importing_it_loads_nothing():
    code = "import sys, namekeeper.client; print('asyncio' in sys.modules or 'msgspec' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=50 * PATIENCE, check=True
    )
    assert done.stdout == "False\n"


def test_help_documents_every_setting():
    for field in msgspec.structs.fields(ClientConfig):
        assert f"    {field.name}: " in inspect.getdoc(ClientConfig), field.name


def test_help_refers_to_nothing_that_is_not_in_a_wheel():
    assert list(references_in_help(namekeeper.client)) == []


@pytest.mark.parametrize(
    ("first", "second"),
    [(MQClientInstance, BlockingClient), (Consumer, BlockingConsumer), (BlockingClient, MQClientInstance)],
)
def test_both_forms_have_the_same_verbs(first, second):
    inner = {
        "call", "wait", "instance", "tables", "unregister", "is_subscribe_topic_need_update",
        "update_topic_subscribe_info", "topic_subscribe_info_table",
    }  # fmt: skip
    assert public(first) - inner <= public(second)
