"""`make console-library`: puts the pinned Preact into the console; nothing else needs npm."""

import hashlib
import subprocess
import tarfile
import tempfile
from pathlib import Path

__all__ = ["FILES", "STATIC", "as_served", "main"]

STATIC = Path(__file__).parents[2] / "src" / "namekeeper" / "console" / "static"
VERSION = "10.29.8"
FILES = {
    "preact.js": (
        "package/dist/preact.module.js",
        "25a5df7e9f628a587743c4641a368737a3b218f28ef738ba0376a2d5bdfc948c",
    ),
    "hooks.js": (
        "package/hooks/dist/hooks.module.js",
        "3b5febe57b6eebec5285fc25b33c9019e53e31641df0fad7d8f9e64ca8661592",
    ),
    "preact.LICENSE": ("package/LICENSE", "1fe6958409c8c257a70c587a18b6f7f412b179b456630790d30b2ec9a8e4b7d4"),
}
"""Name in the console -> name in the package, SHA-256 of what is served."""


def as_served(text: str) -> str:
    """A module of the package as a browser finds it without a build: imports by path, no source map."""
    lines = [line for line in text.splitlines(keepends=True) if not line.startswith("//# sourceMappingURL")]
    return "".join(lines).replace('from"preact"', 'from"./preact.js"')


def main() -> None:
    """Get the package, and write its files."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["npm", "pack", f"preact@{VERSION}", "--silent"], cwd=folder, check=True)
        (archive,) = Path(folder).glob("*.tgz")
        with tarfile.open(archive) as package:
            for name, (path, _) in FILES.items():
                member = package.extractfile(path)
                assert member is not None
                text = as_served(member.read().decode())
                (STATIC / name).write_text(text)
                print(name, hashlib.sha256(text.encode()).hexdigest())


if __name__ == "__main__":
    main()
