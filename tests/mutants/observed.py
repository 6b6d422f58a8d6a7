"""Bugs of an observer's windows: each is longer, shorter or elsewhere than the requests around a change allow."""

from tests.mutants.mutant import Mutant

__all__ = ["OBSERVED_MUTANTS"]

LAW = ("observe/test_law.py::test_every_answer_is_one_that_the_journal_allows",)

OBSERVED_MUTANTS = (
    Mutant(
        "window-narrowed",
        "observe/tables.py",
        "max(1, received - since)",
        "max(1, (received - since) // 3)",
        "a window begins when the last request was sent that did not show the change",
        LAW,
    ),
    Mutant(
        "window-widened",
        "observe/tables.py",
        "max(1, received - since)",
        "max(1, received - since + 500)",
        "a window begins when the last request was sent that did not show the change",
        LAW,
    ),
    Mutant(
        "window-ends-too-early",
        "observe/observer.py",
        "self._journal.answered(answer.received, changes)",
        "self._journal.answered(answer.sent, changes)",
        "a window ends when the answer came that shows the change",
        LAW,
    ),
    Mutant(
        "brokers-from-the-answer-on",
        "observe/tables.py",
        "since, self._members_sent = self._members_sent, sent",
        "since, self._members_sent = self._members_sent, received",
        "what an answer shows was so when its request was sent, not until it came",
        LAW,
    ),
    Mutant(
        "rows-from-the-answer-on",
        "observe/tables.py",
        "        self._confirmed[topic] = sent\n",
        "        self._confirmed[topic] = received\n",
        "what an answer shows was so when its request was sent, not until it came",
        LAW,
    ),
    Mutant(
        "entries-from-the-answer-on",
        "observe/tables.py",
        "self._kv_sent.get(namespace), sent\n",
        "self._kv_sent.get(namespace), received\n",
        "what an answer shows was so when its request was sent, not until it came",
        LAW,
    ),
    Mutant(
        "row-is-gone-at-once",
        "observe/tables.py",
        "if before.keys() - rows.keys() and not self._is_decided(self._lost, topic, sent, received):",
        "if False:",
        "rows that are missing in a route count after a later answer for the brokers: they may have gone with one",
        ("observe/test_tables.py", *LAW),
    ),
    Mutant(
        "slow-answer-kept",
        "observe/observer.py",
        "return members.received.mono_ms - self._members_sent > limit_ms",
        "return False",
        "no window is longer than stated: a period ends if an answer takes longer",
        ("observe/test_observer.py",),
    ),
)
