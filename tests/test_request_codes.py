"""A request code is stated once, in the catalogue: no other table lists codes, and a new one is a small change."""

import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.mutants.run import copy_sources

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ROOT / "src" / "namekeeper"

TABLES = {
    "admin/operations.py": "the code by which an operator asks for each kind of unit topics",
}
"""Modules with a table of request codes, besides the catalogue, and what it holds."""

FILES_OF_A_NEW_CODE = 4

NEW_CODE = {
    "wire/codes.py": {
        "    NOTIFY_MIN_BROKER_ID_CHANGE = 905\n": """\
    NOTIFY_MIN_BROKER_ID_CHANGE = 905
    GET_THROW_AWAY = 4711
""",
    },
    "messages/topics.py": {
        "class GetTopicsByClusterRequestHeader(": '''\
class GetThrowAwayResponseHeader(Struct, frozen=True):
    """Answer to 4711."""

    topic_count: Int32


class GetTopicsByClusterRequestHeader(''',
    },
    "messages/catalogue.py": {
        "    GetTopicsByClusterRequestHeader,\n    Reg": """\
    GetThrowAwayResponseHeader,
    GetTopicsByClusterRequestHeader,
    Reg""",
        "_ENTRIES = (\n": """_ENTRIES = (
    CatalogueEntry(
        RequestCode.GET_THROW_AWAY,
        "how many topics there are",
        RequestClass.READ,
        Handling.READ,
        response_header=GetThrowAwayResponseHeader,
    ),
""",
    },
    "processor/topics.py": {
        "    GetTopicsByClusterRequestHeader,\n    Reg": """\
    GetThrowAwayResponseHeader,
    GetTopicsByClusterRequestHeader,
    Reg""",
        "@handles(RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_NS)\n": '''\
@handles(RequestCode.GET_THROW_AWAY)
def get_throw_away(state: NameServerState, request: RemotingCommand) -> Response:
    """GET_THROW_AWAY (4711)."""
    return Response(ext_fields=encode_header(GetThrowAwayResponseHeader(len(state.tables.topic_index))))


@handles(RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_NS)
''',
    },
}
"""A code that returns the number of topics in a field: file -> texts of it, and what replaces each."""

RULES = """
mode = "enforce"
[[rule]]
name = "everybody reads, brokers register"
requests = ["read", "broker"]
"""

ASK = """
import asyncio, json, sys
from pathlib import Path

import namekeeper
from namekeeper.http.metrics import render_metrics
from namekeeper.messages.reference import render_reference
from namekeeper.remoting.client import RemotingClient
from tests.unit.app.parts import name_server, registration

async def main(folder):
    rules = folder / "access.toml"
    rules.write_text(sys.argv[2])
    async with name_server(folder, access_file=str(rules)) as server, RemotingClient() as client:
        async def ask(code, fields=None, body=b""):
            return await client.invoke(f"127.0.0.1:{server.port}", code, fields, body, timeout_ms=200_000)

        new = registration(("A", "B", "C"))
        await ask(new.code, new.ext_fields, new.body)
        answer = await ask(4711)
        stats, _ = render_metrics(server.operators.stats(), "")
        print(json.dumps({
            "from": namekeeper.__file__,
            "answer": [answer.code, answer.ext_fields],
            "refused": (await ask(318)).code,
            "counted": b'requests_total{request_type="GET_THROW_AWAY",result="success"} 1.0' in stats,
            "documented": "* `topicCount`: int, required" in render_reference(),
        }))

asyncio.run(main(Path(sys.argv[1])))
"""
"""Starts a name server with access rules in this process, and asks it over a socket."""


def tables_of_codes(tree: ast.Module) -> Iterator[int]:
    """The lines of dicts, sets, lists and tuples that name three request codes or more."""
    for node in ast.walk(tree):
        entries: list[ast.expr | None] = []
        if isinstance(node, ast.Dict):
            entries = [*node.keys, *node.values]
        elif isinstance(node, (ast.Set, ast.List, ast.Tuple)):
            entries = [*node.elts]
        codes = [each for each in entries if isinstance(each, ast.Attribute) and is_request_code(each.value)]
        if len(codes) >= 3:
            yield codes[0].lineno


def is_request_code(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in {"Code", "RequestCode"}


def test_no_other_module_has_a_table_of_request_codes():
    found = {
        path.relative_to(SOURCES).as_posix()
        for path in SOURCES.rglob("*.py")
        if (text := path.read_text()).count("Code.") >= 3 and any(tables_of_codes(ast.parse(text)))
    }
    assert found == set(TABLES)


@pytest.mark.parametrize(
    "text", ["{Code.A: 1, Code.B: 2, Code.C: 3}", "f({RequestCode.A, RequestCode.B, RequestCode.C})"]
)
def test_a_table_is_found(text):
    assert list(tables_of_codes(ast.parse(text))) == [1]


def test_a_new_read_only_code_is_a_change_of_four_files(tmp_path):
    sources = copy_sources(tmp_path, ROOT / "src")
    for file, edits in NEW_CODE.items():
        path = sources / "namekeeper" / file
        for old, new in edits.items():
            text = path.read_text()
            assert text.count(old) == 1, (file, old)
            path.write_text(text.replace(old, new))
    changed = {
        path.relative_to(ROOT / "src").as_posix()
        for path in (ROOT / "src").rglob("*.py")
        if path.read_bytes() != (sources / path.relative_to(ROOT / "src")).read_bytes()
    }
    assert len(changed) <= FILES_OF_A_NEW_CODE

    done = subprocess.run(
        [sys.executable, "-B", "-c", ASK, str(tmp_path), RULES],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(sources), str(ROOT))), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "from": str(sources / "namekeeper" / "__init__.py"),
        "answer": [0, {"topicCount": "3"}],
        "refused": 16,
        "counted": True,
        "documented": True,
    }
