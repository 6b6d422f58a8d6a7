"""The Grafana dashboard: its queries are PromQL over metrics that the server has."""

import json
import re
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import pytest

from tests.deploy.metrics import our_metrics
from tests.deploy.prometheus import PROMTOOL, ROOT, promtool

DASHBOARD = json.loads((ROOT / "deploy" / "grafana" / "namekeeper.json").read_text())
PANELS = DASHBOARD["panels"]


def expressions() -> Iterator[str]:
    for panel in PANELS:
        for target in panel["targets"]:
            yield target["expr"]


def test_every_metric_of_the_dashboard_is_one_of_ours():
    named = {word for text in expressions() for word in re.findall(r"(?:rocketmq|process)_\w+", text)}
    assert named
    assert named <= our_metrics()


@pytest.mark.skipif(PROMTOOL is None, reason="promtool is not installed (Debian: apt-get install prometheus)")
def test_every_query_is_promql(tmp_path: Path):
    queries = [text.replace("$__rate_interval", "5m") for text in expressions()]
    rules = [{"record": f"panel:{number}", "expr": text} for number, text in enumerate(queries)]
    file = tmp_path / "rules.yml"
    file.write_text(json.dumps({"groups": [{"name": "panels", "rules": rules}]}))
    done = promtool("check", "rules", str(file))
    assert done.returncode == 0, done.stdout + done.stderr


def test_panels_do_not_lie_on_each_other():
    for one, other in combinations((panel["gridPos"] for panel in PANELS), 2):
        apart = (
            one["x"] + one["w"] <= other["x"]
            or other["x"] + other["w"] <= one["x"]
            or one["y"] + one["h"] <= other["y"]
            or other["y"] + other["h"] <= one["y"]
        )
        assert apart, (one, other)


def test_every_panel_takes_the_data_source_and_job_that_were_chosen():
    assert {panel["datasource"]["uid"] for panel in PANELS} == {"${datasource}"}
    assert all('job="$job"' in text for text in expressions())
