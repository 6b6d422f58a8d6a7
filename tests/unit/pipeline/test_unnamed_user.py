"""A user without an entry in the passwd file gets a name for Spark; tests/process/test_bare_host.py runs Spark so."""

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from namekeeper.pipeline.unnamed_user import java_options_of_user, name_without_entry


@pytest.mark.parametrize(
    ("entries", "name"),
    [
        ({}, f"uid{os.getuid()}"),
        ({os.getuid(): SimpleNamespace(pw_name="me")}, None),
        ({os.getuid(): SimpleNamespace(pw_name="")}, f"uid{os.getuid()}"),
    ],
)
def test_only_a_user_without_a_name_gets_one(monkeypatch, entries, name):
    monkeypatch.setattr("pwd.getpwuid", entries.__getitem__)
    assert name_without_entry() == name


def test_java_is_told_the_name_and_an_absolute_home():
    assert java_options_of_user("uid7", Path("/t")) == "-Duser.name=uid7 -Duser.home=/t"
