"""One warehouse for every test here; nobody changes it."""

import pytest

from tests.support.pipeline.file_warehouse import FileWarehouse, file_warehouse


@pytest.fixture
def warehouse() -> FileWarehouse:
    """A warehouse of made-up name servers."""
    return file_warehouse()
