"""Numbers of transports, as IP's Protocol or Next Header field tells them (IANA)."""

from typing import Final

TCP: Final = 6
UDP: Final = 17
