"""The pages for operators name what there is, and nothing else."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from namekeeper.app.effects import ENDS
from namekeeper.app.log_lines import EVENTS_LIMIT, TOPIC_LINES_LIMIT, lines_of
from namekeeper.http.metrics import render_metrics, result_name
from namekeeper.http.stats import CertificateStats, JournalStats, NameServerStats
from namekeeper.model.topic import QueueSpec
from namekeeper.model.version import DataVersion
from namekeeper.route.events import (
    BrokerGroupGone,
    BrokerLiveChanged,
    BrokerLiveGone,
    BrokerNameRemoved,
    Cause,
    Change,
    ClusterChanged,
    ConfigChanged,
    KvChanged,
    MinBrokerIdChanged,
    TopicQueuesChanged,
    TopicRow,
)

ROOT = Path(__file__).parents[3]
REFERENCE = ROOT / "docs" / "reference"
SOURCE = ROOT / "src" / "namekeeper"
LOGGING = {"info", "warning", "error", "exception", "log", "_warn"}
LOGGING_CALL = re.compile(rf"\.\s*(?:{'|'.join(sorted(LOGGING))})\s*\(")
STATS = NameServerStats(
    version="1", start_time_seconds=1.0, degraded=("log",), fingerprints={"topics": 1}, closed_channels={"idle": 1},
    closed_broker_channels={"idle": 1},
    registrations={"new": 1}, requests={(105, 17): 1}, refused={("read", "none", "audit"): 1},
    journal=JournalStats(folder=str(Path.cwd())), certificates={"http": CertificateStats(not_after_seconds=1.0)},
)  # fmt: skip
"""With a series for each label."""


def rendered() -> dict[str, str]:
    """Names of metrics, with their types."""
    text, _ = render_metrics(STATS)
    return dict(re.findall(r"^# TYPE (\S+) (\w+)$", text.decode(), re.MULTILINE))


def labels() -> dict[str, set[str]]:
    text, _ = render_metrics(STATS)
    series = re.findall(r"^(\w+)\{(.*)\}", text.decode(), re.MULTILINE)
    plain = {re.sub("_(bucket|count|sum)$", "", name): inside for name, inside in series}
    return {name: set(re.findall(r"(\w+)=", inside)) for name, inside in plain.items()}


def rows(page: str) -> dict[str, list[str]]:
    """The cells of each row of a page by the name that it begins with."""
    found = re.findall(r"^\| `(\w+)` \| (.*) \|$", (REFERENCE / page).read_text(), re.MULTILINE)
    return {name: [cell.strip() for cell in cells.split("|")] for name, cells in found}


def test_every_metric_has_a_row_with_its_type_and_the_page_has_no_other():
    named = {
        name: cells[0] for name, cells in rows("metrics.md").items() if name in rendered() or "_" in name
    }
    assert {
        name: kind for name, kind in named.items() if kind in {"gauge", "counter", "histogram"}
    } == rendered()


def test_every_label_is_named():
    described = rows("metrics.md")
    for name, expected in labels().items():
        assert set(re.findall(r"`(\w+)`", described[name][1])) >= expected, name
    without = rendered().keys() - labels().keys()
    assert not [
        name for name in without if name in described and len(described[name]) == 3 and described[name][1]
    ]


def test_results_of_registrations_are_explained():
    explained = set(rows("metrics.md"))
    source = (SOURCE / "route").rglob("*.py")
    outcomes = {word for file in source for word in re.findall(r'outcome="(\w+)"', file.read_text())}
    assert outcomes | {"new", "changed", "unchanged", "failed"} <= explained
    assert result_name(17) == "topic_not_exist"


# Logs.


@cache
def patterns() -> list[str]:
    """The texts on the page of logs, `{}` for what differs."""
    page = (REFERENCE / "logs.md").read_text()
    return re.findall(r"^\| (?:INFO|INFO, WARN|WARN|ERROR) \| `(.*?)` \|", page, re.MULTILINE)


def matches(pattern: str, text: str) -> bool:
    return re.fullmatch(re.escape(pattern).replace(r"\{\}", ".*"), text) is not None


def history() -> Iterator[Change]:
    """Changes whose lines are all that there are."""
    few, many = ("T1",), tuple(f"T{n}" for n in range(TOPIC_LINES_LIMIT + 1))
    old, new = (
        dict.fromkeys(many, TopicRow(QueueSpec(4, 4, perm), QueueSpec(4, 4, perm))) for perm in (6, 4)
    )
    live = ("c", "10.0.0.1:10911", "b", 0)
    yield Change(
        Cause.REGISTER, "peer", (BrokerLiveChanged(*live, "ha", 1, DataVersion(), 1, "peer", 1, is_new=True),)
    )
    for cause, before, after, topics in (
        (Cause.REGISTER, {}, new, many), (Cause.REGISTER, old, new, few), (Cause.REGISTER, old, {}, few),
        (Cause.REGISTER_TOPIC, {}, new, few), (Cause.WIPE_WRITE_PERM, old, new, few),
        (Cause.ADD_WRITE_PERM, new, old, few), (Cause.DELETE_TOPIC, old, {}, few), (Cause.UNREGISTER, old, {}, few),
    ):  # fmt: skip
        yield Change(cause, "peer", (TopicQueuesChanged("b", before, after, topics),))
    for reason in ENDS:
        yield Change(reason, None, (BrokerLiveGone(*live, 1, reason, 5, 120_000, "idle"),))
    yield Change(
        Cause.EXPIRED,
        None,
        (BrokerGroupGone("b"), ClusterChanged("c", frozenset()), BrokerNameRemoved("b", old)),
    )
    yield Change(Cause.PUT_KV, "peer", (KvChanged("a", "b", "c"), KvChanged("a", "b", None)))
    yield Change(Cause.PUT_KV, "peer", (KvChanged("a", "b", "c"),) * (EVENTS_LIMIT + 1))
    yield Change(Cause.UPDATE_CONFIG, "peer", (ConfigChanged({"a": "b"}),))
    yield Change(Cause.REGISTER, "peer", (MinBrokerIdChanged("b", 0, "x", ("y", "z")),))


def test_every_line_about_a_change_is_on_the_page():
    lines = {text for change in history() for _, text in lines_of(change)}
    for line in lines:
        assert any(matches(pattern, line) for pattern in patterns() if pattern != "{}"), line
    section = (REFERENCE / "logs.md").read_text().partition("## What changed")[2].partition("\n## ")[0]
    for pattern in re.findall(r"^\| \w+ \| `(.*?)` \|", section, re.MULTILINE):
        assert any(matches(pattern, line) for line in lines) or pattern.startswith("configTable"), pattern


LIBRARIES = {"broker", "client", "fleet", "mcp", "observe", "pipeline", "nsaddr.py"}
"""What logs where programs use it, not in a name server's files."""


def logged() -> Iterator[tuple[str, str]]:
    """Every text that a name server hands to a logger, with the file."""
    for file in SOURCE.rglob("*.py"):
        if file.relative_to(SOURCE).parts[0] in LIBRARIES:
            continue
        text = file.read_text()
        if not LOGGING_CALL.search(text):
            continue  # parsing takes most of the time
        for node in ast.walk(ast.parse(text)):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr in LOGGING
            ):
                texts = [
                    each.value
                    for each in node.args
                    if isinstance(each, ast.Constant) and isinstance(each.value, str)
                ]
                yield from ((file.name, re.sub(r"%[sdrg]", "{}", text)) for text in texts[:1])


def test_every_other_line_is_on_the_page():
    found = list(logged())
    assert len(found) > 20
    for file, text in found:
        wanted = "clusterTest: {}" if file == "cluster_test.py" and "failed" not in text else text
        assert wanted == "{}" or wanted in patterns(), (file, text)
