"""Bugs of the past as a name server."""

from tests.mutants.mutant import Mutant

__all__ = ["PAST_MUTANTS"]

PAST_MUTANTS = (
    Mutant(
        "past-without-properties",
        "processor/past.py",
        "    settings, _ = settings_from(properties)\n",
        "    settings, _ = settings_from({})\n",
        "the past answers by the properties of its time",
        ("processor/test_past.py",),
    ),
    Mutant(
        "past-without-kv",
        "processor/past.py",
        "KvConfigStore(kv)",
        "KvConfigStore()",
        "the past has the KV configuration of its time",
        ("processor/test_past.py",),
    ),
    Mutant(
        "past-waits-for-brokers",
        "processor/past.py",
        "    state.end_wait_for_service()\n",
        "",
        "the past answers at once, also where the live one waited for its brokers",
        ("processor/test_past.py",),
    ),
    Mutant(
        "past-takes-changes",
        "app/past.py",
        "        refuse_change(request, remark)\n",
        "",
        "nothing in the past can be changed",
        ("app/test_past.py",),
    ),
    Mutant(
        "past-guesses",
        "answers/source.py",
        "found.state if found.knowledge is Knowledge.KNOWN else None",
        "found.state",
        "what is not known is not served",
        ("answers/test_source.py", "cli/commands/test_past.py"),
    ),
    Mutant(
        "past-of-the-first-that-comes",
        "cli/commands/past.py",
        "    if others:\n",
        "    if not first:\n",
        "of several name servers one is chosen, never the first that comes",
        ("cli/commands/test_past.py",),
    ),
    Mutant(
        "past-of-the-stop",
        "cli/commands/past.py",
        "    if at is None and held.knowledge is Knowledge.STOPPED:\n",
        "    if False:\n",
        "without a time the last state is served, also of a name server that is stopped",
        ("cli/commands/test_past.py",),
    ),
    Mutant(
        "past-without-clusters",
        "answers/from_rows.py",
        '    "cluster_history": Cluster,\n',
        "",
        "a state out of a warehouse has its clusters",
        ("answers/test_from_rows.py",),
    ),
)
