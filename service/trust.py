"""Whom clients of HTTPS trust: the authorities that the environment names, else well-known ones."""

import os
import ssl

import httpx

VARIABLES = ("SSL_CERT_FILE", "SSL_CERT_DIR")
"""Variables that name authorities, in the order in which they hold."""


class TrustError(httpx.RequestError):
    """The authorities cannot be read; the text names the variable and what it names."""


def trust(url: str) -> ssl.SSLContext:
    """What a client of a URL goes by; where nothing is encrypted nobody is trusted.

    Raises TrustError.
    """
    if not url.lower().startswith("https:"):
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        return httpx.create_ssl_context()
    except OSError as error:
        named = [f"{name}={os.environ[name]}" for name in VARIABLES if os.environ.get(name)]
        what = named[0] if named else "the authorities of certifi"
        is_tls = isinstance(error, ssl.SSLError)
        why = "no certificate is in it" if is_tls else str(error.strerror or error).lower()
        raise TrustError(f"{what} cannot be read: {why}") from None
