"""Looks at each variable of the environment that changes what Spark does, and says which can't be used."""

import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NamedTuple

__all__ = ["SparkVariable", "is_usable_spark_home", "look_at_variables"]

_NAMES = re.compile(
    r"(SPARK|PYSPARK|HADOOP|YARN|HIVE)_\w+|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|JDK_JAVA_OPTIONS|CLASSPATH|PYTHONPATH"
    r"|PYTHONHOME"
)
"""JAVA_HOME and PATH are looked at where Javas are."""
_SECRET = re.compile(r"SECRET|PASSWORD|TOKEN|CREDENTIAL", re.IGNORECASE)
_CORE_JAR = re.compile(r"spark-core_[\d.]+-(\d+\.\d+)[\w.-]*\.jar")


class SparkVariable(NamedTuple):
    """One variable that is set."""

    name: str
    found: str
    """Value of the variable, and its effect."""
    advice: str = ""
    """The advice to the operator; empty if the value can be used."""


def look_at_variables(environment: Mapping[str, str]) -> Iterator[SparkVariable]:
    """Every variable that is set and that Spark, Hadoop, Java or PySpark reads, by name."""
    for name in sorted(filter(_NAMES.fullmatch, environment)):
        value = environment[name]
        if value:
            what, advice = _LOOKS.get(name, _look_at_any)(value)
            shown = "set" if _SECRET.search(name) else value
            yield SparkVariable(
                name, f"{shown}: {what}" if what else shown, f"{advice}: unset {name}" if advice else ""
            )


def is_usable_spark_home(home: str) -> bool:
    """Whether a folder holds the Spark of the pyspark that is installed."""
    return not _look_at_spark_home(home)[1]


def _look_at_any(_value: str) -> tuple[str, str]:
    return "", ""


def _look_at_spark_home(home: str) -> tuple[str, str]:
    if not os.access(Path(home, "bin", "spark-submit"), os.X_OK):
        return (
            "no Spark is there",
            f"SPARK_HOME names {home}, where no Spark is; a local session does without it",
        )
    try:
        ours = ".".join(version("pyspark").split(".")[:2])
    except PackageNotFoundError:
        return "", ""
    found = {
        match[1]
        for path in Path(home, "jars").glob("spark-core_*")
        if (match := _CORE_JAR.fullmatch(path.name))
    }
    if found and ours not in found:
        theirs = ", ".join(sorted(found))
        return f"Spark {theirs}", f"SPARK_HOME names Spark {theirs}, and pyspark is {ours}"
    return "its Spark is started", ""


def _look_at_folder(value: str) -> tuple[str, str]:
    if not os.access(value, os.R_OK | os.X_OK):
        return "no folder that can be read", f"{value} is not there, or this user may not read it"
    return "settings are read from there", ""


def _look_at_program(value: str) -> tuple[str, str]:
    if shutil.which(value) is None:
        return "no program", f"{value} can't be run"
    return "", ""


def _look_at_local_dirs(value: str) -> tuple[str, str]:
    lacking = [each for each in value.split(",") if not os.access(each, os.W_OK | os.X_OK)]
    if lacking:
        return "can't be written", f"{lacking[0]} is not there, or this user may not write to it"
    return "Spark writes its temporary files there", ""


def _look_at_submit_arguments(value: str) -> tuple[str, str]:
    if not value.rstrip().endswith("pyspark-shell"):
        return "", "it has to end with pyspark-shell"
    return "its options count besides those of the command", ""


def _look_at_gateway(_value: str) -> tuple[str, str]:
    return (
        "spark-submit set it; outside of it no session can be made",
        "no spark-submit may have started this",
    )


def _look_at_java_options(_value: str) -> tuple[str, str]:
    return "every Java takes these options; of _JAVA_OPTIONS they win over --memory", ""


def _look_at_python_path(value: str) -> tuple[str, str]:
    others = [each for each in value.split(os.pathsep) if each and Path(each, "pyspark").is_dir()]
    if others:
        return "it has a pyspark", f"the pyspark in {others[0]} may be another one than ours"
    return "modules in there come before ours", ""


_LOOKS: Mapping[str, Callable[[str], tuple[str, str]]] = {
    "SPARK_HOME": _look_at_spark_home,
    "SPARK_CONF_DIR": _look_at_folder,
    "HADOOP_CONF_DIR": _look_at_folder,
    "YARN_CONF_DIR": _look_at_folder,
    "HADOOP_HOME": _look_at_folder,
    "SPARK_LOCAL_DIRS": _look_at_local_dirs,
    "PYSPARK_PYTHON": _look_at_program,
    "PYSPARK_DRIVER_PYTHON": _look_at_program,
    "PYSPARK_SUBMIT_ARGS": _look_at_submit_arguments,
    "PYSPARK_GATEWAY_PORT": _look_at_gateway,
    "JAVA_TOOL_OPTIONS": _look_at_java_options,
    "_JAVA_OPTIONS": _look_at_java_options,
    "JDK_JAVA_OPTIONS": _look_at_java_options,
    "PYTHONPATH": _look_at_python_path,
}
