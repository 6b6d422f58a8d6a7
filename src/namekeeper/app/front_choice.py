"""Which front answers known look-ups, or why none does; the log says it at the start."""

import logging

from namekeeper.config.settings import NamesrvSettings
from namekeeper.errors import ConfigError
from namekeeper.remoting.front import Front, load_front
from namekeeper.wire.codes import SerializeType

__all__ = ["make_front"]

log = logging.getLogger("namekeeper.namesrv")


def make_front(settings: NamesrvSettings, *, has_cache: bool) -> Front | None:
    """The front that the operator wants, or none; ConfigError if it is wanted and not installed."""
    if not has_cache:
        _say_why_uncached(settings)
        return None
    found = None if settings.front == "python" else load_front(settings.front_threads)
    if found is None and settings.front == "native":
        raise ConfigError(
            "front=native, but there is no front of this version: install namekeeper-front, or set front=auto"
        )
    log.info("known look-ups are answered by %s", "Python" if found is None else "the native front")
    return found


def _say_why_uncached(settings: NamesrvSettings) -> None:
    """Say that there is no front because there is no cache that it could answer from."""
    if settings.remember_lookups:
        why = "rememberLookups=true"
    elif settings.cluster_test:
        why = "clusterTest=true"
    elif settings.serialize_type != SerializeType.JSON.name:
        why = f"serializeType={settings.serialize_type}"
    else:
        why = "lookupCacheBytes=0"
    level = logging.WARNING if settings.front == "native" else logging.INFO
    log.log(level, "every look-up is decoded, and the native front is not used: %s", why)
