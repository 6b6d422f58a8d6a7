"""The library of the page is what its package has: nobody edits it here."""

import hashlib

import pytest

from tests.release.console_library import FILES, STATIC, as_served


@pytest.mark.parametrize("name", FILES)
def test_the_library_is_that_of_the_package(name):
    assert hashlib.sha256((STATIC / name).read_bytes()).hexdigest() == FILES[name][1]


def test_imports_are_by_path_and_there_is_no_source_map():
    text = 'import{h}from"preact";\n//# sourceMappingURL=hooks.module.js.map\n'
    assert as_served(text) == 'import{h}from"./preact.js";\n'
