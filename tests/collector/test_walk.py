"""Frames without a flow, cut frames, and what a batch leaves out."""

import polars as pl
from octets import ethernet, frames_of, ipv4, tcp

from collector import CollectorSettings, Decoder, complete
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
