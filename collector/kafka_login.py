"""How a process shows a broker who it is: TLS and SASL, with secrets of files or the environment.

No secret is ever printed: errors say what is wrong, never what was read.
"""

import os
import ssl
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from collector.bus import BusError
from collector.settings.bus import PASSWORD_VARIABLE, BusSettings

FOREIGN = stat.S_IRWXG | stat.S_IRWXO


def login(settings: BusSettings, environment: Mapping[str, str] = os.environ) -> dict[str, Any]:
    """What clients of a broker are told beside its address. Raises BusError."""
    told: dict[str, Any] = {}
    if settings.tls:
        told["ssl_context"] = context(settings)
    if settings.sasl != "none":
        told |= {
            "sasl_mechanism": settings.sasl,
            "sasl_plain_username": settings.sasl_user,
            "sasl_plain_password": password(settings.sasl_password_file, environment),
        }
    names = (("PLAINTEXT", "SSL"), ("SASL_PLAINTEXT", "SASL_SSL"))
    return {"security_protocol": names[settings.sasl != "none"][settings.tls], **told}


def context(settings: BusSettings) -> ssl.SSLContext:
    """TLS as the settings say; the broker's certificate and name are always checked."""
    ca, cert, key = settings.tls_ca_file, settings.tls_cert_file, settings.tls_key_file
    try:
        made = ssl.create_default_context(cafile=ca)
        if cert:
            made.load_cert_chain(cert, key)
    except (OSError, ssl.SSLError) as error:
        reason = error.strerror or type(error).__name__
        raise BusError(f"bus.tls: {cert or ca} cannot be used: {reason}") from None
    return made


def password(name: str | None, environment: Mapping[str, str]) -> str:
    """The password, of the file where one is named, else of the environment."""
    if name is None:
        if told := environment.get(PASSWORD_VARIABLE):
            return told
        raise BusError(
            f"bus.sasl: there is no password; set {PASSWORD_VARIABLE} or bus.sasl_password_file"
        )
    file = Path(name)
    try:
        mode, text = file.stat().st_mode, file.read_text(encoding="utf-8").rstrip("\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8 text"
        raise BusError(f"bus.sasl_password_file: {file}: {reason}") from None
    if mode & FOREIGN:
        raise BusError(f"bus.sasl_password_file: {file} can be read by others; accepted: mode 0600")
    if not text:
        raise BusError(f"bus.sasl_password_file: {file} is empty")
    return text
