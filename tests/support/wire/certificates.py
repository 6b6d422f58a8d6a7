"""Certificates for tests, made on the spot: no keys in the repository."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import trustme
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.x509.oid import ExtensionOID

__all__ = ["NO_TEXT", "Certificates"]

NO_TEXT = b"\x30\x06\x82\x04a\xff.b"
"""An alternative name that is no text, as DER."""


class Certificates:
    """An authority, and PEM files in `folder` of what it issued."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.authority = trustme.CA()
        self.trust = folder / "trust.pem"
        self.authority.cert_pem.write_to_path(self.trust)

    def issue(
        self, name: str, *hosts: str, password: str = "", begin_days: float = -1, end_days: float = 30
    ) -> tuple[Path, Path]:
        """Write certificate chain and PKCS#8 key of `name.test`, also at `hosts`; return their paths.

        It is valid from `begin_days` to `end_days` from now.
        """
        now = datetime.now(UTC)
        leaf = self.authority.issue_cert(
            f"{name}.test",
            *hosts,
            not_before=now + timedelta(days=begin_days),
            not_after=now + timedelta(days=end_days),
        )
        cert, key = self.folder / f"{name}.pem", self.folder / f"{name}.key"
        cert.write_bytes(b"".join(blob.bytes() for blob in leaf.cert_chain_pems))
        encryption = (
            serialization.BestAvailableEncryption(password.encode())
            if password
            else serialization.NoEncryption()
        )
        private = serialization.load_pem_private_key(leaf.private_key_pem.bytes(), None)
        key.write_bytes(
            private.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption)
        )
        return cert, key

    def renew(self, cert: Path, key: Path, names: bytes = b"") -> bytes:
        """Return a new certificate for the same key, as PEM; for the same names, or other ones as DER."""
        old = x509.load_pem_x509_certificate(cert.read_bytes())
        private = serialization.load_pem_private_key(key.read_bytes(), None)
        authority = serialization.load_pem_private_key(self.authority.private_key_pem.bytes(), None)
        builder = (
            x509.CertificateBuilder()
            .subject_name(old.subject)
            .issuer_name(old.issuer)
            .public_key(private.public_key())  # type: ignore[arg-type]
            .serial_number(x509.random_serial_number())
            .not_valid_before(old.not_valid_before_utc)
            .not_valid_after(old.not_valid_after_utc + timedelta(days=30))
        )
        for extension in old.extensions:
            is_other = names and extension.oid == ExtensionOID.SUBJECT_ALTERNATIVE_NAME
            value = x509.UnrecognizedExtension(extension.oid, names) if is_other else extension.value
            builder = builder.add_extension(value, extension.critical)
        return builder.sign(authority, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)  # type: ignore[arg-type]
