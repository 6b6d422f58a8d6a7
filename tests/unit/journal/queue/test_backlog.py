"""The queue is in order, bounded by what its entries weigh, and wakes who waits."""

import threading

from namekeeper.journal.queue.backlog import Backlog, Entry
from tests.support.system.waiting import PATIENCE


def entry(seq: int = 1, weight: int = 10, records: int = 1) -> Entry:
    return Entry(seq, records, 0, 0, weight, lambda _: ())


def test_entries_come_out_in_order():
    backlog = Backlog(100)
    for seq in (1, 2, 3):
        assert backlog.put(entry(seq))
    assert (len(backlog), backlog.first().seq) == (3, 1)
    assert [backlog.take().seq for _ in range(3)] == [1, 2, 3]
    assert backlog.take() is backlog.first() is None


def test_an_entry_knows_its_last_record():
    assert entry(5, records=3).last_seq == 7


def test_there_is_room_again_when_entries_are_written_not_when_they_are_taken():
    backlog = Backlog(25)
    assert backlog.put(entry())
    assert backlog.put(entry())
    assert not backlog.put(entry())
    assert backlog.put(entry(), must=True)
    backlog.take()
    assert (backlog.weight, backlog.put(entry())) == (30, False)
    backlog.done(10)
    backlog.done(10)
    assert backlog.put(entry())
    assert backlog.weight == 20


def test_it_is_filling_when_three_quarters_are_taken():
    backlog = Backlog(20)
    backlog.put(entry(weight=15))
    assert not backlog.is_filling
    backlog.put(entry(weight=1))
    assert backlog.is_filling


def test_who_waits_is_woken_by_an_entry_or_by_hand():
    backlog = Backlog(100)
    backlog.wait(0)
    for wake in (lambda: backlog.put(entry()), backlog.wake):
        waiting = threading.Thread(target=backlog.wait, args=(30,))
        waiting.start()
        wake()
        waiting.join(10 * PATIENCE)
        assert not waiting.is_alive()
