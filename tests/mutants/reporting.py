"""Bugs of the report: what it leaves out, where it puts it, and what it says of it."""

from tests.mutants.mutant import Mutant

__all__ = ["REPORT_MUTANTS"]

REPORT = "pipeline/report/"

REPORT_MUTANTS = (
    Mutant(
        "rows-of-other-figures-joined",
        REPORT + "table.py",
        "key: object = others if len(others) < len(cells) else number",
        "key: object = others[:1] if len(others) < len(cells) else number",
        "only rows that read the same but for their names are one row",
        (REPORT + "test_table.py",),
    ),
    Mutant(
        "order-without-milliseconds",
        REPORT + "times.py",
        "return len({ms // 1_000 for ms in different}) < len(different)",
        "return len({ms // 1_000 for ms in different}) < len(different) - 1",
        "two instants within a second are shown with their milliseconds",
        (REPORT + "test_times.py", REPORT + "test_table.py"),
    ),
    Mutant(
        "axis-of-whole-days",
        REPORT + "period.py",
        "known = Period(max(begin, found[0]), min(end, found[-1]))",
        "known = Period(begin, end)",
        "the axis shows the time of which something is known, and not the whole days",
        (REPORT + "test_period.py",),
    ),
    Mutant(
        "days-of-another-zone",
        REPORT + "period.py",
        "return round(day.replace(tzinfo=ZoneInfo(zone)).timestamp() * 1_000)",
        "return round(day.replace(tzinfo=ZoneInfo('UTC')).timestamp() * 1_000)",
        "a day begins at midnight of the zone of the warehouse",
        (REPORT + "test_period.py",),
    ),
    Mutant(
        "bar-drawn-from-the-left",
        REPORT + "scale.py",
        "share = (ms - self.period.first_ms) / self.period.duration_ms",
        "share = ms / self.period.last_ms",
        "an instant is where its share of the period is",
        (REPORT + "test_scale.py",),
    ),
    Mutant(
        "incidents-as-they-came",
        REPORT + "sections/incidents.py",
        "groups = sorted((_group(rows) for rows in alike.values()), key=_cost)",
        "groups = [_group(rows) for rows in alike.values()]",
        "what cost most in all comes first",
        (REPORT + "sections/test_incidents.py",),
    ),
    Mutant(
        "names-cut-beside-the-plot",
        REPORT + "plots.py",
        "LABEL = 160\n",
        "LABEL = 60\n",
        "names as long as they may be are shown whole",
        (REPORT + "sections/test_incidents.py",),
    ),
    Mutant(
        "open-incident-is-over",
        REPORT + "sections/incidents.py",
        'is_open = any(row["is_open"] for row in rows)',
        'is_open = all(row["is_open"] for row in rows) and len(rows) > 1',
        "an incident that is not over is said to be so",
        (REPORT + "sections/test_incidents.py",),
    ),
    Mutant(
        "cut-changes-not-counted",
        REPORT + "sections/changes.py",
        'yield Fold(shown_local(begin, zone)[:-3], summary, rows, rows[0]["slice_groups"] - len(rows))',
        "yield Fold(shown_local(begin, zone)[:-3], summary, rows, 0)",
        "of each hour the report says how many rows it does not list",
        (REPORT + "sections/test_changes.py",),
    ),
    Mutant(
        "good-news-of-nothing",
        REPORT + "head.py",
        "    if report.period is None:\n        return []\n",
        "",
        "where nothing is known the report does not say that all was well",
        (REPORT + "test_head.py",),
    ),
    Mutant(
        "names-are-markup",
        REPORT + "html.py",
        "autoescape=True",
        "autoescape=False",
        "a name that a stranger chose is text of the page",
        (REPORT + "test_html.py",),
    ),
    Mutant(
        "any-script-runs",
        REPORT + "html.py",
        'f"script-src {_source(script)}"',
        "\"script-src 'unsafe-inline'\"",
        "the policy of the page allows its own script alone",
        (REPORT + "test_html.py",),
    ),
)
