"""A taste of each target in every test run, and the engine's own promises."""

import pytest

from tests.fuzz import engine
from tests.fuzz.__main__ import main
from tests.fuzz.engine import ContractBrokenError, fuzz, seeds, try_input
from tests.fuzz.targets import TARGETS


@pytest.mark.parametrize("target", TARGETS)
def test_a_target_keeps_its_contract(target):
    assert len(seeds(target)) > 0
    assert fuzz(target, seconds=300, seed=0, most=500) > 0


def test_a_failure_says_how_to_see_it_again(monkeypatch, capsys):
    monkeypatch.setitem(TARGETS, "proxy_header", lambda data: 1 // (b"PROXY" not in data))
    assert main(["--target", "proxy_header", "--seconds", "300"]) == 1
    printed = capsys.readouterr().err
    assert "ZeroDivisionError" in printed
    repeat = printed.strip().splitlines()[-1].split("python -m tests.fuzz ")[1]
    assert main(repeat.split()) == 1
    monkeypatch.undo()
    assert main(repeat.split()) == 0


def test_a_target_that_hangs_is_a_failure(monkeypatch):
    def hang(data: bytes) -> None:
        while True:
            pass

    monkeypatch.setitem(TARGETS, "frame", hang)
    monkeypatch.setattr(engine, "MAX_SECONDS_PER_INPUT", 0.05)
    with pytest.raises(ContractBrokenError):
        try_input("frame", b"")


def test_the_same_seed_gives_the_same_inputs(monkeypatch):
    runs: list[list[bytes]] = []
    for _ in range(2):
        seen: list[bytes] = []
        monkeypatch.setitem(TARGETS, "fastjson", seen.append)
        fuzz("fastjson", seconds=300, seed=5, most=50)
        runs.append(seen)
    assert runs[0] == runs[1]


def test_all_targets_run_in_the_time_given(capsys):
    assert main(["--seconds", "0.1"]) == 0
    assert capsys.readouterr().out.count("nothing found") == len(TARGETS)


def test_a_number_of_inputs_is_the_same_on_every_machine(capsys):
    assert main(["--seconds", "300", "--inputs", "7", "--target", "fastjson"]) == 0
    assert capsys.readouterr().out == "fastjson: 7 inputs, nothing found\n"
