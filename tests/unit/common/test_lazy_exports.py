"""Names that a package loads when they are first used."""

import pytest

from namekeeper.common.lazy_exports import lazy_exports


def test_a_name_is_taken_from_its_module():
    from namekeeper.common import printable

    load = lazy_exports("namekeeper.common", {"__doc__": "printable"})
    assert load("__doc__") == printable.__doc__


def test_an_unknown_name_is_an_attribute_error_that_names_the_package():
    load = lazy_exports("namekeeper.common", {})
    with pytest.raises(AttributeError, match=r"module 'namekeeper.common' has no attribute 'nothing'"):
        load("nothing")


def test_a_module_is_loaded_when_its_name_is_used():
    load = lazy_exports("namekeeper.common", {"absent": "no_such_module"})
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        load("absent")
