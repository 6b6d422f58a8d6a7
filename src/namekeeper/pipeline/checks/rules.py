"""Rules that hold in every warehouse, and concerns about its journals; each is a query for the violations."""

from enum import StrEnum
from typing import NamedTuple

__all__ = ["CONCERNS", "RULES", "Check", "Level"]


class Level(StrEnum):
    """How bad a finding is."""

    BROKEN = "broken"
    CONCERN = "concern"


class Check(NamedTuple):
    """A rule, as a query for what breaks it."""

    name: str
    level: Level
    meaning: str
    """The meaning of a row of the query."""
    sql: str
    tables: tuple[str, ...]
    """Tables that it reads."""


RULES = (
    Check(
        "unknown time begins at a loss",
        Level.BROKEN,
        "unknown time without lost records",
        """
        SELECT t.namesrv, t.valid_from, t.valid_to
        FROM name_server_timeline t
        LEFT JOIN lost_records l ON l.namesrv = t.namesrv AND l.unknown_from = t.valid_from
        WHERE t.state = 'unknown' AND l.namesrv IS NULL
        """,
        ("name_server_timeline", "lost_records"),
    ),
    Check(
        "unknown time ends at a complete checkpoint",
        Level.BROKEN,
        "unknown time that ends elsewhere",
        """
        SELECT t.namesrv, t.valid_from, t.valid_to
        FROM name_server_timeline t
        LEFT JOIN known_span k ON k.namesrv = t.namesrv AND k.from_ts = t.valid_to
        WHERE t.state = 'unknown' AND t.valid_to IS NOT NULL AND k.namesrv IS NULL
        """,
        ("name_server_timeline", "known_span"),
    ),
    Check(
        "sessions are inside boots",
        Level.BROKEN,
        "a session that does not lie in the time of its boot",
        """
        SELECT s.namesrv, s.boot, s.gen, s.valid_from, s.valid_to
        FROM broker_session s
        LEFT JOIN name_server_timeline t
          ON t.namesrv = s.namesrv AND t.boot = s.boot AND t.valid_from <= s.valid_from
          AND coalesce(t.valid_to, :forever) >= coalesce(s.valid_to, :forever)
        WHERE t.namesrv IS NULL
        """,
        ("broker_session", "name_server_timeline"),
    ),
    Check(
        "times of a day add up",
        Level.BROKEN,
        "a broker with more time on a day than the day has, or less than none",
        """
        SELECT day, cluster, broker_name, broker_id, up_ms, down_ms, unknown_ms
        FROM broker_availability_daily
        WHERE up_ms < 0 OR down_ms < 0 OR unknown_ms < 0 OR up_ms + down_ms + unknown_ms > :longest_day_ms
        """,
        ("broker_availability_daily",),
    ),
    Check(
        "sessions are recorded",
        Level.BROKEN,
        "a session without a record of it",
        """
        SELECT s.namesrv, s.boot, s.gen
        FROM broker_session s
        LEFT JOIN broker_live f ON f.namesrv = s.namesrv AND f.boot = s.boot AND f.gen = s.gen AND NOT f.gone
        WHERE f.namesrv IS NULL
        """,
        ("broker_session", "broker_live"),
    ),
)

CONCERNS = (
    Check(
        "lost records",
        Level.CONCERN,
        "records are missing: the time until the next complete checkpoint is unknown",
        """
        SELECT namesrv, boot, first_seq, reason, lost_records, unknown_from, unknown_to
        FROM lost_records
        ORDER BY unknown_from DESC
        """,
        ("lost_records",),
    ),
    Check(
        "overlapping boots",
        Level.CONCERN,
        "a boot began before the one before it had ended: two processes with one identity, or a clock"
        " set back",
        """
        SELECT * FROM (
          SELECT namesrv, boot, lag(boot) OVER w AS before, lag(knows_up_to) OVER w AS before_knows_up_to
          FROM name_server_session
          WINDOW w AS (PARTITION BY namesrv ORDER BY boot)
        ) AS followed
        WHERE boot < before_knows_up_to
        """,
        ("name_server_session",),
    ),
    Check(
        "several journals",
        Level.CONCERN,
        "boots of one name server come from journals with different UUIDs",
        """
        SELECT namesrv, count(DISTINCT uuid) AS journals FROM name_server_session
        GROUP BY namesrv HAVING count(DISTINCT uuid) > 1
        """,
        ("name_server_session",),
    ),
    Check(
        "dropped by the server",
        Level.CONCERN,
        "the server says that its journal could not keep up, or that the disk failed",
        "SELECT namesrv, boot, dropped_changes, dropped_records FROM name_server_session WHERE"
        " dropped_changes > 0",
        ("name_server_session",),
    ),
    Check(
        "quarantine",
        Level.CONCERN,
        "lines that could not be read, or segments that end early",
        "SELECT file, reason, count(*) AS lines, min(detail) AS detail FROM quarantine GROUP BY file, reason",
        ("quarantine",),
    ),
    Check(
        "clock skew",
        Level.CONCERN,
        "the clock of a name server is off by a second or more; comparisons are corrected for it",
        """
        SELECT namesrv, count(*) AS days, min(offset_ms) AS smallest_ms, max(offset_ms) AS largest_ms
        FROM name_server_clock_daily
        WHERE abs(offset_ms) >= :large_offset_ms
        GROUP BY namesrv
        """,
        ("name_server_clock_daily",),
    ),
    Check(
        "clock set back",
        Level.CONCERN,
        "the clock of a name server was set back: what it wrote in that time shows only in events",
        "SELECT namesrv, boot, clock_back_ms, hidden_ms FROM name_server_session WHERE clock_back_ms > 0",
        ("name_server_session",),
    ),
)
