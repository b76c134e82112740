"""Frames without a flow, cut frames, and what a batch leaves out."""

import polars as pl
from octets import ethernet, frames_of, ipv4, tcp

from collector import CollectorSettings, Decoder, complete
from collector.layout import COUNT
from collector.observation import SCHEMA

KINDS = (
    ethernet(ipv4(tcp(bytes.fromhex("0204058c0402080a0000000100000000"), flags=0xC2))),
    ethernet(ipv4(tcp(bytes.fromhex("fd06c5162b85"), b"payload"))),
)
ARP = ethernet(bytes(28), 0x0806)


def endings(*packets: bytes, captured: int | None = None) -> tuple[pl.DataFrame, Decoder]:
    """Rows of these frames, cut to `captured` octets, and their accounting."""
    frames = frames_of(packets)
    if captured is not None:
        frames.captured[:] = captured
    decoder = Decoder(CollectorSettings())
    return decoder.decode(frames, ["tap"], "test"), decoder


def test_frames_without_a_flow_give_no_row_and_a_reason() -> None:
    fragment = bytearray(ethernet(ipv4(tcp())))
    fragment[21] = 7
    short = bytearray(ethernet(ipv4(tcp())))
    short[14] = 0x41
    rows, decoder = endings(ARP, bytes(fragment), bytes(short), KINDS[0])
    assert rows.height == 1
    assert decoder.accounting.seen == 4
    assert decoder.accounting.reasons == {"unknown_ethertype": 1, "fragment": 1, "bad_length": 1}


def test_a_frame_cut_by_the_snap_length_decodes_what_is_there() -> None:
    whole = ethernet(ipv4(tcp(payload=bytes(1000))))
    rows, decoder = endings(whole, captured=60)
    assert decoder.accounting.decoded == 1
    assert rows["payload_bytes"].to_list() == [1000]
    _, cut = endings(whole, captured=40)
    assert cut.accounting.reasons == {"truncated": 1}


def test_a_batch_leaves_out_what_is_null_and_completes_to_the_schema() -> None:
    rows, _ = endings(*KINDS)
    assert "csig_variant" not in rows.columns
    assert rows["mss"].to_list() == [0x058C, None]
    assert complete(rows).schema == SCHEMA


def test_what_only_other_headers_would_ask_for_makes_no_layout() -> None:
    """Where a DSCP announces INT, headers behind UDP ask for ports, those behind TCP do not."""
    ports = [number.to_bytes(2, "big") for number in range(1, 500)]
    segments = [tcp(payload=b"data")[:2] + port + tcp(payload=b"data")[4:] for port in ports]
    decoder = Decoder(CollectorSettings(int_dscp=23))
    rows = decoder.decode(frames_of(ethernet(ipv4(each)) for each in segments), ["tap"], "test")
    assert rows["dport"].to_list() == [*range(1, 500)]
    assert int(decoder.walk.pool["n"][0][COUNT]) == 1


def test_where_nothing_follows_a_stack_the_layout_says_so() -> None:
    """An ACK ends behind its stack of INT; a segment with the same octets before it does not."""
    stack = bytes.fromhex("1004002820000103800000000000000000000007")
    kinds = {
        load: ethernet(ipv4(tcp(payload=stack + load), dscp=23)) for load in (b"", b"x", b"xy")
    }
    loads = [b"", b"x", b"", b"xy", b"", b"x"] * 3
    decoder = Decoder(CollectorSettings(int_dscp=23))
    rows = decoder.decode(frames_of(kinds[load] for load in loads), ["tap"], "test")
    assert rows["payload_bytes"].to_list() == [len(load) for load in loads]
    assert rows["h0_node"].to_list() == [7] * len(loads)
    single = [decoder.decode(frames_of([kinds[load]]), ["tap"], "test") for load in loads]
    alike = [name for name in rows.columns if name not in {"time_ns", "frame"}]
    assert all(one.select(alike).equals(rows.select(alike)[at]) for at, one in enumerate(single))
    layouts = decoder.walk.pool["layouts"][0][: int(decoder.walk.pool["n"][0][COUNT])]
    assert layouts["matchable"].all()
