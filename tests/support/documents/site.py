"""A hook of MkDocs: pages for the README, CONTRIBUTING, the benches and each package, and links to all of them.

The documents link to files of the repository as they are read on disk. On the site, a link to a module leads to the
page of its package, and a link to a file without a page is shown without the link.
"""

import re
from pathlib import Path, PurePosixPath
from posixpath import normpath, relpath
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

__all__ = ["on_config", "on_files", "on_page_markdown"]

ROOT = Path(__file__).resolve().parents[3]
SOURCES = "src/namekeeper"
PAGES = {
    path: f"{name}.md"
    for path, name in (
        ("README.md", "index"),
        ("CONTRIBUTING.md", "contributing"),
        ("benchmarks/README.md", "benchmarks"),
    )
}
"""Files beside the folder of the documents -> their pages."""
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s#]+)(#[^)\s]*)?\)")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """List the pages by their kind; titles are those of the pages."""
    config["nav"] = [
        PAGES["README.md"],
        {"Tutorials": _pages("tutorial*.md")},
        {"How-to guides": _pages("howto/*.md")},
        {"Reference": _pages("reference/*.md")},
        {"Discussion": [*_pages("compatibility*"), *_pages("discussion/*.md"), *list(PAGES.values())[1:]]},
        {"Decisions": _pages("decisions/*.md")},
        {"Python API": [{name: _api_page(name)} for name in _packages()]},
    ]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are not in the folder of the documents."""
    for path, page in PAGES.items():
        files.append(File.generated(config, page, content=(ROOT / path).read_text()))
    for name in _packages():
        files.append(File.generated(config, _api_page(name), content=f"::: namekeeper.{name}\n"))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Point links to where their targets are on the site."""
    here = page.file.src_uri
    at = next((path for path, made in PAGES.items() if made == here), f"docs/{here}")

    def moved(link: re.Match[str]) -> str:
        image, text, target, anchor = link[1], link[2], link[3], link[4] or ""
        if ":" in target:
            return link[0]
        path = normpath(f"{PurePosixPath(at).parent}/{target}")
        target_page = _page_of(path)
        return (
            f"{image}[{text}]({relpath(target_page, str(PurePosixPath(here).parent))}{anchor})"
            if target_page
            else text
        )

    return LINK.sub(moved, markdown)


def _page_of(path: str) -> str | None:
    """Return where a file of the repository is on the site."""
    if path in PAGES:
        return PAGES[path]
    if path == "docs/decisions":
        return _pages("decisions/*.md")[0]
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    if path.startswith(f"{SOURCES}/"):
        return _api_page(path.split("/")[2].removesuffix(".py"))
    return None


def _pages(pattern: str) -> list[str]:
    return sorted(path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").glob(pattern))


def _packages() -> list[str]:
    """Packages, and modules that are in none."""
    inside = (
        path for path in (ROOT / SOURCES).iterdir() if (path / "__init__.py").exists() or path.suffix == ".py"
    )
    return sorted(path.stem for path in inside if not path.stem.startswith("__"))


def _api_page(package: str) -> str:
    return f"api/{package}.md"
