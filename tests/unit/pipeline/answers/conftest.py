"""One warehouse for every test here; nobody changes it."""

import pytest

from tests.support.pipeline.file_warehouse import FileWarehouse


@pytest.fixture(scope="package")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> FileWarehouse:
    """A warehouse of made-up name servers."""
    return FileWarehouse(tmp_path_factory.mktemp("warehouse"))
