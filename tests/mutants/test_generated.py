"""A generated mutant that survives is noticed, wherever its line is; one that is listed is not."""

import json

from tests.mutants import generated
from tests.mutants.generated import CAUGHT, LISTS, PACKAGES, beyond, entry
from tests.mutants.mutant import ROOT, SOURCES

DIFF = """\
--- src/namekeeper/x.py
+++ src/namekeeper/x.py
@@ -1,3 +1,3 @@
 def twice(number):
-    return number * 2
+    return number * 3
"""


def test_an_entry_names_the_function_and_both_lines_and_no_numbers():
    first = entry("namekeeper.x.x_twice__mutmut_2", DIFF)
    assert first == "namekeeper.x.twice: return number * 2 -> return number * 3"
    assert entry("namekeeper.x.x_twice__mutmut_7", DIFF.replace("-1,3", "-9,3")) == first
    assert entry("namekeeper.x.x\u01c1Twice\u01c1of__mutmut_1", DIFF).startswith("namekeeper.x.Twice.of: ")


def test_a_mutant_without_a_test_is_not_caught():
    assert not {"survived", "no tests", "suspicious", "segfault", "not checked", "skipped"} & {*CAUGHT}


def test_a_second_equal_survivor_is_new():
    assert beyond(["x", "y"], ["y", "x"]) == []
    assert beyond(["x", "y"], ["x", "x", "z"]) == ["x", "z"]


def test_the_run_fails_for_a_survivor_that_is_not_listed_only(monkeypatch, tmp_path, capsys):
    mutants = {"x.x_twice__mutmut_1": ("killed", ""), "x.x_twice__mutmut_2": ("survived", DIFF)}
    (tmp_path / "report.json").write_text(json.dumps(mutants))
    monkeypatch.setattr(generated, "LISTS", tmp_path)
    monkeypatch.setattr(generated, "copy_of", lambda package: tmp_path)
    monkeypatch.setattr(generated, "in_folder", lambda *_: None)
    (tmp_path / "x.txt").write_text("")
    assert generated.main(["x"])
    assert "*** a mutant survives that x.txt lacks: x.twice: return number * 2" in capsys.readouterr().out
    generated.main(["x", "--write"])
    assert not generated.main(["x"])
    (tmp_path / "x.txt").write_text((tmp_path / "x.txt").read_text() + "x.gone: 1 -> 2\n")
    assert not generated.main(["x"])
    assert "delete it from x.txt: x.gone: 1 -> 2" in capsys.readouterr().out


def test_each_package_has_its_sources_its_tests_and_its_list():
    for package in PACKAGES:
        assert (SOURCES / "namekeeper" / package).is_dir()
        assert (ROOT / "tests" / "unit" / package).is_dir()
        assert (LISTS / f"{package}.txt").is_file()
    assert {path.stem for path in LISTS.iterdir()} == set(PACKAGES)
