"""INT of the HPCC simulator: the worked example, a second reader, and the simulator's own hops."""

import random
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from octets import ethernet, frames_of, ipv4, udp
from plain import observed

from collector import CollectorSettings, Decoder, complete

HPCC = Path(__file__).resolve().parents[3] / "shared" / "oracles" / "hpcc"
FRAMES = 3000
PORT, ACK, NACK = 100, 0xFC, 0xFD
SETTINGS = CollectorSettings(
    hpcc_udp_ports=(PORT,), hpcc_nack_protocols=(NACK,), int_udp_ports=(), hpcc_multi=2
)
EXAMPLE = bytes.fromhex("b2a291401f800c00" + "00" * 32 + "0100")
RATES = (25, 50, 100, 200, 400, 40, None, None)


def data(stack: bytes, seq: int = 1000, group: int = 3, payload: bytes = b"") -> bytes:
    """A data packet of the simulator."""
    head = seq.to_bytes(4, "big") + group.to_bytes(2, "big")
    return ethernet(ipv4(udp(head + stack + payload, PORT), 17))


def answer(stack: bytes, seq: int = 1000, protocol: int = ACK, sport: int = PORT) -> bytes:
    """An acknowledgment of the simulator."""
    ports = sport.to_bytes(2, "little") + (40000).to_bytes(2, "little")
    head = ports + b"\x01\x00\x03\x00" + seq.to_bytes(4, "little")
    return ethernet(ipv4(head + stack, protocol))


def ring(hops: list[tuple[int, int, int, int]], first: int = 0) -> bytes:
    """Slots and count as packed by the simulator: (rate code, time, bytes, queue) of each hop."""
    slots = [bytes(8)] * 5
    for at, (rate, time, sent, queue) in enumerate(hops):
        word = rate | time << 3 | sent << 27 | queue << 47
        slots[(first + at) % 5] = word.to_bytes(8, "little")
    return b"".join(slots) + (first + len(hops)).to_bytes(2, "little")


def hops_of(row: dict[str, Any]) -> list[tuple[Any, ...]]:
    """(capacity, time, bytes sent, queue) of each hop."""
    names = ("b_bps", "ts_ns", "tx_bytes", "qlen_bytes")
    return [tuple(row.get(f"h{hop}_{name}") for name in names) for hop in range(row["hop_count"])]


def test_the_worked_example_on_data() -> None:
    settings = CollectorSettings(hpcc_udp_ports=(PORT,))
    (row,) = observed([data(EXAMPLE, payload=b"abc")], settings).to_dicts()
    assert hops_of(row) == [(100_000_000_000, 0x123456, 128_000, 2_000)]
    told = ("status", "seq", "hpcc_group", "hpcc_kind", "payload_bytes")
    assert [row[name] for name in told] == [0, 1000, 3, 0, 3]
    assert row["int_reflected"] is False
    assert ring([(2, 0x123456, 1000, 25)]) == EXAMPLE


def test_the_worked_example_on_acknowledgments() -> None:
    for protocol, kind in ((ACK, 1), (NACK, 2)):
        (row,) = observed([answer(EXAMPLE, 2000, protocol)], SETTINGS).to_dicts()
        assert hops_of(row) == [(100_000_000_000, 0x123456, 256_000, 4_000)]
        assert [row[name] for name in ("hpcc_kind", "protocol", "sport", "dport", "ack")] == [
            kind, 17, PORT, 40000, 2000,
        ]  # fmt: skip
        assert row["int_reflected"] is True


def test_data_and_its_acknowledgments_are_one_conversation() -> None:
    there, back = data(EXAMPLE), bytearray(answer(EXAMPLE))
    back[26:34] = back[30:34] + back[26:30]
    rows = Decoder(SETTINGS).decode(frames_of([there, bytes(back)]), ["tap"], "test")
    assert rows["conversation"].n_unique() == 1
    assert rows["direction"].n_unique() == 2


@pytest.mark.parametrize(
    ("frame", "settings", "reason"),
    [
        (data(EXAMPLE[:-2] + b"\x41\x00"), SETTINGS, "hpcc_bad_count"),
        (answer(EXAMPLE[:-2] + b"\xff\xff"), SETTINGS, "hpcc_bad_count"),
        (answer(EXAMPLE[:-1]), SETTINGS, "truncated"),
        (answer(EXAMPLE, protocol=NACK), CollectorSettings(), None),
        (data(EXAMPLE), CollectorSettings(), None),
    ],
)
def test_what_no_path_can_have_has_a_reason(
    frame: bytes, settings: CollectorSettings, reason: str | None
) -> None:
    decoder = Decoder(settings)
    rows = decoder.decode(frames_of([frame]), ["tap"], "test")
    assert decoder.accounting.reasons == ({reason: 1} if reason else {})
    assert "h0_ts_ns" not in rows.columns


def test_the_second_reader_agrees_on_every_field_of_every_frame() -> None:
    """Rings of more than five hops have lost the oldest."""
    draw = random.Random(252)
    frames, expected = [], []
    for _ in range(FRAMES):
        first = draw.choice((0, 0, 0, 1, 2, 7, 59))
        hops = [
            tuple(
                draw.choice((draw.getrandbits(bits), (1 << bits) - 1)) for bits in (3, 24, 20, 17)
            )
            for _ in range(5 if first else draw.randrange(6))
        ]
        stack = ring(hops, first)  # type: ignore[arg-type]  # four numbers each
        seq, group = draw.getrandbits(32), draw.getrandbits(16)
        acknowledges = draw.random() < 0.5
        frames.append(answer(stack, seq) if acknowledges else data(stack, seq, group, b"12345"))
        rates = [RATES[hop[0]] for hop in hops]
        expected.append({
            "hops": [(rate and rate * 10**9, hop[1], hop[2] * 256, hop[3] * 160)
                     for rate, hop in zip(rates, hops, strict=True)],
            "seq": None if acknowledges else seq, "ack": seq if acknowledges else None,
            "hpcc_group": 3 if acknowledges else group, "hpcc_kind": int(acknowledges),
            "payload_bytes": 0 if acknowledges else 5, "status": 0,
        })  # fmt: skip
    rows = complete(Decoder(SETTINGS).decode(frames_of(frames), ["tap"], "test"))
    for row, told in zip(rows.to_dicts(), expected, strict=True):
        assert {name: row[name] for name in told if name != "hops"} | {"hops": hops_of(row)} == told


@pytest.mark.skipif(not HPCC.exists(), reason="oracles are not part of a clone")
@pytest.mark.parametrize("name", ["a_2to1", "b_incast16", "c3_leafspine_hetero", "f_loss"])
def test_the_simulators_own_hops_come_back_from_the_wire(name: str) -> None:
    table = pl.read_parquet(HPCC / f"{name}.parquet")
    rows = pl.concat([table.gather_every(97), table.filter(ack_type="N")])
    codes = {rate * 10**9: code for code, rate in enumerate(RATES) if rate}
    acks, packed = [], []
    for row in rows.to_dicts():
        fields = ("rate_bps", "ts24", "tx20", "q17")
        hops = [tuple(row[f"h{hop}_{each}"] for each in fields) for hop in range(row["nhop"])]
        stack = ring([(codes[rate], *rest) for rate, *rest in hops])
        protocol = ACK if row["ack_type"] == "A" else NACK
        acks.append(answer(stack, row["ack_seq"], protocol, row["dport"]))
        packed.append([(hop[0], hop[1], hop[2] * 128, hop[3] * 80) for hop in hops])
    decoder = Decoder(SETTINGS.model_copy(update={"hpcc_multi": 1}))
    decoded = complete(decoder.decode(frames_of(acks), ["tap"], "test"))
    assert decoder.accounting.reasons == {}
    assert decoded["ack"].to_list() == rows["ack_seq"].to_list()
    assert (decoded["hpcc_kind"] == 2).to_list() == (rows["ack_type"] == "N").to_list()
    assert [hops_of(row) for row in decoded.to_dicts()] == packed
    for column, own, unit, wrap in (("ts_ns", "ts_ns", 1, 24), ("tx_bytes", "txbytes", 128, 20),
                                    ("qlen_bytes", "qlen_b", 80, 17)):  # fmt: skip
        before = (rows[f"h0_{own}"] // unit % (1 << wrap) * unit).cast(pl.UInt64)
        known = before.is_not_null()
        assert known.sum() > rows.height // 2
        assert decoded[f"h0_{column}"].filter(known).to_list() == before.filter(known).to_list()
