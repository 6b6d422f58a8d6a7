"""The pipeline as one zip, for clusters: `spark-submit --py-files ZIP MAIN`."""

import zipfile
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

__all__ = ["write_package"]

_MAIN = '''\
"""Starts the pipeline under spark-submit: the package comes in the zip beside it."""

import sys

from namekeeper.pipeline.__main__ import main

sys.exit(main())
'''
_PACKAGES = ("common", "pipeline")
"""The packages of `namekeeper` that the pipeline consists of."""
_COMPILED = "__pycache__"
_STAMP = (1980, 1, 1, 0, 0, 0)
"""One time stamp for every file, so that the same package gives the same bytes."""


def write_package(folder: Path) -> tuple[Path, Path]:
    """Write the zip and the main file into a folder; returns both."""
    folder.mkdir(parents=True, exist_ok=True)
    package, main = folder / "namekeeper-pipeline.zip", folder / "namekeeper_pipeline_main.py"
    with zipfile.ZipFile(package, "w", zipfile.ZIP_DEFLATED) as archive:
        root = files("namekeeper")
        _write(archive, "namekeeper/__init__.py", root / "__init__.py")
        for name in _PACKAGES:
            _write_tree(archive, f"namekeeper/{name}", root / name)
    main.write_text(_MAIN)
    return package, main


def _write_tree(archive: zipfile.ZipFile, name: str, folder: Traversable) -> None:
    for entry in sorted(folder.iterdir(), key=lambda each: each.name):
        if entry.name == _COMPILED:
            continue
        if entry.is_dir():
            _write_tree(archive, f"{name}/{entry.name}", entry)
        else:
            _write(archive, f"{name}/{entry.name}", entry)


def _write(archive: zipfile.ZipFile, name: str, entry: Traversable) -> None:
    info = zipfile.ZipInfo(name, _STAMP)
    info.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(info, entry.read_bytes())
