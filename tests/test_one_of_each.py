"""An idea has one shape: row, source of steps, loop over segments, engine of periods, budget of the event loop.

`test_request_codes.py` shows it of the table of request codes, `test_row_fields.py` of the fields of a row.
"""

import ast
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

from namekeeper.journal.contract.record import STATE_KINDS, Record
from namekeeper.journal.contract.stated import RowPart, fields_of
from namekeeper.pipeline.gold.sql_text import sql_names

SRC = Path("src/namekeeper")
READS_A_SEGMENT = {"lines_of", "read_parts", "read_segment", "read_segment_lines", "records_of"}
"""Functions that read one segment of a journal."""
READS_FOR_ITSELF = ("journal/disk/", "journal/reading/reader.py", "pipeline/")
"""The reader; the writer, which repairs segments before anybody reads; the pipeline, which imports nothing of ours."""
PAST = ("answers/", "console/", "drift/", "history/")
"""Packages that answer from the past."""
KINDS = {kind.__name__ for kind in STATE_KINDS}
ROWS = [
    {each.name for each in fields_of(kind) if each.part is RowPart.VALUE} - set(Record.__struct_fields__)
    for state_kind in STATE_KINDS
    for kind in (state_kind, *(each.rows for each in fields_of(state_kind) if each.rows))
]
"""For each kind of row the names of its values."""
CONTRACT = {"journal/contract/record.py", "journal/contract/activity.py"}
REPEATS_A_ROW = {
    ("answers/evidence.py", "TopicRoute"): "`why` shows effective queues, those after a permission was wiped",
    ("answers/evidence.py", "BrokerSession"): "a session goes on over several rows",
    ("journal/recording/activity.py", "_LiveRegistration"): "counts heartbeats of a minute",
}
"""Classes with the values of a row, besides the contract and the live tables, and the reason of each."""
READS_A_FINE_CLOCK = {
    "remoting/scheduler.py": "divides the time of an iteration of the event loop",
    "app/durations.py": "measures how long answers take",
    "remoting/sampling.py": "measures what a sample of the lookups takes",
    "journal/journal.py": "leaves most of the time to other threads than that of the journal",
}
"""Modules that measure less than a millisecond, and why they do not share the budget of the scheduler."""


@cache
def sources() -> Mapping[str, str]:
    return {str(path.relative_to(SRC)): path.read_text() for path in sorted(SRC.rglob("*.py"))}


@cache
def tree_of(module: str) -> ast.Module:
    """A module, parsed: each is looked at for several rules."""
    return ast.parse(sources()[module])


def trees(*names: str, of: tuple[str, ...] = ("",)) -> Mapping[str, ast.Module]:
    """The modules of some packages in which one of the names stands, parsed."""
    some = ((module, text) for module, text in sources().items() if module.startswith(of))
    return {module: tree_of(module) for module, text in some if any(name in text for name in names)}


def called(node: ast.AST) -> Iterator[str]:
    for each in ast.walk(node):
        if isinstance(each, ast.Call):
            yield each.func.attr if isinstance(each.func, ast.Attribute) else getattr(each.func, "id", "")


def repeated(node: ast.AST) -> list[ast.AST]:
    """What a loop does in each round."""
    if isinstance(node, ast.For | ast.While):
        return list(node.body)
    if isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp):
        return [node.elt, *(each.iter for each in node.generators[1:])]
    return []


def loops_over_segments(tree: ast.Module) -> list[int]:
    loops = ((node, part) for node in ast.walk(tree) for part in repeated(node))
    return [node.lineno for node, part in loops if not READS_A_SEGMENT.isdisjoint(called(part))]  # type: ignore[attr-defined]


def protocols(tree: ast.Module) -> Iterable[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and any(
            getattr(base, "id", "") == "Protocol" for base in node.bases
        ):
            yield node.name


def past(*names: str) -> Mapping[str, ast.Module]:
    return trees(*names, of=PAST)


def classes_with_values_of_a_row(tree: ast.Module) -> Iterator[str]:
    """Classes that annotate half of the values of a row, and two at least."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            members = (each.target for each in node.body if isinstance(each, ast.AnnAssign))
            names = {each.id for each in members if isinstance(each, ast.Name)}
            if any(len(names & values) >= max(2, len(values) / 2) for values in ROWS):
                yield node.name


def tables_of_kinds(tree: ast.Module) -> list[int]:
    """The lines of dicts whose keys are three kinds of records or more."""
    dicts = (node for node in ast.walk(tree) if isinstance(node, ast.Dict))
    return [node.lineno for node in dicts if len(KINDS & {getattr(key, "id", "") for key in node.keys}) >= 3]


def classes_with_steps(tree: ast.Module) -> Iterator[str]:
    """Classes that give steps, and those that are an iteration of them."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            methods = {each.name for each in node.body if isinstance(each, ast.FunctionDef)}
            if "steps" in methods or any(getattr(base, "id", "") == "Steps" for base in node.bases):
                yield node.name


def test_a_row_has_no_class_besides_its_record():
    found = {
        (module, name)
        for module, tree in trees(*set().union(*ROWS), of=(*PAST, "journal/", "pipeline/")).items()
        if module not in CONTRACT
        for name in classes_with_values_of_a_row(tree)
    }
    assert found == set(REPEATS_A_ROW)


@pytest.mark.parametrize(
    "names", [("cluster", "zone"), ("gen", "data_version", "ha_server_addr"), ("perm", "topic_sys_flag")]
)
def test_another_class_of_a_row_is_found(names: tuple[str, ...]):
    copied = "class Copied(NamedTuple):\n    at: int\n" + "".join(f"    {name}: str\n" for name in names)
    assert list(classes_with_values_of_a_row(ast.parse(copied))) == ["Copied"]
    other = f"class Other(NamedTuple):\n    at: int\n    {names[0]}: str"
    assert not list(classes_with_values_of_a_row(ast.parse(other)))


def test_one_module_of_the_past_reads_records_into_rows():
    assert [module for module, tree in past(*KINDS).items() if tables_of_kinds(tree)] == ["history/rows.py"]


def test_another_table_of_kinds_is_found():
    assert tables_of_kinds(ast.parse("READ = {BrokerLive: 1, BrokerGroup: 2, Kv: 3}")) == [1]
    assert not tables_of_kinds(ast.parse("READ = {BrokerLive: 1, BrokerGroup: 2, int: 3}"))


def test_one_protocol_is_a_source_of_history_and_one_is_what_can_be_asked():
    found = [name for tree in past("Protocol").values() for name in protocols(tree)]
    assert sorted(found) == ["HistorySource", "PastAnswers"]


def test_every_source_of_steps_is_in_one_place():
    found = {Path(module) for module, tree in past("teps").items() if any(classes_with_steps(tree))}
    assert {module.parent for module in found} == {Path("history/sources")}
    assert {"journal", "running", "warehouse"} <= {module.stem for module in found}


def test_another_protocol_or_source_is_found():
    assert list(protocols(ast.parse("class Feed(Protocol):\n    pass"))) == ["Feed"]
    assert list(classes_with_steps(ast.parse("class Feed:\n    def steps(self):\n        return []"))) == [
        "Feed"
    ]
    assert list(classes_with_steps(ast.parse("class FeedSteps(Steps):\n    pass"))) == ["FeedSteps"]


def test_one_loop_reads_the_segments_of_a_journal():
    named = trees(*READS_A_SEGMENT)
    others = {module: tree for module, tree in named.items() if not module.startswith(READS_FOR_ITSELF)}
    assert others
    assert {module: lines for module, tree in others.items() if (lines := loops_over_segments(tree))} == {}
    reader = sources()["journal/reading/reader.py"]
    assert reader.count("in enumerate(self.segments") == 1


@pytest.mark.parametrize(
    "loop",
    [
        "for name in names:\n    found += read_segment(folder, name)",
        "for name in names:\n    for line in journal.lines_of(name):\n        print(line)",
        "found = [list(read_segment_lines(folder, name)) for name in names]",
        "found = [line for name in names for line in read_segment_lines(folder, name)]",
    ],
)
def test_another_loop_is_found(loop):
    assert loops_over_segments(ast.parse(loop))
    assert not loops_over_segments(
        ast.parse("for line in read_segment_lines(folder, name):\n    print(line)")
    )


ENGINE = {
    "RowVersion": ["history/versions.py"],
    "ValidPeriod": ["history/rows.py"],
    "StatePeriod": ["history/history.py"],
    "TimelinePeriod": ["history/timeline.py"],
}
"""Kind of period -> the modules that make it."""
TELLS_WHAT_ENDED_A_ROW = {
    ("history/rows.py", "RowVersion"): "whatever was lost in between",
    ("history/rows.py", "ValidPeriod"): "as far as is known",
    ("answers/evidence.py", "ValidRow"): "a `ValidPeriod` with the names of gold's columns",
}
"""Classes of rows with what ended them, and why each is there."""


def classes_with_an_end(tree: ast.Module) -> Iterator[str]:
    """Classes that annotate what ended them."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            members = (each.target for each in node.body if isinstance(each, ast.AnnAssign))
            if any(getattr(each, "id", "") == "ended_by" for each in members):
                yield node.name


def attributes(tree: ast.Module) -> Iterator[str]:
    return (node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute))


def test_one_engine_in_python_makes_the_periods_of_rows_and_of_name_servers():
    made = {
        kind: [module for module, tree in trees(kind).items() if kind in set(called(tree))] for kind in ENGINE
    }
    assert made == ENGINE


def test_no_other_class_tells_what_ended_a_row():
    found = {
        (module, name)
        for module, tree in trees("ended_by").items()
        if not module.startswith("pipeline/")
        for name in classes_with_an_end(tree)
    }
    assert found == set(TELLS_WHAT_ENDED_A_ROW)


def test_nothing_but_the_engine_compares_the_positions_of_events():
    """What cuts the rows of a version compares its start and end with losses and checkpoints."""
    found = {
        module
        for module, tree in past("number", "marks").items()
        if {"number", "marks"} & {*attributes(tree)}
    }
    assert {Path(module).parent for module in found} == {Path("history")}


def test_nothing_but_the_engine_reads_the_ranges_of_losses():
    """What makes the periods of a name server takes these ranges out of its boots."""
    assert [module for module, tree in past("unknown").items() if "unknown" in set(attributes(tree))] == []


def test_another_engine_is_found():
    assert "RowVersion" in set(called(ast.parse("versions = [rows.RowVersion(row, at) for row in found]")))
    period = "class RowPeriod(Struct):\n    since: int\n    until: int | None\n    ended_by: str = ''"
    assert list(classes_with_an_end(ast.parse(period))) == ["RowPeriod"]
    assert "number" in set(attributes(ast.parse("first = bisect(known, version.begun.number)")))
    assert "unknown" in set(attributes(ast.parse("up = without(history.coverage.unknown, boots)")))


def clocks(tree: ast.Module) -> Iterator[str]:
    """The fine clocks that a module names."""
    for node in ast.walk(tree):
        names = [each.name for each in node.names] if isinstance(node, ast.ImportFrom) else []
        names += [node.attr] if isinstance(node, ast.Attribute) else []
        yield from {"perf_counter", "perf_counter_ns"}.intersection(names)


def test_one_module_has_a_budget_of_the_event_loop():
    """Whoever limits its own work in an iteration reads a clock that counts parts of a millisecond."""
    found = {module for module, tree in trees("perf_counter").items() if any(clocks(tree))}
    assert found == set(READS_A_FINE_CLOCK)
    assert [module for module, text in sources().items() if "ITERATION_SECONDS =" in text] == [
        "remoting/scheduler.py"
    ]


def test_another_budget_is_found():
    assert list(clocks(ast.parse("from time import perf_counter"))) == ["perf_counter"]
    assert list(clocks(ast.parse("end = time.perf_counter_ns() + 2_000_000"))) == ["perf_counter_ns"]


def test_one_template_in_sql_makes_the_periods_of_rows():
    """Every table of gold whose name ends with `_history`, and `topic_route`, is made of it."""
    names = [name for some in sql_names().values() for name in some]
    assert [name for name in names if "history" in name and name.startswith("computed")] == [
        "computed_history"
    ]
