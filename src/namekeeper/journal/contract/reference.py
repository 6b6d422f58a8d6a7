"""Makes the reference page of all records from the contract."""

import json
import sys
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

__all__ = ["load_contract", "render_reference"]

_HEAD = """\
<!-- Made by `python -m namekeeper.journal.contract.reference`; a test compares. -->

# The journal

Each name server process writes every change of its tables to a folder of its own: `journalPath`, by default
`<folder of kvConfigPath>/journal/<port>` (properties: [configuration](configuration.md)). What is on this
page is also in `src/namekeeper/journal/contract/v1.json`: the server writes by it and the pipeline reads by
it.

```console
$ namekeeper journal ls DIR           # its segments
$ namekeeper journal cat DIR          # its records, in order
$ namekeeper journal verify DIR       # says what is lost
$ namekeeper journal replay DIR --at '2 hours ago'    # the state as it was
```

See also [why was there no route?](../howto/why-was-there-no-route.md)

"""

_LAST_BOOT = """
**The newest boot.** Beside the folder, `.<folder>.last-boot` names the newest boot that was on disk, with
its last seq after an orderly stop, and the id of the folder; it has a checksum. `verify` compares it with
the segments. A start in a folder that lacks that boot names it in `previous_boot`. So it is found if the
folder was emptied, if the newest boots were removed, and if the folder was written again after that. A
segment of another journal in the folder is reported, too. What can't be known: whether the folder was removed
together with that file, unless copies were shipped; and how much a boot that crashed had written after its
last record here. To begin a new journal in the same place, remove both.
"""

_CLASSES = {
    "boot": "The server: start, stop, clock",
    "checkpoint": "Checkpoints",
    "state": "State: what a row is now",
    "activity": "Activity, rolled up",
}


def load_contract() -> dict[str, Any]:
    """The contract, `v1.json`."""
    text = (files("namekeeper.journal.contract") / "v1.json").read_text(encoding="utf-8")
    contract: dict[str, Any] = json.loads(text)
    return contract


def render_reference() -> str:
    """The page as Markdown."""
    return "".join(_page(load_contract()))


def _page(contract: dict[str, Any]) -> Iterator[str]:
    yield _HEAD
    yield f"{contract['about']}\n"
    yield "\n## Files\n\n| segment | name |\n| --- | --- |\n"
    yield f"| being written | `{contract['segment']['open']}` |\n"
    yield f"| sealed, compressed | `{contract['segment']['sealed']}` |\n"
    yield "\nOne line is one record. A sealed segment is never changed; Spark reads sealed ones only.\n"
    yield _LAST_BOOT
    yield f"\n**Checksum.** {contract['checksum']}\n"
    yield f"\n**Blocks.** {contract['blocks']}\n"
    yield "\n## Order, losses, time\n\n"
    yield f"The order is {', '.join(f'`{part}`' for part in contract['order'])}; a record is identified by "
    yield f"{', '.join(f'`{part}`' for part in contract['identity'])}.\n\n"
    yield f"**Loss.** {contract['loss']}\n\n**Effective time.** {contract['effective_time']}\n"
    yield "\n## Every record\n\n"
    yield from _fields(contract["envelope"])
    for name, title in _CLASSES.items():
        yield f"\n## {title}\n"
        for kind, facts in contract["kinds"].items():
            if facts["class"] == name:
                yield from _kind(kind, facts)
    edges = ", ".join(map(str, contract["heartbeat_gap_edges_ms"]))
    yield f"\n`heartbeat_gap_edges_ms` is {edges}.\n"


def _kind(kind: str, facts: dict[str, Any]) -> Iterator[str]:
    key = f" Key: {', '.join(f'`{part}`' for part in facts['key'])}." if "key" in facts else ""
    yield f"\n### {kind}\n\n{facts['meaning']}{key}\n\n"
    yield from _fields(facts["fields"])


def _fields(fields: dict[str, Any]) -> Iterator[str]:
    yield "| member | type | meaning |\n| --- | --- | --- |\n"
    for name, facts in fields.items():
        required = "" if facts.get("required") else ", may be absent"
        yield f"| `{name}` | {facts['type']}{required} | {facts['meaning']} |\n".replace("<", "&lt;")


if __name__ == "__main__":
    sys.stdout.write(render_reference())
