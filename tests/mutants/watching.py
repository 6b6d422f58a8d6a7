"""Bugs of watching routes."""

from tests.mutants.mutant import Mutant

__all__ = ["WATCHING_MUTANTS"]

APP, RECENT, KEPT = (
    "app/test_watching.py",
    "journal/reading/test_recent.py",
    "processor/test_recent_changes.py",
)

WATCHING_MUTANTS = (
    Mutant(
        "watch-tells-twice",
        "processor/recent_changes.py",
        "change.revision > after, reversed",
        "change.revision >= after, reversed",
        "a change is told once, also to who was cut off",
        (KEPT,),
    ),
    Mutant(
        "watch-hides-that-changes-are-gone",
        "processor/recent_changes.py",
        "        if not self.floor <= after <= self.last:\n",
        "        if not after <= self.last:\n",
        "who missed changes that are not kept is told to read anew",
        (KEPT,),
    ),
    Mutant(
        "watch-keeps-everything",
        "processor/recent_changes.py",
        "            self.floor = oldest.revision\n",
        "",
        "what is not kept any more is not told as if it were all",
        (KEPT,),
    ),
    Mutant(
        "watch-misses-broker-groups",
        "processor/recent_changes.py",
        "                found += map(tables.topics_of, broker_names_shown(tables, event))\n",
        "                pass\n",
        "a change of a broker's addresses is told to who watches its topics",
        (KEPT,),
    ),
    Mutant(
        "watch-counts-the-newest-as-told",
        "app/watching.py",
        "numbering.seq - newest)",
        "numbering.seq - 1)",
        "what was recorded before anybody watched is read out of the journal",
        (APP,),
    ),
    Mutant(
        "watch-goes-on-over-new-numbers",
        "app/watching.py",
        "        if numbering.epoch != self._epoch:\n",
        "        if not self:\n",
        "when the journal begins a boot anew, older revisions are gone",
        (APP,),
    ),
    Mutant(
        "watch-without-a-bound",
        "app/watching.py",
        "        if len(self._pending) >= PENDING_LIMIT:\n            self.miss()\n",
        "",
        "a watcher that never reads keeps a bounded number of changes",
        (APP,),
    ),
    Mutant(
        "watch-wakes-all-at-once",
        "app/watching.py",
        "range(min(WOKEN_AT_ONCE, len(self._to_wake)))",
        "range(len(self._to_wake))",
        "look-ups go on while thousands of watchers are woken",
        (APP,),
    ),
    Mutant(
        "watch-forgets-nobody",
        "app/watching.py",
        "        self._watchers.discard(watcher)\n",
        "",
        "who leaves makes room for another watcher",
        (APP,),
    ),
    Mutant(
        "watch-passes-over-a-loss",
        "journal/reading/recent.py",
        "            has_lost = True\n",
        "",
        "a loss is told to everybody who watches",
        (RECENT,),
    ),
    Mutant(
        "watch-passes-over-a-start",
        "journal/reading/recent.py",
        "        return _in_every_topic(step, STARTED)\n",
        "        return None\n",
        "a start of the name server is told to everybody who watches",
        (RECENT,),
    ),
    Mutant(
        "watchers-take-the-pages-room",
        "http/gate.py",
        "len(self._server.connections) - len(self._kept)",
        "len(self._server.connections)",
        "watchers keep nobody from the other pages",
        ("http/test_gate.py",),
    ),
    Mutant(
        "watchers-end-with-the-pages",
        "http/gate.py",
        "        if end is not None:\n            end.cancel()\n        self._kept",
        "        self._kept",
        "a watcher lasts longer than connections of other pages",
        ("http/test_gate.py",),
    ),
    Mutant(
        "watchers-that-never-read-stay",
        "http/watch.py",
        "        async with asyncio.timeout(WRITE_SECONDS):\n            await response.write(data)\n",
        "        await response.write(data)\n",
        "a watcher that takes no bytes is closed",
        ("http/test_watch.py",),
    ),
)
