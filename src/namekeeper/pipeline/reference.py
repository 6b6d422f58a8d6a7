"""The reference page of all tables, made from them: `python -m namekeeper.pipeline.reference`."""

import sys
from collections.abc import Iterable, Iterator

from namekeeper.pipeline.entry.views import ENTRY_VIEWS
from namekeeper.pipeline.gold.histories import DRIFTS, HISTORIES, TIMELINE
from namekeeper.pipeline.gold.tables import BY_DAY, GOLD
from namekeeper.pipeline.schema import FACTS
from namekeeper.pipeline.table import Table
from namekeeper.pipeline.units import unit_of

__all__ = ["render_reference"]

_HEAD = """\
<!-- Made by `python -m namekeeper.pipeline.reference > docs/reference/warehouse.md`;
a test compares. -->

# The tables of a warehouse

`namekeeper pipeline run` makes them from journals. Facts are what the journals say, row by row;
gold is made from the facts by SQL: the state of name servers, brokers and topics over time.

How to read them: [ask your own question](../howto/ask-your-own-question.md). The facts come from records,
whose fields another page explains: [the journal](journal.md).

## What holds for all of them

- **Times** of tables are milliseconds since 1970 as bigint. An interval begins at `valid_from` and ends
  before `valid_to`.
- **Entry views** are queries over the tables, not files: `namekeeper sql` has them beside the tables, and
  in Spark `SparkTables(spark, tables).create_entry_views()` makes them. Their times are timestamps with
  milliseconds, their days are dates, and their `cluster_label` is never null, so that they join with `=`.
- **Readable views** have the rows and columns of one table, with timestamps and dates: `readable_topic_route`
  is `topic_route`. Each table below has one if a unit is `ms since 1970` or `day`. `valid_to_day` of an open
  row is null there, where the table has the word `open`. `namekeeper sql` has them, and in Spark
  `SparkTables(spark, tables).create_readable_views()` makes them. For tables in a catalog
  `namekeeper pipeline tables --ddl` prints the statements that make both kinds of views. To read a large
  table, limit `day`, `valid_to_day` or a time of the table itself: a condition on a readable view reads all
  its rows.
- **Units.** `ms` is a duration, `ms since 1970` a point in time, `how many` a count, and a `number` names
  something: it can't be added. `day` is the text of a day, such as 2026-03-01.
- **No doubles.** A fact that a later segment repeats is there once; `load_id` is the run that
  brought it.
- **Order.** The records of a name server are in the order (boot, place, seq), never by `ts`: a
  clock can be set back. *Effective* ms are the smallest `ts` of a record and of all later ones in
  this order, so they never run backwards. A record in the time that a step back hides has no
  time of its own; it is in `events` and `change_log`, and `name_server_session.hidden_ms` is the
  length of this time.
- **Unknown** is neither up nor down. Where records are missing, `name_server_timeline` says
  `unknown` from the last change before the loss to the next complete checkpoint, and no history has
  a row of that name server in this time. After a crash it is `unknown` from when the server noted
  last that it ran, which it does each second.
- **Windows.** Of a name server that `namekeeper observe` follows, a change is known to lie between two
  answers. Times are those of the later answer. The change happened up to `window_ms`, `from_window_ms` or
  `to_window_ms` before that; null means that the time is exact. `uncertain_ms` of a broker or topic is the
  time within windows that end one of its states: that much of a state may belong to the next one. If
  several name servers decide about a state, the window is that of the record that ended it.
- **Not known yet** is what is later than `name_server_session.knows_up_to` of the newest boot.
- **Days** are those of the warehouse's time zone, which is fixed when it is made.
- **Partitions.** Histories are partitioned by `valid_to_day`, open rows in one of their own; tables
  of days by `day`. A run writes only the partitions that new segments change.
- **The result does not depend** on how segments were cut, in which runs they came, or in what
  order.
- Strings are as the journal has them: names of topics may hold anything, line ends included.

## How they are computed

- A *witness* for a broker is a name server that is up and known, and has seen the cluster within 7
  days. In this boot it has had a registration of this broker, or has been up for 120 s. A broker is
  up if any witness has it registered, down if there are witnesses and none has, and unknown without
  a witness. So the restart of a name server is no outage of brokers.
- A *shadow* (`namekeeper observe --shadow`) is no witness, because no client asks it. States, outages,
  availability, flaps, propagation, drift, clocks and incidents leave it out. Histories, sessions, activity
  and `capacity_daily` have its rows.
- A broker, or a topic whose brokers went, is forgotten 7 days after its last registration ended. A topic
  that was deleted is forgotten at once.
- Differences between name servers are computed on corrected time. `name_server_clock_daily` has the
  error of each clock: the median over changed registrations that several name servers saw in sessions
  that went on. With fewer than 5 of them a clock counts as correct. Differences under 5 s are
  propagation, and are not listed as drift.
"""


def render_reference() -> str:
    """The page docs/reference/warehouse.md, as Markdown."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    histories = [history.table for history in (TIMELINE, *HISTORIES, *DRIFTS)]
    listed = {table.name for table in (*histories, *BY_DAY)}
    groups = (
        ("Entry views: where people and BI tools start", list(ENTRY_VIEWS.values())),
        ("Gold: name servers", [table for name, table in GOLD.items() if name not in listed]),
        ("Gold: histories, what held from when to when", histories),
        ("Gold: by day", list(BY_DAY)),
        ("Facts", list(FACTS.values())),
    )
    yield _HEAD
    yield "## The tables"
    for title, tables in groups:
        yield ""
        yield f"{title}: " + ", ".join(f"[`{table.name}`](#{table.name})" for table in tables) + "."
    for title, tables in groups:
        yield ""
        yield f"## {title}"
        for table in tables:
            yield from _section(table)


def _section(table: Table) -> Iterable[str]:
    key = ", ".join(f"`{name}`" for name in table.key)
    yield ""
    yield f"### {table.name}"
    yield ""
    yield table.meaning
    yield ""
    yield f"A row is {table.grain}" + (f"; its key is {key}." if key else "; rows have no key.")
    yield ""
    yield "| column | type | unit | meaning |"
    yield "| --- | --- | --- | --- |"
    for column in table.columns:
        yield f"| `{column.name}` | `{column.type}` | {unit_of(column)} | {_cell(column.meaning)} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    sys.stdout.write(render_reference())
