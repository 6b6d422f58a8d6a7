"""Java's properties stand in one class, our own in the one that is made from it."""

from namekeeper.config.java_settings import JavaSettings
from namekeeper.config.property import PropertyGroup, specs_of
from namekeeper.config.settings import SPECS


def test_it_has_the_properties_that_java_has_and_no_other():
    ours = {name for name, spec in SPECS.items() if spec.facts.group is PropertyGroup.OURS}
    assert SPECS.keys() - ours == specs_of(JavaSettings).keys()


def test_java_s_come_first_so_that_the_reference_begins_with_them():
    names = list(specs_of(JavaSettings))
    assert list(SPECS)[: len(names)] == names
