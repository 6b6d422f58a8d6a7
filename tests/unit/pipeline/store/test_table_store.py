"""What a load brought."""

from namekeeper.pipeline.store.table_store import LoadedRange


def test_a_span_is_joined_with_another_of_its_boot():
    one, two = (
        LoadedRange("ns", "0a1b2c3d", 5, 1, 9, 70, 90),
        LoadedRange("ns", "0a1b2c3d", 5, 10, 12, 60, 80),
    )
    assert one.joined(two) == two.joined(one) == LoadedRange("ns", "0a1b2c3d", 5, 1, 12, 60, 90)
