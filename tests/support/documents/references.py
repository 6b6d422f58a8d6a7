"""References in source, tests and documents, and whether each of them leads somewhere.

A reference is one of: `protocol.md 4.4 step 10`, `trap T36`, `docs/decisions/0014`, a link in Markdown, the name of a
file of ours between backticks, a `.md` file anywhere, a module after `python -m`.
"""

import os
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from tests.support.documents.markdown import Document, links_of, read_document

__all__ = ["Tree", "broken_references", "cited_rules", "read_tree"]

_SKIPPED_FOLDERS = {
    "__pycache__", ".git", ".venv", "node_modules", "build", "dist", "seeds", "target",
    ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis",
}  # fmt: skip
_TEXTS = {
    ".py", ".sql", ".md", ".json", ".toml", ".hex", ".c", ".h", ".go", ".java", ".js", ".j2", ".service", ".txt", ".sh",
    "",
}  # fmt: skip

_NUMBERS = r"\d+(?:\.\d+)*"
_AND = r"(?:, | and | to |-)"
_RULE = re.compile(rf"protocol\.md`?\)? (?:sections? )?({_NUMBERS}(?:{_AND}{_NUMBERS})*)")
_STEP = re.compile(rf"(?:({_NUMBERS}) |\b)[Ss]teps? (\d+(?:{_AND}\d+)*)")
_SAMPLE = re.compile(r"protocol\.md 9, (V\d+)")
_TRAP = re.compile(r"\b[Tt]raps?\s(T\d+(?:(?:, | and | to )T\d+)*)")
_DECISION = re.compile(r"\bdocs/decisions/(\d{4}(?:(?:, | and )\d{4})*)(?![\w-])")
_BACKTICKED = re.compile(r"`([\w./*<>{}-]+)`")
_MARKDOWN_FILE = re.compile(r"(?<![\w/.:<>{}*-])((?:[\w.-]+/)*[\w-]+\.md)\b")
_MODULE = re.compile(r"python3? -m ((?:namekeeper|benchmarks|tests)(?:\.\w+)*)")
_COMMENT_MARK = re.compile(r"\n[ \t]*(?:#|--|//|\*)?[ \t]*(?=\S)")
_TRAP_SECTIONS = re.compile(rf"^\| T\d+ \|.*?\(({_NUMBERS}(?:, {_NUMBERS})*)[^)]*\) \|", re.MULTILINE)
_OUR_SUFFIXES = {".py", ".sql", ".md", ".hex"}


@dataclass(frozen=True)
class Tree:
    """The texts of a repository by their path, and the paths of all its files and folders."""

    texts: Mapping[str, str]
    paths: frozenset[str]

    def documents(self) -> dict[str, Document]:
        """Every Markdown text by its path."""
        return {path: read_document(text) for path, text in self.texts.items() if path.endswith(".md")}


def cited_rules(tree: Tree) -> list[str]:
    """Return the sections, traps and decisions that are cited, each as often as it is."""
    texts = [_COMMENT_MARK.sub(" ", text) for text in tree.texts.values()]
    return [
        cited for text in texts for pattern in (_RULE, _TRAP, _DECISION) for cited in _each(pattern, text)
    ]


def read_tree(root: Path) -> Tree:
    """Read what is in the repository, and nothing that was made in it."""
    texts = {}
    paths = set()
    for folder, folders, files in _walk(root):
        folders[:] = [
            name for name in folders if name not in _SKIPPED_FOLDERS and not name.endswith(".egg-info")
        ]
        here = folder.relative_to(root).as_posix()
        paths.add(here)
        for name in files:
            path = name if here == "." else f"{here}/{name}"
            paths.add(path)
            if Path(name).suffix in _TEXTS:
                texts[path] = (folder / name).read_text(errors="replace")
    return Tree(texts, frozenset(paths))


def _walk(root: Path) -> Iterator[tuple[Path, list[str], list[str]]]:
    for folder, folders, files in os.walk(root):
        yield Path(folder), folders, files


def broken_references(
    tree: Tree, *, law_book: str = "docs/reference/protocol.md", made: Collection[str] = ()
) -> list[str]:
    """Return a line for each reference that leads nowhere: where it stands, what it says.

    Args:
        tree: What is in the repository.
        law_book: The document that rules and traps are cited from.
        made: Names of files that commands make, so that they are named and not there.
    """
    documents = tree.documents()
    checker = _Checker(Tree(tree.texts, tree.paths | frozenset(made)), documents, law_book)
    found: list[str] = []
    for path, text in sorted(tree.texts.items()):
        flat = _COMMENT_MARK.sub(" ", text)
        found += [f"{path}: {what}" for what in checker.broken_in_text(path, flat)]
        if path.endswith(".md"):
            found += [f"{path}: {what}" for what in checker.broken_links(path, text)]
    return found


class _Checker:
    """Judges the references of one text after the other."""

    def __init__(self, tree: Tree, documents: Mapping[str, Document], law_book: str) -> None:
        self._tree = tree
        self._documents = documents
        self._law_path = law_book
        self._law = documents[law_book]
        self._names = {PurePosixPath(path).name for path in tree.paths}
        self._decisions = {
            PurePosixPath(path).name[:4] for path in tree.paths if path.startswith("docs/decisions/")
        }

    def broken_in_text(self, path: str, text: str) -> Iterator[str]:
        yield from self._rules(path, text)
        for trap in _each(_TRAP, text):
            if trap not in self._law.rows:
                yield f"trap {trap}"
        for number in _each(_DECISION, text):
            if number not in self._decisions:
                yield f"docs/decisions/{number}"
        for module in _MODULE.findall(text):
            if not self._is_module(module):
                yield f"python -m {module}"
        for name in _BACKTICKED.findall(text):
            if _looks_like_ours(name) and not self._is_there(path, name):
                yield f"`{name}`"
        for name in _MARKDOWN_FILE.findall(text):
            if not self._is_there(path, name):
                yield name

    def broken_links(self, path: str, text: str) -> Iterator[str]:
        for target in links_of(text):
            if re.match(r"[a-z]+:", target):
                continue
            file, _, anchor = target.partition("#")
            place = _resolve(PurePosixPath(path).parent, file) if file else path
            if place is None or place not in self._tree.paths:
                yield f"link to {target}"
            elif anchor and place in self._documents and anchor not in self._documents[place].anchors:
                yield f"link to {target}: no such heading"

    def _rules(self, path: str, text: str) -> Iterator[str]:
        for number in _each(_RULE, text):
            if self._law.section(number) is None:
                yield f"protocol.md {number}"
        if path == self._law_path:
            for number in _each(_TRAP_SECTIONS, self._tree.texts[path]):
                if self._law.section(number) is None:
                    yield f"section {number} of a trap"
        for sample in _SAMPLE.findall(text):
            if sample not in self._law.rows:
                yield f"protocol.md 9, {sample}"
        for cited in _STEP.finditer(text):
            # A step without a section belongs to the one that was cited last before it.
            cited_last = cited[1] or self._cited_before(text, cited.start())
            section = self._law.section(cited_last) if cited_last else None
            if section is None or not (cited[1] or section.steps):
                continue
            for step in _split(cited[2]):
                if int(step) not in section.steps:
                    yield f"protocol.md {section.number} step {step}"

    def _cited_before(self, text: str, end: int) -> str | None:
        before = [_split(cited[1])[-1] for cited in _RULE.finditer(text, 0, end)]
        return before[-1] if before else None

    def _is_module(self, dotted: str) -> bool:
        path = dotted.replace(".", "/")
        return any(
            f"{base}{path}{end}" in self._tree.paths
            for base in ("", "src/")
            for end in (".py", "/__main__.py", "/__init__.py")
        )

    def _is_there(self, path: str, name: str) -> bool:
        name = name.removeprefix("../")
        if "/" not in name:
            return name in self._names
        places = [PurePosixPath(path).parent, PurePosixPath()]
        places += [
            PurePosixPath(base)
            for base in ("src/namekeeper", "src/namekeeper/pipeline", "src", "tests", "docs")
        ]
        return any(_resolve(place, name.rstrip("/")) in self._tree.paths for place in places)


def _looks_like_ours(name: str) -> bool:
    if any(mark in name for mark in "*<>{}") or name.startswith(("/", ".", "~", "-")):
        return False
    return PurePosixPath(name).suffix in _OUR_SUFFIXES


def _each(pattern: re.Pattern[str], text: str) -> Iterator[str]:
    for listed in pattern.findall(text):
        yield from _split(listed)


def _split(listed: str) -> list[str]:
    return re.split(_AND, listed)


def _resolve(folder: PurePosixPath, name: str) -> str | None:
    parts = [] if name.startswith("/") else list(folder.parts)
    for part in PurePosixPath(name).parts:
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part != "/":
            parts.append(part)
    return "/".join(parts) or "."
