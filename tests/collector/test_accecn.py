"""AccECN: both kinds at every length, experiments by their identifiers, rivals on one kind."""

import pytest
from octets import ethernet, frames_of, ipv4, tcp

from collector import CollectorSettings, Decoder, complete

NAMES = ("accecn_e0b", "accecn_ceb", "accecn_e1b")


@pytest.mark.parametrize(
    ("option", "counters"),
    [
        ("ac0b000001000000000001", (1, 0, 1)),
        ("fe0dacc0000001000000000000", (1, 0, 0)),
        ("ac02", (None, None, None)),
        ("ac05a00001", (0xA00001, None, None)),
        ("ac08a00001b00002", (0xA00001, 0xB00002, None)),
        ("ac0ba00001b00002c00003", (0xA00001, 0xB00002, 0xC00003)),
        ("ae02", (None, None, None)),
        ("ae05a00001", (None, None, 0xA00001)),
        ("ae08a00001b00002", (None, 0xB00002, 0xA00001)),
        ("ae0ba00001b00002c00003", (0xC00003, 0xB00002, 0xA00001)),
        ("fd04acc0", (None, None, None)),
        ("fe07acc0a00001", (0xA00001, None, None)),
        ("fd0aacc0a00001b00002", (0xA00001, 0xB00002, None)),
        ("fd0dacc1a00001b00002c00003", (0xC00003, 0xB00002, 0xA00001)),
        ("fe0dacce" + "a00001b00002c00003", (0xA00001, 0xB00002, 0xC00003)),
        ("fe0dacc2" + "a00001b00002c00003", (None, None, None)),
    ],
)
def test_counters_stand_in_the_order_of_their_kind(
    option: str, counters: tuple[int | None, ...]
) -> None:
    decoder = Decoder(CollectorSettings())
    frames = frames_of([ethernet(ipv4(tcp(bytes.fromhex(option))))])
    (row,) = complete(decoder.decode(frames, ["tap"], "test")).to_dicts()
    assert decoder.accounting.reasons == {}
    assert tuple(row[name] for name in NAMES) == counters


def test_a_reflection_on_the_same_kind_and_length_is_told_apart() -> None:
    options = ("fd0ac516010203040506", "fd0aacc0010203040506")
    packets = [ethernet(ipv4(tcp(bytes.fromhex(option)))) for option in options]
    rows = complete(Decoder(CollectorSettings()).decode(frames_of(packets), ["tap"], "test"))
    assert rows["csig_echo_variant"].to_list() == [2, None]
    assert rows["accecn_e0b"].to_list() == [None, 0x010203]
