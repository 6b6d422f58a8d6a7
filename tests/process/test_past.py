"""`namekeeper past` as a process: it reads the journal of a running name server and stops at SIGTERM."""

import subprocess
import sys
from datetime import UTC
from pathlib import Path

from namekeeper.answers.from_journal import JournalFolder
from namekeeper.answers.times import shown
from namekeeper.errors import JournalError
from namekeeper.wire.codec import encode_command
from tests.process.running import NameServerProcess, environment, holding
from tests.support.system.processes import Process, eventually
from tests.support.wire.ask import ask
from tests.unit.app.parts import registration

NAMEKEEPER = (sys.executable, "-m", "namekeeper")


def test_a_deleted_topic_is_still_there_in_the_past(tmp_path: Path):
    registers = encode_command(registration(("kept", "deleted")))
    with NameServerProcess(tmp_path).started() as live, holding(live.address, registers):
        journal = tmp_path / "journal" / live.address.rpartition(":")[2]
        before = eventually(lambda: at_end_of(journal), within=20, what="a record of the topic")
        assert live.ask(216, topic="deleted").code == 0
        assert live.ask(105, topic="deleted").code == 17
        words = ("past", "--journal", str(journal), "--at", before, "--zone", "UTC")
        past = Process(
            "past", [*NAMEKEEPER, *words], output=tmp_path / "past.txt",
            env=environment(tmp_path),
        )  # fmt: skip
        try:
            address = past.await_line(r"2 topics, 1 broker; address (127\.0\.0\.1:\d+)\n")[1]
            assert ask(address, 105, topic="deleted").code == 0
            refused = ask(address, 216, topic="kept")
            assert (refused.code, before[11:19] in str(refused.remark)) == (16, True)
            compared = subprocess.run(
                [*NAMEKEEPER, "compare", live.address, address], env=environment(tmp_path),
                capture_output=True, text=True, check=False,
            )  # fmt: skip
            assert (compared.returncode, "deleted" in compared.stdout) == (1, True), compared
            past.terminate()
            assert past.wait(within=20) == 0
        finally:
            past.kill()


def at_end_of(journal: Path) -> str | None:
    """The time of the last record, once the topic is in the journal, as text."""
    try:
        found = JournalFolder(str(journal)).state_at(None)
    except JournalError:
        return None  # it comes a moment after the port
    if "deleted" not in found.state.tables.topics():
        return None
    return shown(found.at, UTC).removesuffix(" UTC") + "Z"
