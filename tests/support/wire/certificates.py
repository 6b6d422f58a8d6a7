"""Certificates for tests, made on the spot: no keys in the repository."""

from pathlib import Path

import trustme
from cryptography.hazmat.primitives import serialization

__all__ = ["Certificates"]


class Certificates:
    """An authority, and PEM files in `folder` of what it issued."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.authority = trustme.CA()
        self.trust = folder / "trust.pem"
        self.authority.cert_pem.write_to_path(self.trust)

    def issue(self, name: str, *hosts: str, password: str = "") -> tuple[Path, Path]:
        """Write certificate chain and PKCS#8 key of `name.test`, also at `hosts`; return their paths."""
        leaf = self.authority.issue_cert(f"{name}.test", *hosts)
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
