"""The present TLS settings of a name server, including the keys of `tls.config.file`."""

import contextlib

from namekeeper.config.property import PropertyGroup, format_value
from namekeeper.config.settings import SPECS
from namekeeper.config.startup import Startup, with_tls_file
from namekeeper.files import read_if_exists
from namekeeper.remoting.tls_settings import TlsSettings

__all__ = ["read_tls_settings"]


def read_tls_settings(startup: Startup) -> TlsSettings:
    """Override the settings by the TLS file if it is readable; blocks on the disk.

    Raises:
        ConfigError: the file holds what can't be used.
    """
    settings = startup.settings
    data = None
    with contextlib.suppress(OSError):  # as in Java, an unreadable file is ignored
        data = read_if_exists(settings.tls_config_file)
    if data is not None:
        settings, _ = with_tls_file(settings, data, startup.given)
    return TlsSettings.from_properties(
        {
            spec.name: format_value(getattr(settings, spec.field))
            for spec in SPECS.values()
            if spec.facts.group is PropertyGroup.TLS
        }
    )
