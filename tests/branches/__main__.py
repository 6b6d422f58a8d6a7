"""`python -m tests.branches`: runs the unit tests with branch coverage; exit 1 if a package is below its floor.

`python -m tests.branches cli drift` runs the tests of these folders alone, and names the branches that they miss.
Tests of other folders may take some of them.

`--write` writes the floors of this run. Do that when a package is new or gone, or when its coverage has grown.
"""

import argparse
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from tests.branches.floors import below, by_package, missed, only, read_floors, write_floors

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "branches"
UNIT = ROOT / "tests" / "unit"
CHOSEN = "not slow and not interop and not long"
NOTHING_CHOSEN = 5
"""What pytest returns if no test of a folder is chosen."""
AT_ONCE = 2


def main() -> int:
    """Run; return the exit status."""
    parser = argparse.ArgumentParser("python -m tests.branches", description=__doc__)
    parser.add_argument("folders", nargs="*", help="folders of tests/unit; default: all")
    parser.add_argument("--write", action="store_true", help="write the floors of this run")
    options = parser.parse_args()
    if options.write and options.folders:
        parser.error("floors are written for all packages at once")
    BUILD.mkdir(parents=True, exist_ok=True)
    for old in BUILD.glob("data.*"):
        old.unlink()
    parts = [path for path in sorted(UNIT.iterdir()) if path.is_dir() and any(path.rglob("test_*.py"))]
    targets = [[str(part)] for part in parts] + [[str(path) for path in sorted(UNIT.glob("test_*.py"))]]
    if options.folders:
        targets = [[str(UNIT / folder)] for folder in options.folders]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        failed = [name for name in pool.map(_run, targets) if name]
    coverage = partial(_coverage, env={**os.environ, "COVERAGE_FILE": str(BUILD / "combined")})
    coverage("combine", "--keep", *map(str, BUILD.glob("data.*")))
    coverage("json", "-q", "-o", str(BUILD / "report.json"))
    report = json.loads((BUILD / "report.json").read_text())
    floors = read_floors()
    found = by_package(report)
    if options.folders:
        found, floors = only(found, options.folders), only(floors, options.folders)
        print("\n".join(missed(report, found)))
    for package, branches in found.items():
        print(f"{branches.percent:5.1f} % of {branches.all:5d}  {package}")
    if failed:
        print(f"tests fail in {', '.join(failed)}, so branches may be missing: see the logs in {BUILD}")
        return 1
    if options.write:
        write_floors(found)
        return 0
    lines = below(found, floors)
    print("\n".join(lines) or "no package is below its floor")
    return 1 if lines else 0


def _run(tests: list[str]) -> str:
    """Run some tests, with data of their own; return their name if one failed."""
    name = Path(tests[0]).stem
    env = {**os.environ, "COVERAGE_FILE": str(BUILD / f"data.{name}")}
    words = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", CHOSEN, *tests)
    with (BUILD / f"{name}.log").open("w") as log:
        status = _coverage("run", *words, env=env, log=log.fileno(), check=False)
    return "" if status in {0, NOTHING_CHOSEN} else name


def _coverage(*words: str, env: dict[str, str], log: int | None = None, check: bool = True) -> int:
    command = [sys.executable, "-m", "coverage", *words]
    return subprocess.run(command, cwd=ROOT, env=env, stdout=log, stderr=log, check=check).returncode


if __name__ == "__main__":
    sys.exit(main())
