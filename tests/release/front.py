"""`make native`: the wheels of the server and of the front, installed together in an empty environment, and used."""

import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

from tests.release.artifacts import BuildError, build, copy_tracked
from tests.release.installed import install, try_out

ROOT = Path(__file__).resolve().parents[2]
FRONT = ROOT / "build" / "native"


def main() -> int:
    """Run; return the exit status."""
    epoch = subprocess.run(
        ["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    with tempfile.TemporaryDirectory(prefix="namekeeper-front-") as name:
        folder = Path(name)
        try:
            (front,) = FRONT.glob("*.whl")
            copy_tracked(ROOT, folder / "sources")
            build(folder / "sources", folder / "dist", epoch=epoch.stdout.strip())
            (server,) = (folder / "dist").glob("*.whl")
            commands = install(server, folder / "environment", ROOT / "constraints.txt", front)
            try_out(commands, folder, version("namekeeper"), "--front", "native")
        except BuildError as error:
            print(f"the front can't be installed: {error}", file=sys.stderr)
            return 1
        print(f"{server.name} and {front.name}: installed together, started, a look-up answered, stopped")
    return 0


if __name__ == "__main__":
    sys.exit(main())
