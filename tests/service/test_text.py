"""Numbers as people read them."""

import pytest

from service.text import duration, rate, size


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        (size(0), "0"),
        (size(1000), "1000 B"),
        (size(1010 * 1024), "1010 KiB"),
        (size(1023.9 * 1024), "1024 KiB"),
        (size(1024 * 1024), "1 MiB"),
        (size(1.234e9), "1.15 GiB"),
        (rate(999.7e6), "1000 Mbit/s"),
        (rate(25e9), "25 Gbit/s"),
        (rate(-1536), "-1.54 kbit/s"),
        (rate(0.5), "0 bit/s"),
        (duration(999.9e6), "1000 ms"),
        (duration(12_345), "12.3 us"),
        (duration(86_400e9), "86400 s"),
    ],
)
def test_a_number_is_written_out_beside_the_largest_unit_that_fits(said: str, wanted: str) -> None:
    assert said == wanted
