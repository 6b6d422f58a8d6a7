"""The blocking form, against name servers of our own in another process."""

import os
import pickle
import threading

import pytest

from namekeeper.broker.blocking import BlockingBrokerRegistrar
from namekeeper.broker.topic_config_file import TopicConfigFile
from namekeeper.errors import ConfigError, TopicNameError
from namekeeper.model.topic import TopicConfig
from tests.process.running import NameServerProcess
from tests.support.wire.ask import ask
from tests.unit.broker.parts import T1, T2, settings


@pytest.fixture(scope="module")
def namesrv(tmp_path_factory):
    with NameServerProcess(tmp_path_factory.mktemp("namesrv")) as server:
        yield server.started().address


def topics(namesrv):
    return set(ask(namesrv, 206).json()["topicList"])


def test_a_script_without_a_loop_registers_a_broker(namesrv, tmp_path):
    file = tmp_path / "topics.json"
    with BlockingBrokerRegistrar(settings(namesrv), (T1, T2), topics_file=file) as broker:
        assert topics(namesrv) == {"T1", "T2"}
        threads = [
            threading.Thread(target=broker.update_topic_config, args=(TopicConfig(f"N{number}"),))
            for number in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert topics(namesrv) == {"T1", "T2", "N0", "N1", "N2", "N3"}
        assert broker.last_results[namesrv].error is None
        assert broker.need_register() == {namesrv: False}
        assert broker.delete_topic_config("N0")
        assert broker.need_register() == {namesrv: True}
        assert [result.error for result in broker.register_broker_all()] == [None]
        assert [result.error for result in broker.change_broker_permission(4)] == [None]
        assert [result.error for result in broker.change_role(1)] == [None]
        broker.update_name_server_address_list(namesrv)
    assert topics(namesrv) == set()
    assert len(TopicConfigFile(file).load().configs) == 5


def test_errors_are_the_same_as_in_the_async_form(namesrv):
    with BlockingBrokerRegistrar(settings(namesrv), (T1, T2)) as broker, pytest.raises(TopicNameError):
        broker.update_topic_config(TopicConfig("not this"))
    with pytest.raises(ConfigError, match="no name server"):
        BlockingBrokerRegistrar(settings(""), (T1, T2)).__enter__()


def test_a_crash_is_a_crash(namesrv):
    broker = BlockingBrokerRegistrar(settings(namesrv), (T1, T2)).__enter__()
    broker.abort()
    assert broker.close() == {}


def test_outside_of_its_context_it_says_so(namesrv):
    broker = BlockingBrokerRegistrar(pickle.loads(pickle.dumps(settings(namesrv))), (T1, T2))
    with pytest.raises(ConfigError, match="use `with`"):
        broker.register_broker_all()


def test_a_forked_child_has_no_part_in_it(namesrv):
    with BlockingBrokerRegistrar(settings(namesrv), (T1, T2)) as broker:
        child = os.fork()
        if child == 0:
            try:
                broker.register_broker_all()
            except ConfigError:
                broker.__exit__()
                os._exit(7)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        assert topics(namesrv) == {"T1", "T2"}
