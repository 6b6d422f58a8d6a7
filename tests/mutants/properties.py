"""A bug for each property: its value is ignored, and the default is used."""

from namekeeper.config.property import Spec
from tests.mutants.mutant import Mutant
from tests.unit.app.test_properties import IN_EFFECT, SHOWN_BY

__all__ = ["PROPERTY_MUTANTS"]

_READ = "    settings = _at_home(msgspec.structs.replace(old, **values), home)\n"


def _ignored(spec: Spec) -> Mutant:
    return Mutant(
        f"ignored-{spec.name}",
        "config/load.py",
        _READ,
        f'    values.pop("{spec.field}", None)\n{_READ}',
        f"the property {spec.name} does what the reference says",
        (f"../{SHOWN_BY[spec.name]}",),
    )


PROPERTY_MUTANTS = tuple(map(_ignored, IN_EFFECT))
