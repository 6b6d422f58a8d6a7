"""The certificates with which commands speak TLS to name servers and to their operators' pages."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import click
from msgspec import Struct

from namekeeper.errors import ConfigError
from namekeeper.remoting.page_address import PageAddress
from namekeeper.remoting.tls_settings import TlsSettings

if TYPE_CHECKING:
    from namekeeper.remoting.tls_client import ClientTls

__all__ = ["NO_TLS_FILES", "TlsFiles", "pages_tls", "take_tls_files", "tls_file_options"]


class TlsFiles(Struct, frozen=True):
    """Files in PEM form; empty: none."""

    ca: str = ""
    """Authorities of the servers that are trusted."""
    cert: str = ""
    """Our own certificate chain."""
    key: str = ""
    """The key of that certificate."""

    @property
    def settings(self) -> TlsSettings:
        """As settings of a client; without authorities any server is trusted (`client_context`)."""
        return TlsSettings(
            enable=True,
            test_mode=False,
            auth_server=bool(self.ca),
            client_trust_cert_path=self.ca,
            client_cert_path=self.cert,
            client_key_path=self.key,
        )


NO_TLS_FILES = TlsFiles()


def tls_file_options(function: Callable[..., None]) -> Callable[..., None]:
    """Add the options that `take_tls_files` takes out again."""
    file = click.Path(exists=True, dir_okay=False)
    for option in (
        click.option("--tls-key", type=file, metavar="FILE", help="Its key, PEM."),
        click.option(
            "--tls-cert", type=file, metavar="FILE", help="Speak TLS, and show this certificate chain, PEM."
        ),
        click.option(
            "--tls-ca", type=file, metavar="FILE",
            help="Speak TLS, and trust only servers with a certificate of these authorities.",
        ),
    ):  # fmt: skip
        function = option(function)
    return function


def take_tls_files(options: dict[str, Any]) -> TlsFiles:
    """Take the values of `tls_file_options` out of `options`.

    Raises:
        ConfigError: certificate and key are not both given.
    """
    ca, cert, key = (options.pop(f"tls_{name}") or "" for name in ("ca", "cert", "key"))
    if bool(cert) != bool(key):
        raise ConfigError("--tls-cert and --tls-key go together: give both, or none")
    return TlsFiles(ca, cert, key)


def pages_tls(files: TlsFiles, pages: Iterable[PageAddress]) -> "ClientTls | None":
    """The TLS of operators' pages; None if no page speaks TLS.

    Raises:
        ConfigError: the files can't be used.
    """
    if not any(page.is_tls for page in pages):
        return None
    from namekeeper.remoting.tls_client import ClientTls
    from namekeeper.remoting.tls_contexts import page_context

    return ClientTls(lambda: files.settings, page_context)
