"""Texts in which names from the network can be told from words."""

from namekeeper.answers.incidents.drift_fact import DriftFact, NamedText, named


def test_only_names_are_shown_otherwise():
    text = named("{} registers with {}", "a(b)", named("{} of (2)", "{}"))
    assert str(text) == "a(b) registers with {} of (2)"
    assert str(text.with_names(lambda name: f"<{name}>")) == "<a(b)> registers with <{}> of (2)"


def test_a_text_behind_another_keeps_its_names():
    assert named("x {}", "a") + named("{} y", "b") == NamedText(("x ", "a", "", "b", " y"))


def test_a_fact_has_other_names_in_its_text_and_its_cause():
    fact = DriftFact(kind="no_brokers", text=named("{} has none", "ns"), why="ns: gone")
    assert fact.with_names(str.upper) == DriftFact(
        kind="no_brokers", text=named("{} has none", "NS"), why="NS: GONE"
    )
