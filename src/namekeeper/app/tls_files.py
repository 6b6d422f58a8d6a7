"""TLS settings of a name server as they are now, the keys of `tls.config.file` included."""

from namekeeper.config.property import Group, format_value
from namekeeper.config.settings import SPECS, NamesrvSettings
from namekeeper.config.startup import with_tls_file
from namekeeper.errors import ConfigError
from namekeeper.files import read_if_exists
from namekeeper.remoting.tls_settings import TlsSettings

__all__ = ["read_tls_settings"]


def read_tls_settings(settings: NamesrvSettings) -> TlsSettings:
    """Lay the TLS file, if there is one, over the settings; blocks on the disk.

    Raises:
        ConfigError: the file can't be read or holds what can't be used.
    """
    try:
        data = read_if_exists(settings.tls_config_file)
    except OSError as error:
        raise ConfigError(f"can't read {settings.tls_config_file}: {error.strerror}") from None
    if data is not None:
        settings, _ = with_tls_file(settings, data)
    return TlsSettings.from_properties(
        {
            spec.name: format_value(getattr(settings, spec.field))
            for spec in SPECS.values()
            if spec.facts.group is Group.TLS
        }
    )
