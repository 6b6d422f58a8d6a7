from namekeeper.common.shadow_names import is_shadow, shadow_id
from namekeeper.observe.config import ObservedCluster, Target
from namekeeper.remoting.address import Address


def test_no_observed_name_server_has_the_id_of_a_shadow():
    assert [shadow_id(""), shadow_id("east")] == ["shadow", "east.shadow"]
    for label in ("", "east", "shadow"):
        assert is_shadow(shadow_id(label))
        target = Target.of(ObservedCluster(label, ()), Address("shadow", 9876))
        assert not is_shadow(target.id)
