"""Rules and concerns have names, and say what they read."""

import re

from namekeeper.pipeline.checks.checking import checks
from namekeeper.pipeline.checks.rules import CONCERNS, RULES, Level
from namekeeper.pipeline.gold.tables import GOLD
from namekeeper.pipeline.schema import FACTS


def test_names_are_unique_and_levels_are_right():
    names = [check.name for check in checks()]
    assert len(set(names)) == len(names)
    assert {check.level for check in RULES} == {Level.BROKEN}
    assert {check.level for check in CONCERNS} == {Level.CONCERN}


def test_each_lists_the_tables_that_it_reads():
    known = {*GOLD, *FACTS}
    for check in checks():
        read = set(re.findall(r"(?:FROM|JOIN)\s+(\w+)", check.sql)) & known
        assert read == set(check.tables), check.name
