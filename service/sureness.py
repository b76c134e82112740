"""How sure something is, for people: as many nines as there are, and the odds beside them."""

from math import ceil, floor, log10

from service.text import NONE

MOST_NINES = 5
"""Beyond these, `sure` says that it is more; the odds go on."""
PLAIN_ODDS = 6
"""Powers of ten that are written out."""
RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def sureness(value: float | None) -> str:
    """A probability with its nines: 0.9968 is 99.6 %, and it is never rounded up."""
    if value is None:
        return NONE
    if 1 - value < 10.0**-MOST_NINES:
        return f"> {100 - 10.0 ** (2 - MOST_NINES):.{MOST_NINES - 2}f} %"
    digits = max(ceil(-log10(100 * (1 - value)) - 1e-9), 0) if value < 1 else 0
    scale = 10**digits
    return f"{floor(100 * value * scale + 1e-9) / scale:.{digits}f} %"


def odds(chance_log10: float) -> str:
    """A chance by its decimal logarithm: 1 in 4,000, or 1 in 10²⁴; at most, so rounded down."""
    power = floor(-chance_log10 + 1e-9)
    if power < PLAIN_ODDS:
        return f"1 in {floor(10**-chance_log10 + 1e-9):,}"
    return f"1 in 10{str(power).translate(RAISED)}"
