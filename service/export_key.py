"""The key by which exported addresses are anonymised: of the environment or of a file, only there.

No other way leads it in, and nothing prints it: errors say what is wrong and never what was read.
"""

import stat
from collections.abc import Mapping
from pathlib import Path

KEY_VARIABLE = "HOPSIGHT_EXPORT_KEY"
OCTETS = 32
"""A Crypto-PAn key: 16 octets for AES, 16 that the padding is made of."""
FOREIGN = stat.S_IRWXG | stat.S_IRWXO


class ExportKeyError(ValueError):
    """There is no key that can be used; the text says what is accepted and not what was given."""


def export_key(environment: Mapping[str, str], file: Path | None) -> bytes:
    """The key. Raises ExportKeyError."""
    if told := environment.get(KEY_VARIABLE):
        return parsed(told.encode(), KEY_VARIABLE)
    if file is None:
        raise ExportKeyError(
            f"there is no key: set {KEY_VARIABLE} or service.export_key_file"
            " (64 hexadecimal digits, as `openssl rand -hex 32` gives)"
        )
    try:
        mode, octets = file.stat().st_mode, file.read_bytes()
    except OSError as error:
        raise ExportKeyError(f"service.export_key_file: {file}: {error.strerror}") from None
    if mode & FOREIGN:
        raise ExportKeyError(
            f"service.export_key_file: {file} can be read by others; accepted: mode 0600"
        )
    return parsed(octets, f"service.export_key_file: {file}")


def parsed(octets: bytes, name: str) -> bytes:
    """A key as it is written: 64 hexadecimal digits, or 32 octets as they are."""
    if len(octets) == OCTETS:
        return octets
    try:
        key = bytes.fromhex(octets.decode("ascii").strip())
    except ValueError:
        key = b""
    if len(key) != OCTETS:
        raise ExportKeyError(f"{name}: is no key; accepted: 64 hexadecimal digits, or 32 octets")
    return key
