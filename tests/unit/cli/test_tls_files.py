import asyncio
import ssl
from pathlib import Path

import pytest

from namekeeper.cli.tls_files import NO_TLS_FILES, TlsFiles, pages_tls, take_tls_files
from namekeeper.errors import ConfigError
from namekeeper.remoting.page_address import parse_page_addresses
from namekeeper.remoting.tls_client import present_context
from tests.support.wire.certificates import Certificates


def test_certificate_and_key_go_together() -> None:
    options: dict[str, object] = {"tls_ca": None, "tls_cert": "c", "tls_key": None, "more": 1}
    with pytest.raises(ConfigError, match="--tls-cert and --tls-key go together"):
        take_tls_files(options)
    assert options == {"more": 1}
    assert take_tls_files({"tls_ca": "a", "tls_cert": "c", "tls_key": "k"}) == TlsFiles("a", "c", "k")


def test_pages_without_tls_need_no_files() -> None:
    assert pages_tls(TlsFiles("/nowhere"), parse_page_addresses("a:1")) is None


def test_the_servers_of_pages_are_verified_also_without_files(tmp_path: Path) -> None:
    cert, key = Certificates(tmp_path).issue("ops")
    pages = parse_page_addresses("a:1;https://b:2")
    for files in (NO_TLS_FILES, TlsFiles(str(tmp_path / "trust.pem"), str(cert), str(key))):
        context = asyncio.run(present_context(pages_tls(files, pages)))
        assert context is not None
        assert context.verify_mode is ssl.CERT_REQUIRED
        assert context.check_hostname
