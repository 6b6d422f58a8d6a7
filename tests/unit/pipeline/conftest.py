"""An object store for the modules here that need one."""

from collections.abc import Iterator

import pytest

from tests.support.pipeline.object_store import S3, store_environment

__all__: list[str] = []


@pytest.fixture(scope="module")
def server() -> Iterator[S3]:
    with store_environment() as store:
        yield store


@pytest.fixture
def s3(server: S3) -> Iterator[S3]:
    """The store of a module, without the faults of the test before."""
    yield server
    server.fault = lambda _: None
    server.ignored = set()
