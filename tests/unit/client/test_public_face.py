import subprocess
import sys

import pytest

import namekeeper.client
from tests.support.system.waiting import PATIENCE


def test_every_name_is_there():
    assert (
        sorted(namekeeper.client._MODULES)
        == sorted(namekeeper.client.__all__)
        == sorted(dir(namekeeper.client))
    )
    for name in namekeeper.client.__all__:
        assert getattr(namekeeper.client, name) is not None


def test_another_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = namekeeper.client.Nothing


def test_importing_it_loads_nothing():
    code = "import sys, namekeeper.client; print('asyncio' in sys.modules or 'msgspec' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=50 * PATIENCE, check=True
    )
    assert done.stdout == "False\n"
