"""Which tests run in one process when `make interop` has several: those of one Java process."""

import re
from pathlib import Path

__all__ = ["group_of"]

OF_THE_BROKER = {
    "test_exchange",
    "test_mqadmin",
    "test_order_topics",
    "test_other_languages",
    "test_static_topics",
}
"""Modules of which each release of the fixture `broker` serves some tests."""
BY_RELEASE = {"test_client_java_oracle", "test_registrar_against_java"}
"""Modules with a Java process of their own for each release."""
WHOLE = {"test_mqadmin_java"}
"""Modules with one Java process."""
_RELEASE = re.compile(r"\[.*?(\d\.\d\.\d)")


def group_of(nodeid: str) -> str:
    """Name of the group of tests that share a process."""
    module = Path(nodeid.partition("::")[0]).stem
    if module in WHOLE:
        return module
    if (found := _RELEASE.search(nodeid)) and module in OF_THE_BROKER | BY_RELEASE:
        return f"{'broker' if module in OF_THE_BROKER else module} {found[1]}"
    return nodeid
