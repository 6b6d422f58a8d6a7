"""Bugs of what bounds a change of the tables: its slices, what it keeps alive, and the limits of peers."""

from tests.mutants.mutant import Mutant

__all__ = ["CHANGE_MUTANTS"]

CHANGE_MUTANTS = (
    Mutant(
        "carried-brokers-counted",
        "route/channel.py",
        "    return ENTRY_BYTES + sum(map(len, broker))",
        "    return ENTRY_BYTES",
        "what a connection remembers of brokers is measured in bytes",
        ("route/test_channel.py",),
    ),
    Mutant(
        "kv-printed-at-once",
        "app/housekeeping.py",
        "                await asyncio.sleep(0)\n        if left > 0:",
        "                pass\n        if left > 0:",
        "others have a turn while the KV configuration is printed",
        ("app/test_housekeeping.py",),
    ),
    Mutant(
        "limit-refuses-who-is-there",
        "route/assessment.py",
        "if header.broker_name not in names and 0 < rules.broker_names_limit",
        "if 0 < rules.broker_names_limit",
        "a limit refuses what is new and nothing else",
        ("route/test_assessment.py",),
    ),
    Mutant(
        "memberships-not-counted",
        "route/tables.py",
        "        self.memberships += len(event.broker_names) -",
        "        self.memberships += 0 * len(event.broker_names) -",
        "broker names are counted in every cluster that has them",
        ("route/test_assessment.py",),
    ),
    Mutant(
        "heartbeat-names-of-any-length",
        "processor/limits.py",
        "if name is not None and len(name) > limit:",
        "if name is not None and len(name) > limit * 4_000:",
        "names that peers give have a limit",
        ("processor/test_limits.py", "processor/test_registration.py"),
    ),
    Mutant(
        "entries-not-counted",
        "kvconfig/store.py",
        "        self._count += old is None\n",
        "",
        "KV entries have a limit",
        ("kvconfig/test_store.py",),
    ),
    Mutant(
        "refusal-leaves-names",
        "route/commit.py",
        "        if assessment.is_refused:\n"
        '            return RegisterResult(is_refused=True, limit=assessment.limit, outcome="refused")\n'
        "        self._leave_other_name()\n        self._join_cluster()\n",
        "        self._leave_other_name()\n        self._join_cluster()\n"
        "        if assessment.is_refused:\n"
        '            return RegisterResult(is_refused=True, limit=assessment.limit, outcome="refused")\n',
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
