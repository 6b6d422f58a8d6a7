"""Which topics lost a broker most often in the last days, and did clients notice?

    python examples/ask_your_own_question.py ~/warehouse --days 7

Nothing in Namekeeper answers this; two tables of the warehouse do. Every column that is used here is
described in docs/reference/warehouse.md. How it works: docs/howto/ask-your-own-question.md.
"""

import argparse

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as fn

from namekeeper.pipeline.answers.warehouse import Warehouse, open_warehouse, table
from namekeeper.pipeline.session import get_session

DAY_MS = 24 * 60 * 60 * 1_000

QUESTION = """
-- A row of topic_route is what a broker name had of a topic, from when to when, at one name server.
WITH lost AS (
  SELECT
    namesrv, topic, count(*) AS times, count_if(reason = 'broker_name_removed') AS with_broker,
    max_by(struct(valid_to AS at, broker_name, to_cause AS cause), valid_to) AS last
  FROM {topic_route}
  WHERE ended_by = 'gone' AND valid_to >= :since AND (:topic IS NULL OR topic = :topic)
  GROUP BY namesrv, topic
),
-- Every name server saw it for itself: take the one that saw most.
seen AS (
  SELECT topic, max_by(struct(times, with_broker, last), struct(times, namesrv)) AS most
  FROM lost
  GROUP BY topic
),
asked AS (
  SELECT topic, sum(lookups) AS in_vain, array_sort(collect_set(language)) AS clients
  FROM {unknown_topic_daily}
  WHERE topic IS NOT NULL AND last_minute >= :since
  GROUP BY topic
)
SELECT
  s.topic, s.most.times, s.most.with_broker, timestamp_millis(s.most.last.at) AS last_at,
  s.most.last.broker_name AS last_broker, s.most.last.cause AS last_cause,
  coalesce(a.in_vain, 0) AS in_vain, coalesce(a.clients, array()) AS clients
FROM seen s
LEFT JOIN asked a ON a.topic = s.topic
ORDER BY s.most.times DESC, in_vain DESC, s.topic
LIMIT :top
"""


def topics_that_lost_brokers(
    spark: SparkSession, warehouse: Warehouse, *, days: int = 7, topic: str | None = None, top: int = 20
) -> DataFrame:
    """Topics by how often a broker name that had them lost them.

    Args:
        spark: The session.
        warehouse: URI of the warehouse, or its tables.
        days: How far to look back from the last instant that is known.
        topic: Only this one; any text is taken as it is.
        top: Topics at most.

    Returns:
        topic, times, with_broker (how many of them because the whole broker name went), last_at, last_broker,
        last_cause, in_vain (lookups without an answer meanwhile), clients (their languages).
    """
    # One reader for all tables: they are of the same instant, also while a run writes.
    tables = open_warehouse(warehouse) if isinstance(warehouse, str) else warehouse
    boots = table(spark, tables, "name_server_session")
    knows_up_to = boots.agg(fn.max("knows_up_to")).first()
    now = (knows_up_to and knows_up_to[0]) or 0
    return spark.sql(
        QUESTION,
        args={"since": now - days * DAY_MS, "topic": topic, "top": top},
        topic_route=table(spark, tables, "topic_route"),
        unknown_topic_daily=table(spark, tables, "unknown_topic_daily"),
    )


def main() -> None:
    """Ask, and print the answer."""
    parser = argparse.ArgumentParser(description="Which topics lost a broker most often?")
    parser.add_argument("warehouse", help="URI that `namekeeper pipeline run` wrote to")
    parser.add_argument("--days", type=int, default=7)
    parser.add_argument("--topic", help="only this one")
    asked = parser.parse_args()
    found = topics_that_lost_brokers(get_session(), asked.warehouse, days=asked.days, topic=asked.topic)
    found.show(truncate=False)


if __name__ == "__main__":
    main()
