"""Lets Spark run under a uid without an entry in the passwd file, as containers are given.

Java's login asks the system for the name of the user and fails without one. Hadoop takes a name that is set
before its first use.
"""

import os
import pwd
from collections.abc import Mapping
from pathlib import Path

__all__ = ["java_options_of_user", "log_in", "name_without_entry"]


def name_without_entry() -> str | None:
    """The name that Spark gets for this user; None if the passwd file has one."""
    try:
        return None if pwd.getpwuid(os.getuid()).pw_name else _name()
    except KeyError:
        return _name()


def java_options_of_user(name: str, folder: Path) -> str:
    """Options for a Java whose user has no entry: Spark makes a path of the home, and never uses it."""
    return f"-Duser.name={name} -Duser.home={folder}"


def log_in(name: str, settings: Mapping[str, str]) -> None:
    """Start the Java of the session that is made next, and tell Hadoop the user's name.

    Args:
        name: of the user.
        settings: of the session: options of Java are read here.
    """
    from pyspark import SparkConf, SparkContext

    conf = SparkConf(loadDefaults=False).setAll(list(settings.items()))
    SparkContext._ensure_initialized(conf=conf)  # noqa: SLF001 -- what a SparkContext does first itself
    java = SparkContext._jvm  # noqa: SLF001 -- the only way to call Hadoop before there is a session
    assert java is not None
    users = java.org.apache.hadoop.security.UserGroupInformation
    users.setLoginUser(users.createRemoteUser(name))


def _name() -> str:
    return f"uid{os.getuid()}"
