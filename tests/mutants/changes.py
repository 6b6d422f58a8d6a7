"""Bugs of what bounds a change of the tables: its slices, what it keeps alive, and the limits of peers."""

from tests.mutants.mutant import Mutant

__all__ = ["CHANGE_MUTANTS"]

CHANGE_MUTANTS = (
    Mutant(
        "refusal-leaves-names",
        "route/commit.py",
        '        if assessment.is_guarded:\n            return RegisterResult(is_refused=True, outcome="refused")\n'
        "        self._leave_other_name()\n        self._join_cluster()\n",
        "        self._leave_other_name()\n        self._join_cluster()\n"
        '        if assessment.is_guarded:\n            return RegisterResult(is_refused=True, outcome="refused")\n',
        "a refused registration changes nothing",
        ("route/test_commit.py", "route/test_registration.py"),
    ),
    Mutant(
        "each-set-of-names-has-its-own-history",
        "route/broker_names.py",
        "        if not self._is_newest or self._position",
        "        if self._position or self._position",
        "a set of broker names made from the newest one costs one entry",
        ("route/test_broker_names.py",),
    ),
    Mutant(
        "old-set-of-names-grows",
        "route/broker_names.py",
        "        if not self._is_newest or self._position",
        "        if self._position",
        "a set of broker names never changes",
        ("route/test_broker_names.py",),
    ),
    Mutant(
        "copy-of-a-table-that-changed",
        "route/rows.py",
        "return copy if made_of is table else dict(table)",
        "return copy if made_of is not None else dict(table)",
        "a copy is used only if it was made of the table as it is now",
        ("route/test_rows.py",),
    ),
    Mutant(
        "each-entry-makes-a-table",
        "route/topics.py",
        "for broker_name, spec in dict(known).items()",
        "for broker_name, spec in reversed(list(known))",
        "of several entries of one broker name in a 217 the last one counts",
        ("route/test_topics.py",),
    ),
    Mutant(
        "permission-in-one-turn",
        "route/rows.py",
        "            if some:\n                yield\n\n\nclass TableCopies",
        "\n\nclass TableCopies",
        "205 and 327 of a large table are made in slices",
        ("route/test_topics.py",),
    ),
    Mutant(
        "log-keeps-tables",
        "app/log_lines.py",
        "            return _ShownRows(event.broker_name, rows, len(event.topics))",
        "            return event if topics == () else _ShownRows(event.broker_name, rows, len(event.topics))",
        "a log message that waits keeps no topic table alive",
        ("app/test_log_lines.py",),
    ),
    Mutant(
        "journal-keeps-tables",
        "journal/recording/weight.py",
        "    if len(topics) * _FEW < len(after):",
        "    if not topics:",
        "a change of one row keeps one row in the journal's queue",
        ("journal/recording/test_weight.py",),
    ),
    Mutant(
        "values-weigh-nothing",
        "journal/recording/weight.py",
        '_texts(event.namespace, event.key, event.value or "")',
        "0",
        "a change weighs the texts that it keeps alive",
        ("journal/recording/test_weight.py",),
    ),
)
