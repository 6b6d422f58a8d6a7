"""`make dist`: wheel and sdist in dist/, built twice, looked at, installed in an empty environment each, and used."""

import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

from tests.release.artifacts import BuildError, build, copy_tracked, members, problems
from tests.release.installed import install, try_out

ROOT = Path(__file__).resolve().parents[2]
DIST = ROOT / "dist"


def main() -> int:
    """Run; return the exit status."""
    with tempfile.TemporaryDirectory(prefix="namekeeper-release-") as folder:
        try:
            sums = _build_twice(Path(folder))
            for name in sums:
                print(f"{sums[name]}  dist/{name}", flush=True)
                place = Path(folder) / name.rpartition(".")[2]
                place.mkdir()
                commands = install(DIST / name, place / "an environment", ROOT / "constraints.txt")
                try_out(commands, place, version("namekeeper"))
                print(f"{name}: installed alone, started, a look-up answered, stopped", flush=True)
        except BuildError as error:
            print(f"no release: {error}", file=sys.stderr)
            return 1
    return 0


def _build_twice(folder: Path) -> dict[str, str]:
    """Build from a copy of what git knows, and again from another one; the results have to be the same bytes."""
    time = subprocess.run(
        ["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    first, second = folder / "first", folder / "the second, elsewhere"
    tracked = set(copy_tracked(ROOT, first)) & set(copy_tracked(ROOT, second))
    sums = build(first, DIST, epoch=time.stdout.strip())
    again = build(second, folder / "again", epoch=time.stdout.strip())
    if sums != again or len(sums) != 2:
        raise BuildError(f"two builds of the same sources differ: {sums} and {again}")
    paths = {str(ROOT), str(Path.home()), str(folder)} - {"/"}
    for name in sums:
        if wrong := problems(name, members(DIST / name), tracked=tracked, paths=paths):
            raise BuildError("\n".join(wrong))
    return sums


if __name__ == "__main__":
    sys.exit(main())
