"""Makes the reference page of all records from the contract."""

from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["render_reference"]

_HEAD = """\
<!-- Made by `python -m namekeeper.journal.contract.generate`; a test compares. -->

# The journal

Each name server process writes every change of its tables to a folder of its own: `journalPath`, by default
`<folder of kvConfigPath>/journal/<port>` (properties: [configuration](configuration.md)). The file
`src/namekeeper/journal/contract/v1.json` has the content of this page in JSON: the server writes by it and
the pipeline reads by it.

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
the segments. A start in a folder that lacks that boot names it in `previous_boot`. So `verify` finds that
somebody emptied the folder or removed its newest boots, also if a server wrote to the folder after that.
`verify` reports a segment of another journal in the folder, too. Two losses leave no trace. Without shipped
copies, nothing shows that somebody removed the folder together with that file. And nothing shows how much a
boot that crashed had written after its last record here. To start a new journal in the same place, remove
both.
"""

_CLASSES = {
    "boot": "The server: start, stop, clock",
    "checkpoint": "Checkpoints",
    "state": "State: what a row is now",
    "activity": "Activity, rolled up",
}


def render_reference(contract: Mapping[str, Any]) -> str:
    """The page as Markdown.

    Args:
        contract: As `v1.json` has it.
    """
    return "".join(_page(contract))


def _page(contract: Mapping[str, Any]) -> Iterator[str]:
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


def _kind(kind: str, facts: Mapping[str, Any]) -> Iterator[str]:
    key = f" Key: {', '.join(f'`{part}`' for part in facts['key'])}." if "key" in facts else ""
    yield f"\n### {kind}\n\n{facts['meaning']}{key}\n\n"
    yield from _fields(facts["fields"])


def _fields(fields: Mapping[str, Any]) -> Iterator[str]:
    yield "| member | type | meaning |\n| --- | --- | --- |\n"
    for name, facts in fields.items():
        required = "" if facts.get("required") else ", may be absent"
        yield f"| `{name}` | {facts['type']}{required} | {facts['meaning']} |\n".replace("<", "&lt;")
