"""Files from strangers: no reader is kept busy by one, runs out of memory or of stack, or replaces it."""

import gzip
import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from namekeeper.app.access_files import read_policy, read_rules
from namekeeper.app.kv_file import KvFile
from namekeeper.broker.broker_conf import read_broker_conf
from namekeeper.broker.topic_config_file import TopicConfigFile
from namekeeper.cli.commands.observe import STATUS_FILE
from namekeeper.cli.group import namekeeper
from namekeeper.cli.launch import load_startup
from namekeeper.client.routes.disk_cache import RouteDiskCache
from namekeeper.errors import NamekeeperError
from namekeeper.expected.maintenance import MaintenanceLog
from namekeeper.expected.state_file import read_expected
from namekeeper.files import FILE_BYTES, read_named_text
from namekeeper.journal.disk.heard_file import HEARD_FILE, load_heard
from namekeeper.journal.disk.identity import IDENTITY_FILE, load_identity
from namekeeper.journal.disk.last_boot import last_boot_path, load_last_boot
from namekeeper.journal.disk.missing_file import MISSING_FILE, load_missing
from namekeeper.notifications.outbox_folder import OUTBOX_FILE, read_outbox
from namekeeper.notifications.settings import parse_messages_file
from namekeeper.pipeline.errors import WarehouseError
from namekeeper.pipeline.files.local_folder import LocalFolder
from namekeeper.pipeline.ingest.ledger import Ledger
from namekeeper.pipeline.store.manifest import Manifest
from namekeeper.remoting.credentials import find_credentials
from tests.support.system.errors import case

MIB = 1 << 20
DEPTH = 200_000
ENDLESS = 128 << 10
"""Size of a part without end. Readers that split it into characters take a second for a MiB."""


def _of(data: bytes) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(data)


def _huge(path: Path) -> None:
    path.touch()
    os.truncate(path, 1 << 42)


def _endless(size: int) -> dict[str, Callable[[Path], object]]:
    return {
        "line without end": _of(b"a" * size),
        "text without end": _of(b'{"' + b"a" * size),
        "NULs": _of(bytes(size)),
        "number without end": _of(b"a = " + b"9" * size),
    }


HOSTILE: dict[str, Callable[[Path], object]] = {
    "file of four tebibytes": _huge,
    **_endless(ENDLESS),
    "blank lines": _of(b"\n" * 100_000),
    "lines that say nothing": _of(b"x\n" * 30_000),
    "no UTF-8": _of(b"a = '\xff\xfe'\n" * 1_000),
    "lists without end": _of(b"[" * DEPTH),
    "lists beside each other": _of(b"[" + b"[]," * 40_000 + b"[]]"),
    "objects without end": _of(b'{"a":' * DEPTH),
    "lists in a member that nobody knows": _of(b'{"a":' + b"[" * DEPTH + b"]" * DEPTH + b"}"),
    "lists of TOML without end": _of(b"a = " + b"[" * DEPTH),
    "compressed bomb": lambda path: path.write_bytes(gzip.compress(bytes(64 * MIB), 1)),
    "endless device": lambda path: path.symlink_to("/dev/zero"),
    "pipe": os.mkfifo,
}


def _load_kv(folder: Path) -> None:
    file = KvFile(str(folder / "file"))
    try:
        file.load()
    finally:
        file.release()


def _name(folder: Path, name: str) -> Path:
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / "file").rename(folder / name)
    return folder


def _rules_with_keys(folder: Path) -> str:
    rules = folder / "rules.toml"
    rules.write_text('mode = "enforce"\nkeys = "file"\n')
    if (folder / "file").is_file():
        (folder / "file").chmod(0o600)
    return str(rules)


def _observe(*words: str) -> None:
    result = CliRunner().invoke(namekeeper, ["observe", *words])
    if result.exit_code == 0:
        return
    assert isinstance(result.exception, SystemExit), repr(result.exception)
    raise NamekeeperError(result.stderr.removesuffix("\n"))


READERS: dict[str, Callable[[Path], object]] = {
    "KV file": _load_kv,
    "topics.json": lambda folder: TopicConfigFile(folder / "file").load(),
    "access rules": lambda folder: read_rules(str(folder / "file")),
    "saved routes": lambda folder: RouteDiskCache(str(folder / "file")).get("T"),
    "identity of a journal": lambda folder: load_identity(str(_name(folder, IDENTITY_FILE))),
    "times of brokers": lambda folder: load_heard(str(_name(folder, HEARD_FILE))),
    "brokers that are missing": lambda folder: load_missing(str(_name(folder, MISSING_FILE))),
    "newest boot": lambda folder: load_last_boot(
        str(_name(folder, last_boot_path(str(folder / "journal")).name) / "journal")
    ),
    "broker.conf": lambda folder: read_broker_conf(str(folder / "file"), {}),
    "properties": lambda folder: load_startup(str(folder / "file"), {}),
    "tools.yml": lambda folder: find_credentials({"ROCKETMQ_HOME": str(_name(folder, "conf/tools.yml"))}),
    "clusters of an observer": lambda folder: _observe(
        "--config-file", str(folder / "file"), "--journal", f"{folder}/j"
    ),
    "status of an observer": lambda folder: _observe(
        "--status", "--journal", str(_name(folder, STATUS_FILE))
    ),
    "secret keys": lambda folder: read_policy(_rules_with_keys(folder), {}),
    "expected state": lambda folder: read_expected(str(folder / "file")),
    "maintenance log": lambda folder: MaintenanceLog(str(folder / "file")).windows(),
    "outbox": lambda folder: read_outbox(str(_name(folder, OUTBOX_FILE))),
    "receivers of messages": lambda folder: parse_messages_file(
        read_named_text(str(folder / "file")), source="m.toml"
    ),
    "manifest": lambda folder: Manifest.from_json(LocalFolder(str(folder)).read("file"), "file"),
    "ledger": lambda folder: Ledger.from_json(LocalFolder(str(folder)).read("file")),
}


def check_reader(reader: Callable[[Path], object], hostile: Callable[[Path], object], folder: Path) -> None:
    """Check that a reader reports a file in one line, and takes at most 256 times the memory of its first MiB."""
    hostile(folder / "file")
    size = (folder / "file").lstat().st_size
    said = ""
    tracemalloc.start()
    try:
        reader(folder)
    except (NamekeeperError, WarehouseError, OSError) as error:
        said = str(error)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert "\n" not in said
    assert len(said) < 1_000
    assert peak < min(size, MIB) * FILE_BYTES // MIB + 16 * MIB
    assert any(each.name != "journal" for each in folder.iterdir())


@pytest.mark.parametrize("reader", READERS)
def test_every_reader_gives_up_in_one_sentence(tmp_path, reader):
    for name, hostile in HOSTILE.items():
        folder = tmp_path / name
        folder.mkdir()
        with case(name):
            check_reader(READERS[reader], hostile, folder)


@pytest.mark.long
@pytest.mark.parametrize("hostile", _endless(MIB))
@pytest.mark.parametrize("reader", READERS)
def test_every_reader_gives_up_on_a_whole_mebibyte_in_one_sentence(tmp_path, reader, hostile):
    check_reader(READERS[reader], _endless(MIB)[hostile], tmp_path)
