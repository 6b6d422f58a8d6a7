"""The law with real name servers (docs/decisions/0013): live tables, replay and SQL are equal row by row, at any instant.

On DuckDB, which is quick; `tests/spark/test_law_of_live_tables.py` is the same on Spark.
"""

from namekeeper.pipeline.gold.steps import make_gold
from tests.property.live_law import LiveLaw
from tests.support.pipeline.duck import Duck


def test_the_tables_are_what_name_servers_held_and_what_the_replay_says():
    law = LiveLaw(seed=77, servers=30, happenings=60)
    duck = Duck()
    make_gold(duck, duck.load(law.records()))
    assert law.assert_states(duck.gold, instants=40) > 300
