"""The client's pure functions agree with the real classes of Java's client on thousands of generated cases."""

import json
import os
import subprocess
from typing import Any

import pytest

from tests.interop.client_answers import REFUSED, ours
from tests.interop.client_cases import FIVE_ONLY, OPERATIONS, Case, cases
from tests.support.java.artifacts import compiled
from tests.support.java.servers import FIVE, VERSIONS, java_command, scratch_home

pytestmark = [pytest.mark.interop, pytest.mark.slow]

SEED = os.environ.get("NAMEKEEPER_ORACLE_SEED", "1")

Answered = list[tuple[Case, Any]]


@pytest.fixture(scope="module", params=VERSIONS)
def answered(request: pytest.FixtureRequest) -> dict[str, Answered]:
    """Each case with the answer of a release, by operation; one Java process for all of them."""
    version = request.param
    asked = cases(SEED, five=version in FIVE)
    path, _ = compiled(version)
    with scratch_home(version) as home:
        done = subprocess.run(
            java_command(version, home, "ClientOracle", path=path),
            input="".join(f"{json.dumps(case)}\n" for case in asked),
            capture_output=True, text=True, timeout=800, check=False, cwd=home,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4_000:]
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    by_operation: dict[str, Answered] = {op: [] for op in OPERATIONS}
    for case, answer in zip(asked, answers, strict=True):
        by_operation[case["op"]].append((case, answer))
    return by_operation


@pytest.mark.parametrize("op", OPERATIONS)
def test_ours_is_what_java_says(answered, op):
    if not answered[op]:
        assert op in FIVE_ONLY
        pytest.skip("4.x doesn't have it")
    for case, answer in answered[op]:
        assert ours(case) == expected(case, answer), json.dumps(case, ensure_ascii=False)


def test_a_broker_that_is_picked_is_one_that_is_reachable(answered):
    for case, answer in answered["select"]:
        for step in answer if case["five"] else ():
            reachable = [name for name, _, is_reachable in step["table"] if is_reachable]
            assert step["picked"] in reachable if reachable else step["picked"] is None


def test_the_cases_are_of_every_kind(answered):
    """Otherwise agreement says little."""
    refused = {
        op: sum(REFUSED in answer for _, answer in rows if isinstance(answer, dict))
        for op, rows in answered.items()
    }
    assert refused["publish"] > 50
    assert refused["topic"] > 500
    assert refused["allocate"] > 100
    assert 500 < sum(answer for _, answer in answered["changed"]) < 2_500
    assert sum(bool(answer) for _, answer in answered["allocate"]) > 3_000
    assert (
        sum(any(not row[1] for step in answer for row in step["table"]) for _, answer in answered["select"])
        > 500
    )


def expected(case: Case, answer: Any) -> Any:
    """Return what ours must be: Java's answer, less what Java leaves to chance."""
    if isinstance(answer, dict) and REFUSED in answer:
        return REFUSED
    if case["op"] == "publish":
        return {**answer, "queues": by_scope(case, answer["queues"])}
    if case["op"] == "select":
        return [{"queue": step["queue"], "table": step["table"]} for step in answer]
    return answer


def by_scope(case: Case, rows: list[list[Any]]) -> list[list[Any]]:
    """Order logical queues of one id by scope, where Java has them in the order of a hash table."""
    route = json.loads(case["route"])
    if route["orderTopicConf"] is not None or not route["topicQueueMappingByBroker"]:
        return rows
    ids = [row[2] for row in rows]
    assert ids == sorted(ids)
    return sorted(rows, key=lambda row: (row[2], row[1]))
