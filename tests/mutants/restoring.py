"""Bugs of a restart: each forgets a route, serves a dead one, or serves a part (docs/decisions/0020)."""

from tests.mutants.mutant import Mutant

__all__ = ["RESTORING_MUTANTS"]

ROUTE, READING, RECORDING = "route/test_", "journal/reading/test_", "journal/recording/test_"
APP = "app/test_restoring.py"

RESTORING_MUTANTS = (
    Mutant(
        "expiry-counted-anew-from-the-start",
        "route/live.py",
        "_refresh(info, Now(now.wall_ms - event.idle_ms, now.mono_ms - event.idle_ms))",
        "_refresh(info, now)",
        "a restored broker expires when it would have",
        (ROUTE + "restore.py", APP),
    ),
    Mutant(
        "registration-takes-the-restored-generation",
        "route/commit.py",
        "        or live.channel is not channel\n",
        "        or (live.channel is not None and live.channel is not channel)\n",
        "a late 104 of an older generation does not end a restored row whose broker is back",
        (ROUTE + "restore.py",),
    ),
    Mutant(
        "restored-row-over-the-first-connection",
        "route/restore.py",
        "NO_CHANNEL = 0\n",
        "NO_CHANNEL = 1\n",
        "the close of a connection ends nobody who was restored",
        (ROUTE + "restore.py",),
    ),
    Mutant(
        "a-part-restored-up-to-the-damage",
        "journal/reading/intact_records.py",
        "        if name.last_seq not in {None, last_seq}:\n",
        "        if False:\n",
        "a journal that is not intact up to its end restores nothing",
        (READING + "intact_records.py", APP),
    ),
    Mutant(
        "a-part-restored-over-a-hole",
        "journal/reading/last_state.py",
        "            self.is_known, self.has_lost = False, True\n",
        "            self.has_lost = True\n",
        "a journal with a hole since its last complete checkpoint restores nothing",
        (READING + "last_state.py",),
    ),
    Mutant(
        "members-without-registration-restored",
        "journal/reading/last_state.py",
        "        if not _are_consistent(tables):\n",
        "        if False:\n",
        "rows that contradict each other are not served: nobody would ever end them",
        (READING + "last_state.py",),
    ),
    Mutant(
        "silent-boot-counts",
        "journal/reading/last_state.py",
        "return None if boot.is_silent else boot.result()",
        "return boot.result()",
        "a server that crashes just after its start forgets nothing",
        (READING + "last_state.py",),
    ),
    Mutant(
        "clock-behind-the-journal-believed",
        "app/restoring.py",
        "    if away_ms < -CLOCK_STEP_MS:\n",
        "    if False:\n",
        "a clock that jumped back restores nothing",
        (APP,),
    ),
    Mutant(
        "unknown-silence-is-none",
        "app/restoring.py",
        "last.idle_ms.get(live.key, live.heartbeat_timeout_ms + 1)",
        "last.idle_ms.get(live.key, 0)",
        "a broker whose records do not say when it was heard expires",
        (APP,),
    ),
    Mutant(
        "overdue-served-until-the-first-scan",
        "app/restoring.py",
        "            self._submit(end)\n",
        "            pass\n",
        "who was due while the server was away is gone before the first request",
        (APP,),
    ),
    Mutant(
        "step-of-the-clock-ignored",
        "journal/reading/last_heard.py",
        "if heard_up_ms <= record.up_ms and (stepped is None or stepped < heard_up_ms):",
        "if True:",
        "a step of the wall clock makes no broker younger than it is",
        (READING + "last_heard.py",),
    ),
    Mutant(
        "restored-counts-as-heard",
        "journal/recording/activity.py",
        "        if event.idle_ms:\n            return\n",
        "",
        "a restored broker was not heard, and a second restart must not take it for that",
        (RECORDING + "activity.py", APP),
    ),
    Mutant(
        "checkpoint-refreshes",
        "journal/recording/snapshot.py",
        "idle_ms=max(1, live.idle_ms(now)),",
        "idle_ms=1,",
        "a checkpoint says how long ago each broker was heard",
        (RECORDING + "snapshot.py",),
    ),
    Mutant(
        "restored-routes-dropped",
        "journal/recording/sequencer.py",
        "            must = change.cause is Cause.RESTORED\n",
        "            must = False\n",
        "restored routes are recorded, whatever the room: the next restart needs them",
        (RECORDING + "sequencer.py",),
    ),
    Mutant(
        "begin-of-a-boot-at-the-present",
        "journal/recording/recorder.py",
        "        self._beginning = now\n",
        "",
        "what happened while the journal was loaded is not recorded before its first checkpoint in time",
        (RECORDING + "recorder.py",),
    ),
)
