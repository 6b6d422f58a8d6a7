"""Frames as Java peers write them: hexadecimal, a note before it (protocol.md 9, whose numbers they bear).

What V1 to V14 hold was compared with, or taken from, the encoders of the Java releases that the notes name.
"""

from pathlib import Path

__all__ = ["SAMPLES", "load"]

_FOLDER = Path(__file__).parent

SAMPLES = sorted(path.stem for path in _FOLDER.glob("*.hex"))


def load(name: str) -> bytes:
    """The bytes of a sample, e.g. `v01_route_request_json`."""
    lines = (_FOLDER / f"{name}.hex").read_text().splitlines()
    return bytes.fromhex("".join(line for line in lines if not line.startswith("#")))
