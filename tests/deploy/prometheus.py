"""Prometheus' own tool, where it is installed, and tests of rules made for it."""

import json
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.system.waiting import PATIENCE

ROOT = Path(__file__).parents[2]
RULES = ROOT / "deploy" / "prometheus" / "namekeeper.rules.yml"
PROMTOOL = shutil.which("promtool") or shutil.which("build/prometheus/usr/bin/promtool", path=str(ROOT))

STEP_SECONDS = 30
STEPS = 80

needs_promtool = pytest.mark.skipif(
    PROMTOOL is None, reason="promtool is not installed (Debian: apt-get install prometheus)"
)

FIRING = 'count by (alertname) (ALERTS{alertstate="firing"})'
NEVER = [{"labels": "{}", "value": -1}]
"""A result that never comes: promtool complains, and says what it got."""

Series = Mapping[str, str]
"""Series -> its values in promtool's notation, one for each step."""


def promtool(*arguments: str) -> subprocess.CompletedProcess[str]:
    assert PROMTOOL is not None
    return subprocess.run(
        [PROMTOOL, *arguments], capture_output=True, text=True, timeout=60 * PATIENCE, check=False
    )


class Case(NamedTuple):
    """Series, and the times at which the alerts that fire are counted."""

    series: Series
    times: Sequence[str]


def firing(
    folder: Path, series: Series, at: str, step_seconds: int = STEP_SECONDS, *, rules: Path = RULES
) -> dict[str, int]:
    """How many series of each alert fire at a time, by Prometheus itself."""
    (found,) = firing_in(folder, [Case(series, [at])], step_seconds, rules=rules)
    return found


def firing_in(
    folder: Path, cases: Sequence[Case], step_seconds: int = STEP_SECONDS, *, rules: Path = RULES
) -> list[dict[str, int]]:
    """`firing` of every time of every case, in their order, by one start of the program."""
    test = {
        "rule_files": [str(rules)],
        "evaluation_interval": f"{step_seconds}s",
        "tests": [
            {
                "interval": f"{step_seconds}s",
                "input_series": [{"series": name, "values": values} for name, values in case.series.items()],
                "promql_expr_test": [
                    {"expr": FIRING, "eval_time": at, "exp_samples": NEVER} for at in case.times
                ],
            }
            for case in cases
        ],
    }
    file = folder / "test.yml"
    file.write_text(json.dumps(test))  # JSON is YAML
    complaint = promtool("test", "rules", str(file)).stderr
    _, *found = complaint.split("got:")
    assert len(found) == sum(len(case.times) for case in cases), complaint
    return [
        {name: int(number) for name, number in re.findall(r'{alertname="(\w+)"} (\d+)', got)} for got in found
    ]
