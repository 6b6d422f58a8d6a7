"""`python -m tests.prose`: check documents, docstrings and comments with Vale; exit 1 if a rule is broken.

With `--build` it only builds Vale.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.prose.texts import prose_of_python, prose_of_sql

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = ROOT / "build" / "prose"
VALE = BUILD / "vale"
DOCUMENTS = ("README.md", "CONTRIBUTING.md", "docs")


def main() -> int:
    """Check everything; return the exit status."""
    if problem := _build():
        print(f"prose: skipped: {problem}", file=sys.stderr)
        return 1 if os.environ.get("NAMEKEEPER_REQUIRE_PROSE") else 0
    if sys.argv[1:] == ["--build"]:
        return 0
    _extract(BUILD / "src")
    command = [
        str(VALE),
        "--config",
        str(HERE / "vale.ini"),
        "--output",
        "line",
        *DOCUMENTS,
        "build/prose/src",
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    print(_in_sources(done.stdout), end="")
    print(done.stderr, end="", file=sys.stderr)
    return done.returncode


def _build() -> str | None:
    """Build Vale from its Go modules if that has not been done; return what prevents it."""
    if VALE.exists() and VALE.stat().st_mtime > (HERE / "go.mod").stat().st_mtime:
        return None
    if not shutil.which("go"):
        return "Vale needs Go, https://go.dev/doc/install"
    print("Building Vale with Go: a minute, once", file=sys.stderr)
    made = BUILD / f"vale.{os.getpid()}"  # another process may start the program meanwhile
    command = ["go", "build", "-ldflags", "-s -w", "-o", str(made), "github.com/vale-cli/vale/v3/cmd/vale"]
    done = subprocess.run(command, cwd=HERE, capture_output=True, text=True, check=False)
    if done.returncode:
        return f"Go cannot build Vale: {done.stderr.strip()[-300:]}"
    made.rename(VALE)
    return None


def _extract(folder: Path) -> None:
    """Write the prose of each source file to a Markdown file of the same path."""
    shutil.rmtree(folder, ignore_errors=True)
    for path in sorted((ROOT / "src").rglob("*")):
        if extract := {".py": prose_of_python, ".sql": prose_of_sql}.get(path.suffix):
            copy = folder / f"{path.relative_to(ROOT / 'src')}.md"
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(extract(path.read_text()))


def _in_sources(report: str) -> str:
    """Name the source file instead of the file with its prose."""
    return report.replace("build/prose/src/", "src/").replace(".py.md:", ".py:").replace(".sql.md:", ".sql:")


if __name__ == "__main__":
    sys.exit(main())
