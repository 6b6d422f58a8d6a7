"""Prometheus' own tool, where it is installed, and tests of rules made for it."""

import json
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

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


def firing(
    folder: Path, series: Series, at: str, step_seconds: int = STEP_SECONDS, *, rules: Path = RULES
) -> dict[str, int]:
    """How many series of each alert fire at a time, by Prometheus itself."""
    test = {
        "rule_files": [str(rules)],
        "evaluation_interval": f"{step_seconds}s",
        "tests": [
            {
                "interval": f"{step_seconds}s",
                "input_series": [{"series": name, "values": values} for name, values in series.items()],
                "promql_expr_test": [{"expr": FIRING, "eval_time": at, "exp_samples": NEVER}],
            }
        ],
    }
    file = folder / "test.yml"
    file.write_text(json.dumps(test))  # JSON is YAML
    complaint = promtool("test", "rules", str(file)).stderr
    got = complaint.partition("got:")[2]
    assert got, complaint
    return {name: int(number) for name, number in re.findall(r'{alertname="(\w+)"} (\d+)', got)}
