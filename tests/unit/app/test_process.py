"""What the process is prepared with: descriptors, garbage collector, event loop."""

import asyncio
import gc
import resource
import sys

import pytest

from namekeeper.app.process import (
    SWITCH_SECONDS,
    loop_factory,
    prepare_process,
    raise_descriptor_limit,
    spare_the_collector,
)


@pytest.fixture
def limits():
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield before
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_as_many_descriptors_as_the_system_allows(limits):
    _, hard = limits
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(256, hard), hard))
    raise_descriptor_limit()
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == (hard, hard)


def test_a_limit_that_can_not_be_raised_is_left(limits, monkeypatch):
    def refuse(*_):
        raise ValueError("not allowed to raise maximum limit")

    monkeypatch.setattr(resource, "setrlimit", refuse)
    raise_descriptor_limit()
    monkeypatch.undo()
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == limits


def test_the_collector_runs_rarely():
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    try:
        spare_the_collector()
        assert gc.get_threshold()[0] > 700
        assert gc.get_freeze_count() > 0
    finally:
        gc.unfreeze()
        gc.set_threshold(*before)


def test_no_thread_keeps_the_interpreter_for_long(limits):
    before = sys.getswitchinterval()
    sys.setswitchinterval(10 * SWITCH_SECONDS)
    try:
        prepare_process()
        assert sys.getswitchinterval() == pytest.approx(SWITCH_SECONDS)
    finally:
        sys.setswitchinterval(before)


def test_uvloop_if_it_is_installed(monkeypatch):
    uvloop = pytest.importorskip("uvloop")
    assert loop_factory() is uvloop.new_event_loop
    monkeypatch.setitem(sys.modules, "uvloop", None)
    assert loop_factory() is None
    asyncio.Runner(loop_factory=loop_factory()).close()
