"""A pytest plugin: end the run unless the sources under test are those of the copy."""

import os
from pathlib import Path

import pytest

import namekeeper

__all__ = ["NOT_THE_COPY", "SOURCES_VARIABLE", "pytest_configure"]

SOURCES_VARIABLE = "NAMEKEEPER_MUTANT_SOURCES"
NOT_THE_COPY = 99


def pytest_configure() -> None:
    """Look where the package came from."""
    sources = Path(os.environ[SOURCES_VARIABLE]).resolve()
    if not Path(str(namekeeper.__file__)).resolve().is_relative_to(sources):
        pytest.exit(f"imported {namekeeper.__file__}, not the copy in {sources}", returncode=NOT_THE_COPY)
