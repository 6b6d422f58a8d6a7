import subprocess
import sys

import pytest

import namekeeper.broker
from tests.support.system.waiting import PATIENCE


def test_every_name_is_there():
    assert (
        sorted(namekeeper.broker._MODULES)
        == sorted(namekeeper.broker.__all__)
        == sorted(dir(namekeeper.broker))
    )
    for name in namekeeper.broker.__all__:
        assert getattr(namekeeper.broker, name) is not None


def test_another_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = namekeeper.broker.Nothing


def test_importing_it_loads_nothing():
    code = "import sys, namekeeper.broker; print('asyncio' in sys.modules or 'msgspec' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=50 * PATIENCE, check=True
    )
    assert done.stdout == "False\n"
