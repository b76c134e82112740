"""Links: every way in which the same segment can lie in a frame."""

import pytest
from octets import ethernet, frames_of, ipv4, tcp

from collector import CollectorSettings, Decoder

SEGMENT = ipv4(tcp(payload=b"data"))
FRAME = ethernet(SEGMENT)
POINT = [(link, head) for link in (9, 50)
         for head in ("0021", "ff030021", "21", "ff0321", "0f000800", "8f000800")]  # fmt: skip


@pytest.mark.parametrize(
    ("link", "head"),
    [*POINT, (104, "0f000800"), (1, FRAME[:14].hex()),
     (113, "00000001000602000000000100000800"), (101, "")],
)  # fmt: skip
def test_a_segment_is_found_behind_its_link(link: int, head: str) -> None:
    decoder = Decoder(CollectorSettings())
    frames = frames_of([bytes.fromhex(head) + SEGMENT], link)
    rows = decoder.decode(frames, ["tap"], "test").to_dicts()
    assert decoder.accounting.reasons == {}
    assert [(row["seq"], row["payload_bytes"]) for row in rows] == [(1000, 4)]


@pytest.mark.parametrize(
    ("tag", "reason"), [("0400000000070800", "encrypted"), ("0c00000000070800", "encrypted")]
)
def test_what_macsec_changed_is_named(tag: str, reason: str) -> None:
    decoder = Decoder(CollectorSettings())
    frames = frames_of([ethernet(bytes.fromhex(tag) + SEGMENT, 0x88E5)])
    decoder.decode(frames, ["tap"], "test")
    assert decoder.accounting.reasons == {reason: 1}
