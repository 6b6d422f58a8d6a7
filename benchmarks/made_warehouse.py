"""A made-up warehouse of Parquet files with five million records, written by DuckDB within a minute.

Two name servers over 90 days and 200 brokers, each with a topic of its own, that come and go: 500,000
sessions. It has the tables that `why` and `history` read, and the largest of the others.
"""

from pathlib import Path

import duckdb

from namekeeper.pipeline.duck_sql import duck_ddl
from namekeeper.pipeline.files.folder import open_folder
from namekeeper.pipeline.gold.tables import GOLD
from namekeeper.pipeline.schema import FACTS
from namekeeper.pipeline.store.manifest import DataFile, Manifest, commit_manifest

__all__ = ["BEGIN", "DAY_MS", "RECORDS", "make_warehouse"]

BEGIN = 1_700_000_000_000
DAY_MS = 86_400_000
DAYS, BROKERS, SESSIONS, MINUTES = 90, 200, 500_000, 2_000_000
RECORDS = 6 * SESSIONS + MINUTES

_STEP = DAYS * DAY_MS // (SESSIONS // 2)
"""Milliseconds from the begin of a session to that of the next one at a name server."""
_UP = _STEP * BROKERS * 9 // 10
"""Milliseconds that a session lasts; the broker is away for the other tenth."""

_END = BEGIN + DAYS * DAY_MS

_VIEWS = f"""
CREATE VIEW name_server AS
SELECT * FROM (VALUES ('ns1_9876', {BEGIN}), ('ns2_9876', {BEGIN})) s(namesrv, boot);

CREATE VIEW session AS
SELECT
  'ns' || (i % 2 + 1) || '_9876' AS namesrv, {BEGIN} AS boot, {BEGIN} + (i // 2) * {_STEP} AS from_ts,
  (i // 2) // {BROKERS} + 1 AS gen, (i // 2) % {BROKERS} AS broker,
  'broker-' || lpad((i // 2 % {BROKERS})::VARCHAR, 3, '0') AS broker_name,
  'topic-' || lpad((i // 2 % {BROKERS})::VARCHAR, 3, '0') AS topic,
  '10.0.0.' || (i // 2) % {BROKERS} || ':10911' AS broker_addr,
  'c' AS cluster, 0 AS broker_id, [0, 1, (i // 2) // {BROKERS} + 1] AS data_version, false AS acting_master,
  MAP {{'0': '10.0.0.' || (i // 2) % {BROKERS} || ':10911'}} AS broker_addrs,
  8 AS read_queue_nums, 8 AS write_queue_nums, 6 AS perm, 0 AS topic_sys_flag
FROM range({SESSIONS}) r(i);

CREATE VIEW change AS
SELECT *, ts - boot AS up_ms, (ts - {BEGIN}) * 1000 + 500 + part AS change
FROM (
  SELECT *, from_ts AS ts, false AS gone, 'register_broker' AS cause, 0 AS part FROM session
  UNION ALL
  SELECT *, from_ts + {_UP}, true, 'channel_closed', 3 FROM session WHERE from_ts + {_UP} < {_END}
);

CREATE VIEW checkpoint_row AS
SELECT
  s.*, {BEGIN} + d * {DAY_MS} AS ts, false AS gone,
  d * {DAY_MS} * 1000 + 1 AS checkpoint, checkpoint AS place,
  checkpoint + 1 + broker AS seq, checkpoint + 1 + broker AS change
FROM range({DAYS}) r(d)
JOIN session s
  ON s.from_ts < {BEGIN} + d * {DAY_MS} AND s.from_ts + {_UP} >= {BEGIN} + d * {DAY_MS};
"""


def _of_change(columns: str, part: int) -> str:
    envelope = f"namesrv, boot, change + {part} AS seq, change + {part} AS place, change, ts, up_ms, cause"
    return f"SELECT {envelope}, {columns} FROM change"


def _of_checkpoint(columns: str) -> str:
    return f"SELECT namesrv, boot, seq, place, checkpoint, change, ts, {columns} FROM checkpoint_row"


_LIVE = "cluster, broker_addr, broker_name, broker_id, gen, data_version, gone"
_GROUP = "broker_name, cluster, acting_master, broker_addrs, gone"
_TOPIC = "broker_name, topic, read_queue_nums, write_queue_nums, perm, topic_sys_flag, gone"
_MINUTE = f"""
SELECT
  namesrv, boot, change + 10 + m AS seq, seq AS place, seq AS change, ts + 60000 * (m + 1) AS ts, cluster,
  broker_addr, broker_name, gen, 1 AS count
FROM change, range({MINUTES // SESSIONS}) r(m)
WHERE NOT gone
"""
_BOOT = f"""
SELECT namesrv, boot, boot AS first_ts, {_END} AS knows_up_to, 0 AS hidden_ms, 'running' AS ended_by
FROM name_server
"""
_SPAN = f"""
SELECT namesrv, boot, d * {DAY_MS} * 1000 + 1 AS begin_seq, {BEGIN} + d * {DAY_MS} AS from_ts
FROM name_server, range({DAYS}) r(d)
"""
_STARTED = """
SELECT namesrv, boot, 0 AS seq, 0 AS place, 0 AS change, boot AS ts, 'server_started' AS kind FROM name_server
"""

_ROWS = {
    "broker_live": [_of_change(_LIVE, 0), _of_checkpoint(_LIVE)],
    "broker_group": [_of_change(_GROUP, 1), _of_checkpoint(_GROUP)],
    "topic_row": [_of_change(_TOPIC, 2) + " WHERE NOT gone", _of_checkpoint(_TOPIC)],
    "broker_name_removed": [_of_change("broker_name", 2) + " WHERE gone"],
    "broker_minute": [_MINUTE],
    "server": [_STARTED],
    "name_server_session": [_BOOT],
    "name_server_timeline": ["SELECT namesrv, boot, 'up' AS state, boot AS valid_from FROM name_server"],
    "known_span": [_SPAN],
}


def make_warehouse(folder: Path) -> str:
    """Write it; returns its URI."""
    parts = {}
    with duckdb.connect() as connection:
        connection.execute("SET enable_progress_bar = false")
        connection.execute(_VIEWS)
        for name, selects in _ROWS.items():
            table = FACTS.get(name) or GOLD[name]
            connection.execute(f"CREATE TABLE made_{name} ({duck_ddl(table.ddl)})")
            for select in selects:
                connection.execute(f"INSERT INTO made_{name} BY NAME {select}")
            path = f"tables/{name}/1-0a1b2c3d/part-0.parquet"
            (folder / path).parent.mkdir(parents=True)
            connection.execute(f"COPY made_{name} TO '{folder / path}'")
            parts[name] = [DataFile(path, (folder / path).stat().st_size)]
    commit_manifest(open_folder(str(folder)), Manifest(1, 2, "UTC", "", parts))
    return str(folder)
