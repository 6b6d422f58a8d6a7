"""The image of deploy/Containerfile without an engine for containers: its lines are carried out in a root of its own,
and its command starts there as engines and OpenShift start it. Needs root, which makes such a root in a namespace.

`.ci/run` runs it beside the wheel and the sdist, because pip's build of the root takes most of its time."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.process.running import BOOT
from tests.support.system.namespaces import why_no_namespaces
from tests.support.system.processes import Process
from tests.support.system.waiting import PATIENCE
from tests.support.wire.ask import ask

pytestmark = pytest.mark.long

REPOSITORY = Path(__file__).resolve().parents[2]
GET_BROKER_CLUSTER_INFO = 106
LIBRARIES = sysconfig.get_path("purelib")
INTERPRETER = sys.base_prefix
IMAGE_LIBRARIES = (
    f"./opt/namekeeper/lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"
)

# The host's programs and this Python stand for the base image, and its installed libraries for the package index.
BASE = r"""
set -e
cd "$ROOT"
mount --make-rprivate /
mount --bind "$ROOT" "$ROOT"; cd "$ROOT"
for folder in /usr /proc "$INTERPRETER" "$LIBRARIES"; do mkdir -p "./$folder"; mount --rbind "$folder" "./$folder"; done
mkdir -p dev
for name in null zero urandom; do : > "dev/$name"; mount --bind "/dev/$name" "dev/$name"; done
"""
BUILD = r"""
for name in bin sbin lib lib64; do [ ! -e "/$name" ] || ln -s "usr/$name" "$name"; done
mkdir -p etc/default root var/tmp run home; mkdir -m 1777 tmp; chmod 755 root
for file in ld.so.cache login.defs default/useradd; do [ ! -e "/etc/$file" ] || cp "/etc/$file" "etc/$file"; done
echo root:x:0:0:root:/root:/bin/sh > etc/passwd; echo root:x:0: > etc/group
export PIP_NO_INDEX=1 PIP_NO_BUILD_ISOLATION=0 PYTHONPATH="$LIBRARIES" PATH="$INTERPRETER/bin:$PATH"
"""
START = r"""
for folder in $VOLUMES; do  # as engines make a new volume: with the owner and the mode of the image's folder
    mount -t tmpfs -o "$(stat -c uid=%u,gid=%g,mode=%a "./$folder")" tmpfs "./$folder"
done
mount -o remount,bind,ro "$ROOT"
cd "$ROOT"
exec chroot . setpriv --reuid "$AS" --regid "$AS_GROUP" --clear-groups --no-new-privs --bounding-set -all "$@"
"""
VARIABLES = {
    "NAMEKEEPER_LISTEN_PORT": "0",
    "NAMEKEEPER_BIND_ADDRESS": "127.0.0.1",
    "NAMEKEEPER_HTTP_PORT": "-1",
}
"""What a test must change: others use the ports of this host, too."""


@dataclass
class Image:
    """What the last stage of a Containerfile leaves, and the shell lines that make its files."""

    making: list[str] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)
    volumes: list[str] = field(default_factory=list)
    folder: str = "/"
    command: list[str] = field(default_factory=list)
    health: list[str] = field(default_factory=list)


def read_image(text: str) -> Image:
    """Read our Containerfile; a line that is not understood fails the test."""
    image = Image(environment={"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"})
    folder = "/"
    for line in re.sub(r"\\\n", "", re.sub(r"^#.*\n", "", text, flags=re.MULTILINE)).splitlines():
        word, _, rest = line.partition(" ")
        if word == "FROM":
            folder = "/"
        elif word == "WORKDIR":
            folder = image.folder = rest
        elif word == "COPY" and not rest.startswith("--from="):
            *sources, target = rest.split()
            copied = " ".join(shlex.quote(str(REPOSITORY / each)) for each in sources)
            image.making.append(f"mkdir -p .{folder}; cp -r {copied} ./{folder}/{target}")
        elif word == "COPY":
            assert rest.split()[1:] == ["/opt/namekeeper"] * 2, "one root stands for both stages"
        elif word == "RUN":
            image.making.append(f"chroot . env -C {folder} sh -ec {shlex.quote(rest)}")
        elif word == "ENV":
            path = image.environment["PATH"]
            image.environment.update(each.replace("$PATH", path).split("=", 1) for each in rest.split())  # type: ignore[misc]
        elif word == "VOLUME":
            image.volumes += rest.split()
        elif word == "CMD":
            image.command = json.loads(rest)
        elif word == "HEALTHCHECK":
            image.health = ["sh", "-c", rest.partition("CMD ")[2]]
        else:
            assert word in {"", "ARG", "EXPOSE", "USER"}, line  # tests choose the user
    return image


IMAGE = read_image((REPOSITORY / "deploy" / "Containerfile").read_text())


def why_not() -> str:
    """Why such a root can't be made here; empty if it can."""
    programs = ("unshare", "nsenter", "setpriv", "useradd")
    return why_no_namespaces(programs, ["unshare", "--mount", "mount", "--make-rprivate", "/"])


@pytest.fixture(scope="module", autouse=True)
def _possible():
    if reason := why_not():
        pytest.skip(reason)


@dataclass(frozen=True)
class Container:
    """A server that runs in the image."""

    process: Process
    address: str
    uid: int

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run something beside the server, as `podman exec` does."""
        inside = ["nsenter", "--target", str(self.process.pid), "--mount", "--root", "--wd",
                  "--setuid", str(self.uid), "--setgid", "0", "--", "env", "-i"]  # fmt: skip
        variables = {**environment(), "NAMEKEEPER_LISTEN_PORT": self.address.rpartition(":")[2]}
        return subprocess.run(
            [*inside, *(f"{name}={value}" for name, value in variables.items()), *words],
            capture_output=True, text=True, timeout=60 * PATIENCE, check=False,
        )  # fmt: skip

    def file(self, path: str) -> Path:
        return Path(f"/proc/{self.process.pid}/root{path}")


def environment() -> dict[str, str]:
    """The variables of a container; an engine adds HOME=/ for a uid without a passwd entry."""
    return {"HOME": "/", **IMAGE.environment, **VARIABLES}


NAMESPACE = ["unshare", "--mount", "--uts", "sh", "-c"]
PATHS = {"INTERPRETER": INTERPRETER, "LIBRARIES": LIBRARIES}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the image, but for those of its base."""
    folder = tmp_path_factory.mktemp("image") / "root"
    folder.mkdir()
    making = "\n".join(IMAGE.making)
    # pip takes this Python's libraries as installed, and the server finds them by a path file.
    found = f'echo "$LIBRARIES" > {IMAGE_LIBRARIES}/index.pth'
    done = subprocess.run(
        [*NAMESPACE, f"{BASE}{BUILD}{making}\n{found}"], env={**os.environ, **PATHS, "ROOT": str(folder)},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300 * PATIENCE, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module", params=[1_000_660_000, 3000], ids=["random-uid", "its-own-uid"])
def container(
    request: pytest.FixtureRequest, root: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Container]:
    """The image's command under a uid, in group 0 if the uid is random, with a root that only volumes open."""
    uid = request.param
    variables = [f"{name}={value}" for name, value in environment().items()]
    start = ["env", "-i", "-C", IMAGE.folder, *variables, *IMAGE.command]
    output = tmp_path_factory.mktemp("output") / "text"
    with Process(
        "image", [*NAMESPACE, BASE + START, "sh", *start], output=output,
        env={**PATHS, "ROOT": str(root), "VOLUMES": " ".join(IMAGE.volumes),
             "AS": str(uid), "AS_GROUP": "3000" if uid == 3000 else "0"},
    ) as process:  # fmt: skip
        yield Container(process, process.await_line(f"(?m){BOOT.pattern}")[1], uid)
        os.kill(process.pid, signal.SIGTERM)
        assert process.wait(within=60) == 0, process.report()  # in order, as `podman stop` asks for it


def test_it_serves_as_that_uid_with_a_root_that_is_read_only(container: Container):
    status = Path(f"/proc/{container.process.pid}/status")
    assert re.search(rf"^Uid:\s+{container.uid}\s", status.read_text(), re.MULTILINE)
    assert (
        container.run("touch", "/probe", "/opt/namekeeper/probe", "/tmp/probe").stderr.count("Read-only") == 3
    )
    assert ask(container.address, GET_BROKER_CLUSTER_INFO).code == 0
    assert container.run(*IMAGE.health).returncode == 0


def test_what_it_keeps_is_in_the_declared_volume(container: Container):
    port = container.address.rpartition(":")[2]
    (volume,) = IMAGE.volumes
    added = container.run(
        "mqadmin", "updateKvConfig", "-n", container.address, "-s", "a", "-k", "b", "-v", "c"
    )
    assert added.returncode == 0, added.stderr
    assert "b" in container.file(f"{volume}/kvConfig.json").read_text()
    assert container.file(f"{volume}/journal/{port}").is_dir()


def test_it_says_in_one_line_that_the_log_has_no_folder(container: Container):
    said = container.process.text()
    assert "Traceback" not in said
    assert said.count("can't") == 1
    assert "can't log to /home/rocketmq/logs/rocketmqlogs (Read-only file system" in said
