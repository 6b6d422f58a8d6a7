"""Fixed queues."""

from namekeeper.client.allocation.by_config import AllocateMessageQueueByConfig
from namekeeper.client.message_queue import MessageQueue


def test_the_configured_queues_whatever_is_there():
    queues = [MessageQueue("t", "a", 7), MessageQueue("other", "b", 0)]
    strategy = AllocateMessageQueueByConfig(queues)
    assert strategy.name == "CONFIG"
    assert strategy.allocate("c", [], []) == queues
    assert AllocateMessageQueueByConfig([]).allocate("c", queues, ["c"]) == []
