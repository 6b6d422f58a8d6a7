"""`make container`: the image of deploy/ is built, started, asked, and stopped by SIGTERM. Needs root and buildah.

Everything is kept under target/container. Where no registry can be reached, --debian makes a base with mmdebstrap.
"""

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.process.running import NameServerProcess
from tests.release.artifacts import BuildError

__all__ = ["main"]

ROOT = Path(__file__).resolve().parents[2]
STORE = ROOT / "target" / "container"
IMAGE, DEBIAN = "localhost/namekeeper", "localhost/debian-python"
BUILDAH = (
    "buildah",
    "--root",
    str(STORE / "root"),
    "--runroot",
    str(STORE / "runroot"),
    "--storage-driver",
    "vfs",
)
UID = "3000"
"""Of RocketMQ's own image."""
GET_BROKER_CLUSTER_INFO = 106


def main() -> int:
    """Run; return the exit status."""
    wanted = _options()
    if missing := [
        tool for tool in ("buildah", *(["mmdebstrap"] if wanted.debian else [])) if not shutil.which(tool)
    ]:
        print(
            f"{' and '.join(missing)} not on the PATH: apt-get install {' '.join(missing)}", file=sys.stderr
        )
        return 1
    STORE.mkdir(parents=True, exist_ok=True)
    try:
        _build(_debian() if wanted.debian else wanted.base, wanted.volume)
        container = buildah("from", "--pull-never", IMAGE)
        try:
            try_out(container)
        finally:
            buildah("rm", container)
    except BuildError as error:
        print(f"no container: {error}", file=sys.stderr)
        return 1
    print(f"{IMAGE}: built, started as uid {UID}, a request answered, stopped by SIGTERM")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make container", description=__doc__)
    base = parser.add_mutually_exclusive_group()
    base.add_argument("--base", help="image to build on (default: that of deploy/Containerfile)")
    base.add_argument("--debian", action="store_true", help="build on a Debian that mmdebstrap makes here")
    parser.add_argument(
        "--volume", action="append", default=[], metavar="HERE:THERE:ro",
        help="for the build only, such as certificates of a proxy and /etc/pip.conf; may be repeated",
    )  # fmt: skip
    return parser.parse_args()


def _debian() -> str:
    """A base image with Debian's Python; made once."""
    if DEBIAN in buildah("images", "--format", "{{.Name}}"):
        return DEBIAN
    with tempfile.TemporaryDirectory(dir=STORE) as folder:
        tar = Path(folder) / "debian.tar"
        packages = "--include=python3,python3-venv,ca-certificates"
        run("mmdebstrap", "--variant=minbase", packages, "bookworm", str(tar))
        container = buildah("from", "scratch")
        buildah("add", "--quiet", container, str(tar), "/")
    path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    buildah("config", "--env", f"PATH={path}", container)
    buildah("commit", "--quiet", "--rm", container, DEBIAN)
    return DEBIAN


def _build(base: str | None, volumes: list[str]) -> None:
    given = [*(["--build-arg", f"BASE={base}"] if base else []), *(f"--volume={each}" for each in volumes)]
    # `docker` format, because that of OCI has no HEALTHCHECK.
    how = ["--quiet", "--isolation", "chroot", "--format", "docker", *given]
    buildah("build-using-dockerfile", *how, "--file", "deploy/Containerfile", "--tag", IMAGE, ".")


def try_out(container: str) -> None:
    """Start what the image says, ask it, and stop it.

    Raises:
        BuildError: Something is not as it has to be.
    """
    config = json.loads(buildah("inspect", container))["Docker"]["config"]
    run_it = (
        "run",
        "--isolation",
        "chroot",
        "--env",
        "NAMEKEEPER_LISTEN_PORT=0",
        container,
        "--",
        *config["Cmd"],
    )
    with (
        tempfile.TemporaryDirectory(prefix="namekeeper-container-") as folder,
        NameServerProcess(Path(folder), command=(*BUILDAH, *run_it)) as server,
    ):
        server.started()
        inside = _last_descendant(server.pid)
        try:
            if (uid := _uid(inside)) != UID:
                raise BuildError(f"it runs as uid {uid}, not {UID}")
            port = server.address.rpartition(":")[2]
            health = [word.replace("9876", port) for word in config["Healthcheck"]["Test"][1:]]
            buildah("run", "--isolation", "chroot", container, "--", "sh", "-c", *health)
            if server.ask(GET_BROKER_CLUSTER_INFO).code:
                raise BuildError(f"it does not answer 106: {server.out}")
        finally:
            # A runtime sends SIGTERM to the first process of the container; buildah itself would kill it.
            os.kill(inside, signal.SIGTERM)
        if status := server.ended():
            raise BuildError(f"it ended with {status} after SIGTERM: {server.out}{server.err}")


def _last_descendant(pid: int) -> int:
    """The server behind the processes of buildah."""
    children = Path(f"/proc/{pid}/task").glob("*/children")
    found = [int(word) for file in children for word in file.read_text().split()]
    return _last_descendant(found[-1]) if found else pid


def _uid(pid: int) -> str:
    found = re.search(r"^Uid:\s+(\d+)", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    return found[1] if found else ""


def buildah(*words: str) -> str:
    """Run buildah on the store of this tree; returns what it printed."""
    return run(*BUILDAH, *words).strip()


def run(*command: str) -> str:
    """Run a command, which must end with 0; returns what it printed."""
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "BUILDAH_ISOLATION": "chroot"}, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise BuildError(
            f"{' '.join(command[:8])} ... ended with {done.returncode}:\n{done.stdout}{done.stderr}"
        )
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
