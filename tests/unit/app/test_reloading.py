"""SIGHUP: log files are opened by their names again, and changed properties take effect if they can."""

import asyncio
import logging
import threading
from pathlib import Path

import pytest

from namekeeper.app.logs import start_logs
from namekeeper.app.run import Reloading
from namekeeper.config import properties
from namekeeper.config.startup import Startup, make_startup
from namekeeper.kvconfig.store import KvConfigStore
from namekeeper.processor.state import NameServerState
from namekeeper.route.events import Change, ConfigChanged
from tests.support.system.processes import eventually


class Running:
    """A server's settings and logs, as far as they are reloaded."""

    def __init__(
        self, folder: Path, text: str = "logLevel=INFO\n", flags: dict[str, str | None] | None = None
    ) -> None:
        self.file = folder / "a.properties"
        self.file.write_text(text)
        self.startup: Startup = make_startup(
            file_data=self.file.read_bytes(), config_file=str(self.file), flags=flags, home=str(folder)
        )
        self.state = NameServerState(self.startup.runtime_config, KvConfigStore())
        self.logs = start_logs(str(folder / "logs"))
        self.changes: list[Change] = []
        self.reloading = Reloading(self.startup, self.state, logs=self.logs, apply=self.changes.append)
        self.log = folder / "logs" / "namesrv.log"

    async def reload(self, text: str | None = None) -> None:
        if text is not None:
            self.file.write_text(text)
        self.reloading.start()
        await self.reloading.finish()


@pytest.fixture
def running(tmp_path):
    running = Running(tmp_path)
    yield running
    running.logs.stop()


async def test_a_log_file_that_was_renamed_is_made_anew(running):
    logging.getLogger("namekeeper.namesrv").info("before")
    await eventually_in(running.log, "before")
    running.log.rename(running.log.with_suffix(".1"))
    await running.reload()
    logging.getLogger("namekeeper.namesrv").info("after")
    await eventually_in(running.log, "after")
    assert "before" not in running.log.read_text()
    assert "after" not in running.log.with_suffix(".1").read_text()


async def eventually_in(file: Path, text: str) -> None:
    def has_it() -> bool:
        return file.exists() and text in file.read_text()

    await asyncio.to_thread(eventually, has_it, within=5, what=text)


async def test_changed_properties_take_effect_or_are_named(running):
    await running.reload("logLevel=DEBUG\nenableTopicList=false\nlistenPort=1\n")
    assert (running.state.settings.log_level, running.state.settings.enable_topic_list) == ("DEBUG", False)
    assert running.state.settings.listen_port == 9_876
    (change,) = running.changes
    assert change.events == (ConfigChanged({"enableTopicList": "false", "logLevel": "DEBUG"}),)
    await eventually_in(running.log, "these changes have no effect before the next start: listenPort")
    await running.reload()
    assert len(running.changes) == 1


async def test_a_line_that_is_gone_gives_the_default_back(running):
    await running.reload("logLevel=DEBUG\n")
    await running.reload("\n#\n")
    assert running.state.settings.log_level == "INFO"


async def test_flags_and_environment_win(tmp_path):
    running = await asyncio.to_thread(Running, tmp_path, flags={"log_level": "ERROR"})
    await running.reload("logLevel=DEBUG\n")
    await asyncio.to_thread(running.logs.stop)
    assert (running.state.settings.log_level, running.changes) == ("ERROR", [])


@pytest.mark.parametrize("text", ["logLevel=LOUD\n", "", None])
async def test_a_file_that_can_not_be_used_changes_nothing_and_is_named(running, text):
    if text is None:
        running.file.unlink()
    await running.reload(text)
    assert (running.state.settings.log_level, running.changes) == ("INFO", [])
    await eventually_in(running.log, "SIGHUP: the properties stay as they were: ")
    assert str(running.file) in running.log.read_text()


async def test_a_properties_file_is_read_beside_the_loop(running, monkeypatch):
    """Escapes of 3.6 MB kept a lookup waiting for half a second."""
    here, readers = threading.get_ident(), []
    unescape = properties._unescape

    def unescape_and_note(text: str) -> str:
        readers.append(threading.get_ident())
        return unescape(text)

    monkeypatch.setattr(properties, "_unescape", unescape_and_note)
    await running.reload("logLevel=\\u0057ARN\n")
    assert running.state.settings.log_level == "WARN"
    assert readers
    assert here not in readers
