"""A name server that does not own its KV file becomes the owner when the other one has ended."""

import asyncio
import logging
from concurrent.futures import Executor

from namekeeper.app.effects import Effects
from namekeeper.app.kv_file import KvFile
from namekeeper.errors import ConfigError
from namekeeper.processor.kv import own_kv_config
from namekeeper.processor.state import NameServerState

__all__ = ["become_kv_owner"]

log = logging.getLogger("namekeeper.files")

LOOK_SECONDS = 2.0
"""Interval of the tries."""


async def become_kv_owner(file: KvFile, state: NameServerState, effects: Effects, *, files: Executor) -> None:
    """Try until we own the file, then serve its content; returns at once if we own it already.

    Args:
        file: the KV file.
        state: serves the content read at the start until then.
        effects: carries out what follows from the changes.
        files: the thread that reads files.
    """
    loop = asyncio.get_running_loop()
    trouble = ""
    while state.kv_refusal is not None:
        await asyncio.sleep(LOOK_SECONDS)
        try:
            found = await loop.run_in_executor(files, file.take_over)
        except ConfigError as error:
            if str(error) != trouble:
                trouble = str(error)
                log.warning("the KV file has no owner, and can't be taken over: %s", trouble)
            continue
        if found is not None:
            for change in own_kv_config(state, found):
                effects.apply(change)
            log.warning("the owner of the KV file has ended: it is changed here from now on")
