"""One rule says when a topic can be written to."""

import re
from itertools import product
from pathlib import Path

from namekeeper.client.queues.route_queues import topic_publish_info
from namekeeper.common.writable import is_writable
from namekeeper.model.broker import BrokerData
from namekeeper.model.perm import Perm
from namekeeper.model.route import TopicRouteData
from namekeeper.model.topic import QueueData
from namekeeper.pipeline.gold import sql_file

CASES = list(product(range(16), (0, 1, 8), (True, False)))


def test_it_takes_permission_queues_and_a_master():
    for perm, queues, has_master in CASES:
        wanted = bool(perm & Perm.WRITE) and queues > 0 and has_master
        found = is_writable(perm, queues, has_master=has_master)
        assert found is wanted, (perm, queues, has_master)


def test_a_client_has_a_queue_to_send_to_then_and_only_then():
    for perm, queues, has_master in CASES:
        route = TopicRouteData(
            broker_datas=[BrokerData("c", "b0", {0 if has_master else 1: "a0:1"})],
            queue_datas=[
                QueueData("b0", perm=perm, read_queue_nums=4, topic_sys_flag=0, write_queue_nums=queues)
            ],
        )
        wanted = is_writable(perm, queues, has_master=has_master)
        assert topic_publish_info("T", route).ok is wanted, (perm, queues, has_master)


def test_the_tables_have_the_same_rule():
    sql = (Path(sql_file.__file__).parent / "sql/state/topic_writable.sql").read_text()
    assert "perm & 2 <> 0 AND t.write_queue_nums > 0" in sql
    assert re.search(r"JOIN registered_broker (\w+)\s+ON .* AND \1\.broker_id = 0", sql)
