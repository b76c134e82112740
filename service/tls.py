"""HTTPS: the certificate that the service shows. Files that change are taken while it runs."""

import contextlib
import logging
import ssl
import time
from pathlib import Path

from service.endpoint import DAY_NS, NS_PER_S, time_text
from service.failure import ExitCode, Failure
from service.stamp import stamp

SOON_DAYS = 14
"""Days before its end at which somebody should be told; those who renew do so a month before."""
logger = logging.getLogger("hopsight.service")


class Tls:
    """A certificate chain and its key, which fit each other, for a server's connections.

    Failure says what is wrong with the files.
    """

    def __init__(self, certificate: Path, key: Path) -> None:
        self.certificate, self.key = certificate, key
        self._seen = self._changed()
        self.context = self._loaded()
        self.from_ns, self.to_ns = validity(certificate)

    @classmethod
    def of(cls, certificate: Path | None, key: Path | None) -> "Tls | None":
        """That of the settings, None without. Raises Failure."""
        if certificate is None and key is None:
            return None
        if certificate is None or key is None:
            name = "service.tls_certificate" if certificate is None else "service.tls_key"
            raise Failure(ExitCode.USAGE, f"{name}: HTTPS needs the certificate and its key")
        return cls(certificate, key)

    def _loaded(self) -> ssl.SSLContext:
        """The files as they are now."""
        with contextlib.suppress(OSError):  # told below
            if b"ENCRYPTED" in self.key.read_bytes():
                said = "needs a pass phrase; accepted: a key without one"
                raise Failure(ExitCode.INPUT, f"service.tls_key: {self.key}: {said}")
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        try:
            context.load_cert_chain(self.certificate, self.key)
        except (OSError, ssl.SSLError) as error:
            why = error.strerror or type(error).__name__
            files = f"{self.certificate}, {self.key}"
            said = f"service.tls_certificate, service.tls_key: {files}: {why}"
            raise Failure(ExitCode.INPUT, said) from None
        return context

    def _changed(self) -> list[tuple[int, ...]]:
        """What is another one once a file has changed; links are followed."""
        return [stamp(file) for file in (self.certificate, self.key)]

    def renew(self) -> None:
        """Take files that have changed for the connections to come.

        Of a pair that does not fit (yet) nothing is taken, and the one before holds.
        """
        seen = self._changed()
        if seen == self._seen:
            return
        self._seen = seen
        try:
            self._loaded()  # what goes wrong in the context of a server would cost it its key
            self.from_ns, self.to_ns = validity(self.certificate)
            self.context.load_cert_chain(self.certificate, self.key)
        except (Failure, OSError) as failure:
            logger.warning("a changed certificate is refused, the one before holds: %s", failure)
            return
        logger.info("a changed certificate is taken: valid until %s", time_text(self.to_ns))
        self.warn()

    def warn(self) -> None:
        """Log what clients will not accept, or soon no more."""
        if said := self.doubt():
            logger.warning("service.tls_certificate: %s: %s", self.certificate, said)

    def doubt(self) -> str:
        """What is wrong with the time in which it is valid; empty: nothing."""
        now_ns = time.time_ns()
        if now_ns > self.to_ns:
            return f"is valid no more since {time_text(self.to_ns)}: clients refuse it"
        if now_ns < self.from_ns:
            return f"is not valid before {time_text(self.from_ns)}: clients refuse it"
        if self.to_ns - now_ns < SOON_DAYS * DAY_NS:
            return f"is valid until {time_text(self.to_ns)} only"
        return ""

    @property
    def to_s(self) -> float:
        """When it is valid no more, seconds since 1970."""
        return self.to_ns / NS_PER_S

    @property
    def is_valid(self) -> bool:
        """Whether clients may accept it now."""
        return self.from_ns <= time.time_ns() <= self.to_ns


def validity(certificate: Path) -> tuple[int, int]:
    """From when to when all certificates of a chain are valid, ns since 1970 (RFC 5280, 4.1.2.5).

    Raises Failure.
    """
    from cryptography import x509

    try:
        chain = x509.load_pem_x509_certificates(certificate.read_bytes())
    except (OSError, ValueError) as error:
        said = f"service.tls_certificate: {certificate}: {error}"
        raise Failure(ExitCode.INPUT, said) from None
    begins = max(each.not_valid_before_utc for each in chain)
    ends = min(each.not_valid_after_utc for each in chain)
    return int(begins.timestamp()) * NS_PER_S, int(ends.timestamp()) * NS_PER_S
