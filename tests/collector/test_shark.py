"""Every field of every layer that tshark knows is equal, in frames of all formats and envelopes."""

from collections.abc import Callable
from pathlib import Path

from generate import PROFILES, grown
from shark import agreement
from shark_fields import KNOWN, known

from collector import CollectorSettings

FRAMES = 700
"""Of each profile; the soak takes a hundred thousand and more."""
FEWEST_FIELDS, FEWEST_HEADERS = 30_000, 70


def test_every_field_that_tshark_knows_is_equal(tool: Callable[..., str], tmp_path: Path) -> None:
    given = [
        (CollectorSettings.model_validate(profile), grown(number, FRAMES, seed=60 + number))
        for number, profile in enumerate(PROFILES)
    ]
    found = agreement(tool, tmp_path / "grown.pcap", given)
    assert found.differences == []
    assert found.fields.total() > FEWEST_FIELDS
    assert len(+found.headers - found.unseen) > FEWEST_HEADERS


def test_headers_of_a_group_share_its_names() -> None:
    assert known("tcp_sack3") == KNOWN["tcp_sack"]
    assert known("accecn_acce_2") == KNOWN["accecn"]
    assert known("csig_echo_udp_flags") == {}
