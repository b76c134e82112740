"""Congestion signals: the documents' vectors, their units, and a second reader that agrees."""

import random
from typing import Any

import polars as pl
import pytest
from csig_by_hand import Dialect, make, read
from octets import ethernet, frames_of, ipv4, tcp
from pydantic import ValidationError

from collector import CollectorSettings, Decoder, complete
from collector.wire import csig

FRAMES = 1200
TAGGED = bytes.fromhex("0200000000020200000000018100006499002b850800") + ipv4(tcp())
SIGNAL = ("variant", "t", "s", "lm", "d", "known", "low", "high")


def decoded(*packets: bytes, **settings: Any) -> pl.DataFrame:
    """Observations of these frames, every column."""
    decoder = Decoder(CollectorSettings(**settings))
    rows = complete(decoder.decode(frames_of(packets), ["tap"], "test"))
    assert decoder.accounting.reasons == {}
    return rows


def row_of(packet: bytes, **settings: Any) -> dict[str, Any]:
    """The only observation of a frame."""
    (row,) = decoded(packet, **settings).to_dicts()
    return row


def signal(row: dict[str, Any], prefix: str = "csig") -> tuple[Any, ...]:
    """The columns of one signal."""
    return tuple(row[f"{prefix}_{name}"] for name in SIGNAL)


def compact(data: str, **settings: Any) -> dict[str, Any]:
    """The observation of a frame with these two octets in a compact tag."""
    return row_of(ethernet(bytes.fromhex(data + "0800") + ipv4(tcp()), 0x9900), **settings)


def expanded(data: str, **settings: Any) -> dict[str, Any]:
    """The observation of a frame with these six octets in an expanded tag."""
    return row_of(ethernet(bytes.fromhex(data + "0800") + ipv4(tcp()), 0x9901), **settings)


def test_the_first_vector_in_both_layouts() -> None:
    assert signal(row_of(TAGGED)) == (1, 1, 23, 5, None, True, 23 / 32, 24 / 32)
    uec = row_of(TAGGED, csig_layout="uec")
    assert signal(uec) == (1, 1, 23, 2, 1, True, 23 / 32, 24 / 32)


def test_the_expanded_vectors_in_both_layouts() -> None:
    draft = expanded("12342abcde00")
    assert signal(draft) == (2, 2, 0xABCDE, 0x1234, None, True, 90_074_880.0, 90_075_008.0)
    uec = expanded("12353abcde00", csig_layout="uec", csig_quanta={3: 0.5})
    assert signal(uec) == (2, 3, 0xABCDE, 0x091A, 1, True, 351_855.0, 351_855.5)


@pytest.mark.parametrize(
    ("layout", "values", "octets"),
    [
        ("draft", {"t": 5, "r": 1, "s": 19, "lm": 75, "ethertype": 0x8847}, "b9cb8847"),
        ("uec", {"t": 5, "r": 0, "s": 19, "lm": 37, "d": 1, "ethertype": 0x86DD}, "a9cb86dd"),
    ],
)
def test_a_compact_tag_lies_as_in_its_picture(
    layout: str, values: dict[str, int], octets: str
) -> None:
    table, _ = csig.tags(layout)
    assert table.unpack(bytes.fromhex(octets)) == values


@pytest.mark.parametrize(
    ("layout", "values", "octets"),
    [
        ("draft", {"lm": 0x1234, "t": 2, "s": 0xABCDE, "r": 0x7F, "ethertype": 0x0800},
         "12342abcde7f0800"),
        ("uec", {"lm": 0x091A, "d": 1, "t": 3, "s": 0xABCDE, "r": 0x80, "ethertype": 0x0800},
         "12353abcde800800"),
    ],
)  # fmt: skip
def test_an_expanded_tag_lies_as_in_its_picture(
    layout: str, values: dict[str, int], octets: str
) -> None:
    _, table = csig.tags(layout)
    assert table.unpack(bytes.fromhex(octets)) == values


SECTAG = "0000" + "00000001"
SECTAG_CHANNEL = "2000" + "00000001" + "0200000000010001"


@pytest.mark.parametrize(
    ("outer", "inner"),
    [
        ("", "0800"),
        ("8100 0064", "0800"),
        ("88a8 0064 8100 0065", "0800"),
        ("88a8 0064 88a8 0065 8100 0066 8100 0067", "0800"),
        ("88e5" + SECTAG, "0800"),
        ("88e5" + SECTAG_CHANNEL + "8100 0064", "0800"),
        ("", "8847 00010040 00011140"),
        ("8100 0064", "8847 00011140"),
    ],
)
def test_a_tag_stands_right_before_the_ethertype(outer: str, inner: str) -> None:
    addresses = bytes.fromhex("020000000002020000000001")
    head = bytes.fromhex(outer + "9900 2b85" + inner)
    row = row_of(addresses + head + ipv4(tcp()))
    assert signal(row)[:4] == (1, 1, 23, 5)
    assert row["dport"] == 5001


def test_each_variant_has_its_own_list_of_tpids() -> None:
    settings = {"csig_compact_tpids": (0x9900, 0xCCDD), "csig_expanded_tpids": (0xCCDE, 0x9901)}
    for tpid in settings["csig_compact_tpids"]:
        row = row_of(ethernet(bytes.fromhex("2b850800") + ipv4(tcp()), tpid), **settings)
        assert row["csig_variant"] == 1
    for tpid in settings["csig_expanded_tpids"]:
        row = row_of(ethernet(bytes.fromhex("12342abcde000800") + ipv4(tcp()), tpid), **settings)
        assert row["csig_variant"] == 2


def test_an_unknown_signal_type_is_kept_and_told() -> None:
    row = compact("eb85")
    assert signal(row) == (1, 7, 23, 5, None, False, None, None)
    wide = expanded("1234fabcde00")
    assert signal(wide) == (2, 15, 0xABCDE, 0x1234, None, False, None, None)
    assert expanded("12343abcde00")["csig_known"] is False


EIGHT = (0.0, 0.01, 0.05, 0.1, 0.2, 0.5, 0.75, 0.9)
"""The draft's example of buckets for min(ABW/C), Appendix A."""


@pytest.mark.parametrize(
    ("edges", "settings", "bucket", "low", "high"),
    [
        (EIGHT, {}, 0, 0.0, 0.01),
        (EIGHT, {}, 6, 0.75, 0.9),
        (EIGHT, {}, 7, 0.9, None),
        (EIGHT, {}, 8, None, None),
        ((*EIGHT, 1.0), {"csig_bounded": (1,)}, 7, 0.9, 1.0),
        ((*EIGHT, 1.0), {"csig_bounded": (1,)}, 8, None, None),
        ((*EIGHT, 1.0), {"csig_bounded": (0,)}, 8, 1.0, None),
        (EIGHT, {"csig_bucket_mask": 0xF}, 0x17, 0.9, None),
        (EIGHT, {"csig_bucket_mask": 0xF}, 0x10, 0.0, 0.01),
    ],
)
def test_a_bucket_is_a_range_whose_last_one_may_be_bounded(
    edges: tuple[float, ...], settings: dict[str, Any], bucket: int,
    low: float | None, high: float | None,
) -> None:  # fmt: skip
    row = compact(f"{1 << 13 | bucket << 7:04x}", csig_buckets={1: edges}, **settings)
    assert (row["csig_low"], row["csig_high"]) == (low, high)


def test_an_expanded_value_counts_steps_from_a_base() -> None:
    row = expanded("000000000300", csig_quanta={0: 2.0**20}, csig_bases={0: 2.0**10})
    assert (row["csig_low"], row["csig_high"]) == (2**10 + 3 * 2.0**20, 2**10 + 4 * 2.0**20)


def test_locator_metadata_has_named_parts_by_variant_and_type() -> None:
    parts = {
        "compact": {1: (("stage", 2), ("reserved", 1), ("port", 4))},
        "expanded": {
            2: (("device", 5), ("port", 4), ("orientation", 1), ("capacity", 3), ("ttl", 3))
        },
    }
    names = ("port", "device", "stage", "orientation", "capacity", "ttl")
    told = [compact(data, csig_lm_fields=parts) for data in ("2bdb", "4bdb")]
    found = [tuple(row[f"csig_lm_{name}"] for name in names) for row in told]
    assert found == [(11, None, 2, None, None, None), (None,) * 6]
    wide = expanded("b5a62abcde00", csig_lm_fields=parts)
    assert tuple(wide[f"csig_lm_{name}"] for name in names) == (11, 22, None, 0, 4, 6)
    assert wide["csig_lm"] == 0xB5A6
    echo = row_of(ethernet(ipv4(tcp(bytes.fromhex("fd06c5162bdb")))), csig_lm_fields=parts)
    assert (echo["csig_echo_lm_port"], echo["csig_lm_port"]) == (11, None)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"csig_lm_fields": {"compact": {1: (("port", 6),)}}}, "must fill 7 bits"),
        ({"csig_lm_fields": {"expanded": {1: (("port", 16),)}}, "csig_layout": "uec"}, "15 bits"),
        ({"csig_lm_fields": {"compact": {0: (("port", 3), ("port", 4))}}}, "names that differ"),
        ({"csig_buckets": {1: (0.5, 0.5)}}, "rising edges"),
        ({"csig_buckets": {1: ()}}, "1 to 33"),
        ({"csig_quanta": {2: 0.0}}, "greater than 0"),
    ],
)
def test_settings_that_contradict_themselves_are_refused(
    settings: dict[str, Any], said: str
) -> None:
    with pytest.raises(ValidationError, match=said):
        CollectorSettings(**settings)


def test_a_tag_that_the_capture_cuts_is_counted() -> None:
    decoder = Decoder(CollectorSettings())
    decoder.decode(frames_of([TAGGED[:21]]), ["tap"], "test")
    assert decoder.accounting.reasons == {"truncated": 1}


DIALECTS = {
    "draft": Dialect(),
    "uec": Dialect(uec=True, wide_udp=True),
    "data lengths": Dialect(kind=254, data_length=True),
    "own kind": Dialect(kind=200, uec=True),
    "own kind, data lengths": Dialect(kind=200, data_length=True, wide_udp=True),
}


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)
def test_the_second_reader_agrees_on_every_field_of_every_frame(dialect: Dialect) -> None:
    draw = random.Random(repr(dialect))
    packets = [make(draw, dialect) for _ in range(FRAMES)]
    rows = decoded(*packets, **dialect.settings)
    expected = [read(packet, dialect) for packet in packets]
    ours = [name for name in rows.columns if name.startswith("csig")]
    told = [name for name in ours if not name.endswith(("_low", "_high"))]
    for name in ("sport", "dport", *told):
        assert rows[name].to_list() == [row.get(name) for row in expected], name
    assert {name for row in expected for name in row} <= {"sport", "dport", *told}
