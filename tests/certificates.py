"""Certificates of this machine that vouch for themselves, for tests of those who ask for them."""

import os
import time
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

DAY = timedelta(days=1)


class Pair(NamedTuple):
    """Files of a certificate and its key."""

    certificate: Path
    key: Path

    def put(self, days: float, since: float = -1.0, name: str = "one") -> None:
        """Put a certificate of this machine there that is valid for so many days from now."""
        key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
        named = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        made = (
            x509.CertificateBuilder().subject_name(named).issuer_name(named)
            .public_key(key.public_key()).serial_number(x509.random_serial_number())
            .not_valid_before(now + since * DAY).not_valid_after(now + days * DAY)
            .add_extension(x509.SubjectAlternativeName([x509.IPAddress(IPv4Address("127.0.0.1"))]),
                           critical=False)
            .sign(key, hashes.SHA256())
        )  # fmt: skip
        self.certificate.write_bytes(made.public_bytes(serialization.Encoding.PEM))
        self.key.write_bytes(key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        ))  # fmt: skip

    def older(self) -> None:
        """Let the files be of an hour ago, so that a change shows however coarse the clock is."""
        for path in self:
            os.utime(path, (time.time() - 3600,) * 2)
