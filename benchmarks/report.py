"""How long the HTML report takes without Spark: `python -m benchmarks.report`.

Over a warehouse of Parquet files with a month of 122 brokers: 2,000,000 changes, 10,000 topics and 500
incidents. In a process of its own, as a user would start it. Prints seconds of the CPU and of the wall
clock, and the size of the page; exits with 1 if it took more than five seconds of the CPU.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.support.pipeline.duck import Duck

LIMIT_S = 5.0
MARCH = 1_772_323_200_000
DAYS, BROKERS, TOPICS, CHANGES, INCIDENTS = 30, 122, 10_000, 2_000_000, 500

_DAY = "strftime(make_timestamp((CAST({0} AS BIGINT)) * 1000), '%Y-%m-%d')"
_BY_BROKER = (
    f"(SELECT d, b, {MARCH} + d * 86400000::BIGINT AS t FROM range({DAYS}) x(d), range({BROKERS}) y(b))"
)
_BY_TOPIC = (
    f"(SELECT d, n, {MARCH} + d * 86400000::BIGINT AS t FROM range({DAYS}) x(d), range({TOPICS}) y(n))"
)

ROWS = {
    "name_server_session": f"""
        SELECT 'ns-' || i AS namesrv, {MARCH} AS boot, {MARCH} AS first_ts, 'running' AS ended_by,
          {MARCH} + {DAYS} * 86400000::BIGINT AS knows_up_to, 0 AS losses, 0 AS unknown_ms
        FROM range(3) x(i)""",
    "broker_availability_daily": f"""
        SELECT {_DAY.format("t")} AS day, 'c' AS cluster, 'broker-' || b AS broker_name, 0 AS broker_id,
          86400000::BIGINT - b * 1000 AS up_ms, b * 1000 AS down_ms, 0 AS unknown_ms, 1 AS outages,
          b * 1000 AS longest_outage_ms
        FROM {_BY_BROKER}""",
    "broker_state_daily": f"""
        SELECT {_DAY.format("t")} AS day, 'c' AS cluster, 'broker-' || b AS broker_name, 0 AS broker_id,
          CASE p WHEN 1 THEN 'down' ELSE 'up' END AS state, t + p * 28800000::BIGINT AS valid_from,
          t + (p + 1) * 28800000::BIGINT AS valid_to, t AS began_at
        FROM {_BY_BROKER}, range(3) z(p)""",
    "broker_flap": f"""
        SELECT {_DAY.format("t")} AS day, 'c' AS cluster, 'broker-' || b AS broker_name, 0 AS broker_id,
          t + b % 24 * 3600000::BIGINT AS hour, 1 AS outages, 3 AS sessions_ended
        FROM {_BY_BROKER}""",
    "topic_availability_daily": f"""
        SELECT {_DAY.format("t")} AS day, 'c' AS cluster, 'topic-' || n AS topic, 86000000 AS writable_ms,
          n % 7 * 1000 AS unwritable_ms, n % 5 * 1000 AS no_route_ms, 0 AS unknown_ms
        FROM {_BY_TOPIC}""",
    "capacity_daily": f"""
        SELECT {_DAY.format("t")} AS day, 'ns-0' AS namesrv, 'c' AS cluster, 'broker-' || b AS broker_name,
          {TOPICS} AS topics, 80000 AS read_queues, 80000 AS write_queues,
          500000 AS body_bytes, 0.03 AS frame_used
        FROM {_BY_BROKER}""",
    "unknown_topic_daily": f"""
        SELECT {_DAY.format("t")} AS day, 'ns-0' AS namesrv, 'unknown-' || n AS topic, 'JAVA' AS language,
          3 AS lookups, t AS first_minute, t + 60000 AS last_minute
        FROM {_BY_TOPIC}""",
    "view_drift_topic": f"""
        SELECT 'c' AS cluster, 'broker-' || n % {BROKERS} AS broker_name, 'topic-' || n AS topic,
          ['ns-0: absent', 'ns-1: read 8, write 8, perm 6, flag 0'] AS views, t AS valid_from,
          t + 9000 AS valid_to, {_DAY.format("t")} AS valid_to_day, false AS is_open
        FROM {_BY_TOPIC} WHERE d = 3""",
    "incident": f"""
        SELECT 'broker_away' AS kind, 'c' AS cluster, 'broker-' || i AS subject,
          {MARCH} + i * {DAYS} * 86400000::BIGINT // {INCIDENTS} AS from_ts,
          {MARCH} + i * {DAYS} * 86400000::BIGINT // {INCIDENTS} + 60000 AS to_ts, false AS is_open,
          'expired' AS cause, 1 AS brokers, ['broker-' || i] AS broker_names, 9 AS topics,
          'topic-1' AS first_topic,
          [] AS name_servers, i AS lookups, ['JAVA'] AS languages
        FROM range({INCIDENTS}) x(i)""",
    "change_log": f"""
        SELECT {_DAY.format("t")} AS day, t AS at_ts, t AS ts, 'ns-' || i % 3 AS namesrv,
          {MARCH} AS boot, i AS seq,
          CASE i % 50 WHEN 7 THEN 'expired' WHEN 9 THEN 'wipe_write_perm' ELSE 'register_broker' END AS cause,
          '10.0.0.' || i % {BROKERS} || ':' || 30000 + i % 999 AS peer, 'topic_queues' AS kind,
          'changed' AS action, 'broker-' || i % {BROKERS} AS broker_name, 'topic-' || i % {TOPICS} AS topic,
          1 AS items, 'read 8, write 8, perm 6' AS detail
        FROM (SELECT i, {MARCH} + i * ({DAYS} * 86400000::BIGINT // {CHANGES}) AS t
          FROM range({CHANGES}) x(i))""",
}  # fmt: skip
"""Gold table -> the rows that it has; columns that the report does not read are left out."""


def main() -> int:
    """Run; return the exit status."""
    argparse.ArgumentParser("python -m benchmarks.report", description=__doc__).parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        uri = _warehouse(folder / "warehouse")
        cpu = _timed(uri, folder / "report.html")
    return int(cpu > LIMIT_S)


def _timed(uri: str, page: Path) -> float:
    """Seconds of the CPU."""
    words = ["report", "--warehouse", uri, "--format", "html", "-o", str(page)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    subprocess.run([sys.executable, "-m", "namekeeper", *words], check=True, capture_output=True)
    wall = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    size = page.stat().st_size / 1e6
    what = f"{CHANGES:,} changes of {BROKERS} brokers"
    print(f"report over {what}: {cpu:.2f} s of CPU, {wall:.2f} s, {size:.1f} MB", flush=True)
    return cpu


def _warehouse(folder: Path) -> str:
    duck = Duck()
    for name, rows in ROWS.items():
        duck.insert(name, rows)
    return duck.write_warehouse(folder)


if __name__ == "__main__":
    sys.exit(main())
