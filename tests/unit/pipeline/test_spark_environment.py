"""Each variable that changes what Spark does is looked at, and the doctor says which can't be used."""

from importlib.metadata import version

import pytest

from namekeeper.pipeline.spark_environment import is_usable_spark_home, look_at_variables

OURS = ".".join(version("pyspark").split(".")[:2])


def spark_home(folder, release):
    (folder / "bin").mkdir(parents=True)
    (folder / "jars").mkdir()
    (folder / "bin" / "spark-submit").write_text("#!/bin/sh\n")
    (folder / "bin" / "spark-submit").chmod(0o755)
    (folder / "jars" / f"spark-core_2.13-{release}.jar").touch()
    return str(folder)


def test_a_spark_home_is_used_only_if_it_holds_the_spark_of_our_pyspark(tmp_path):
    assert is_usable_spark_home(spark_home(tmp_path / "ours", f"{OURS}.0"))
    assert not is_usable_spark_home(spark_home(tmp_path / "old", "2.4.8"))
    assert not is_usable_spark_home(str(tmp_path / "gone"))
    assert not is_usable_spark_home("")


@pytest.mark.parametrize(
    ("name", "value", "advice"),
    [
        ("SPARK_HOME", "/gone", "SPARK_HOME names /gone, where no Spark is"),
        ("SPARK_CONF_DIR", "/gone", "/gone is not there"),
        ("HADOOP_CONF_DIR", "/gone", "/gone is not there"),
        ("SPARK_LOCAL_DIRS", "/,/gone", "/gone is not there"),
        ("PYSPARK_PYTHON", "/gone/python", "/gone/python can't be run"),
        ("PYSPARK_SUBMIT_ARGS", "--master local", "has to end with pyspark-shell"),
        ("PYSPARK_GATEWAY_PORT", "1", "no spark-submit may have started this"),
    ],
)
def test_a_variable_that_can_not_be_used_has_advice(name, value, advice):
    (variable,) = look_at_variables({name: value})
    assert variable.name == name
    assert advice in variable.advice
    assert variable.advice.endswith(f"unset {name}")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("_JAVA_OPTIONS", "-Xmx1g"), ("JAVA_TOOL_OPTIONS", "-Dx=y"), ("SPARK_CONF_DIR", "/"), ("PYTHONPATH", "/lib"),
        ("SPARK_ANYTHING", "1"), ("PYSPARK_PYTHON", "python3"), ("PYSPARK_SUBMIT_ARGS", "--verbose pyspark-shell"),
    ],
)  # fmt: skip
def test_every_other_variable_is_shown(name, value):
    (variable,) = look_at_variables({name: value})
    assert variable.found.startswith(value)
    assert variable.advice == ""


def test_another_pyspark_on_the_python_path_is_named(tmp_path):
    (tmp_path / "pyspark").mkdir()
    (variable,) = look_at_variables({"PYTHONPATH": f"/lib:{tmp_path}"})
    assert str(tmp_path) in variable.advice


def test_secrets_and_what_is_not_about_spark_are_not_shown():
    found = list(
        look_at_variables(
            {"SPARK_AUTH_SECRET": "x1", "HOME": "/h", "NAMEKEEPER_FRONT": "a", "SPARK_USER": ""}
        )
    )
    assert [(each.name, each.found) for each in found] == [("SPARK_AUTH_SECRET", "set")]
