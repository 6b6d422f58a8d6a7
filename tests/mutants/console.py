"""Bugs of the console: what it reads, what it keeps, who may ask."""

from tests.mutants.mutant import Mutant

__all__ = ["CONSOLE_MUTANTS"]

FOLLOWING = "journal/reading/test_following.py"

CONSOLE_MUTANTS = (
    Mutant(
        "console-by-any-name",
        "console/doors.py",
        "        return None if is_ours else",
        "        return None if is_ours or name else",
        "a page of a stranger can't reach the console through a name of its own",
        ("console/test_doors.py",),
    ),
    Mutant(
        "console-without-token",
        "console/doors.py",
        "        if not self.token or any(",
        "        if not (self.token and tokens) or any(",
        "where there is a token, who has none gets nothing",
        ("console/test_doors.py",),
    ),
    Mutant(
        "half-a-line-is-read",
        "journal/reading/following.py",
        "        if rest and not is_last:\n",
        "        if rest:\n",
        "a line that is being written is read when it is complete",
        (FOLLOWING,),
    ),
    Mutant(
        "no-checkpoint-after-a-loss",
        "journal/reading/following.py",
        "            elif isinstance(step, Lost | Began):\n",
        "            elif isinstance(step, Began):\n",
        "after a loss the rows of the next checkpoint are read",
        (FOLLOWING,),
    ),
    Mutant(
        "one-checkpoint-for-all-boots",
        "journal/reading/following.py",
        "            elif isinstance(step, Lost | Began):\n",
        "            elif isinstance(step, Lost):\n",
        "the first checkpoint of each boot tells of the KV configuration and the properties",
        (FOLLOWING,),
    ),
    Mutant(
        "a-change-counts-a-moment-later",
        "answers/row_versions.py",
        "        if version.event.at <= at:\n",
        "        if version.event.at < at:\n",
        "the state at an instant has what happened at that instant",
        ("answers/test_row_versions.py",),
    ),
    Mutant(
        "first-checkpoint-is-a-change",
        "answers/row_versions.py",
        "        return not (event.what is What.CORRECTED and event.at == first)\n",
        "        return True\n",
        "rows that the first complete checkpoint shows are no change",
        ("answers/test_row_versions.py",),
    ),
    Mutant(
        "generations-disagree",
        "console/instants.py",
        '    return version.values[:3] if key[0] == "live" else version.values\n',
        "    return version.values\n",
        "how often a broker registered at one name server is no disagreement",
        ("console/test_instants.py",),
    ),
    Mutant(
        "the-unknown-disagrees",
        "console/instants.py",
        "    known = [held for held in all_held if held.has_state]\n",
        "    known = list(all_held)\n",
        "what is unknown is no disagreement",
        ("console/test_instants.py",),
    ),
    Mutant(
        "console-takes-the-lock-all-the-time",
        "console/histories.py",
        "now_ms - self._looked_ms >= _LOOK_MS:",
        "now_ms >= self._looked_ms:",
        "whether a stopped name server runs is looked at now and then: looking takes its lock for a moment",
        ("console/test_histories.py",),
    ),
    Mutant(
        "the-same-routes-each-time",
        "console/live.py",
        "        self._turn = begin + _ROUTES_AT_ONCE\n        return topics[begin : self._turn]\n",
        "        return topics[begin : begin + _ROUTES_AT_ONCE]\n",
        "of many topics every one is asked for in its turn",
        ("console/test_live.py",),
    ),
    Mutant(
        "a-silent-one-is-known",
        "console/live_steps.py",
        "        yield Lost(_BOOT, self._seq, last_at)\n",
        "",
        "what a name server held while it did not answer is unknown",
        ("console/test_live_steps.py",),
    ),
)
