"""A bug for each property: its value is ignored, and the default is used."""

from namekeeper.config.property import Spec
from tests.mutants.mutant import Mutant
from tests.unit.app.property_tests import IN_EFFECT, SHOWN_BY

__all__ = ["PROPERTY_MUTANTS"]

_TLS = ("app/test_properties.py::test_every_tls_property_of_the_server_makes_a_difference_to_tls",)
"""The tests of TLS itself begin with its settings; this one with the properties of a server."""
_READ = "    settings = _at_home(msgspec.structs.replace(old, **values), home)\n"


def _ignored(spec: Spec) -> Mutant:
    return Mutant(
        f"ignored-{spec.name}",
        "config/load.py",
        _READ,
        f'    values.pop("{spec.field}", None)\n{_READ}',
        f"the property {spec.name} does what the reference says",
        (f"../{SHOWN_BY[spec.name]}", *(_TLS if spec.name.startswith("tls.") else ())),
    )


PROPERTY_MUTANTS = tuple(map(_ignored, IN_EFFECT))
