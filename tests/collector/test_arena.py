"""Memory of columns is used again, and never while somebody can still read it."""

import numpy as np
from octets import ethernet, frames_of, ipv4, tcp

from collector import CollectorSettings, Decoder
from collector.arena import ALIGNED, KEPT, Arena


def test_a_block_is_used_again_when_nobody_holds_a_part_of_it() -> None:
    arena = Arena()
    block = arena.block(1000)
    part = block[10:20].view(np.uint16)
    where = block.ctypes.data
    del block
    other = arena.block(1000)
    assert other.ctypes.data != where
    del part
    assert arena.block(900).ctypes.data == where


def test_a_block_that_is_much_too_large_is_not_used() -> None:
    arena = Arena()
    where = arena.block(1000).ctypes.data
    assert arena.block(499).ctypes.data != where


def test_every_array_begins_at_a_line_of_a_cache() -> None:
    arrays = Arena().arrays(100_001, np.uint8, np.int64, np.int32)
    assert [each.size for each in arrays] == [100_001] * 3
    assert [each.ctypes.data % ALIGNED for each in arrays] == [0, 0, 0]


def test_no_more_than_a_few_blocks_are_remembered() -> None:
    arena = Arena()
    held = [arena.block(100) for _ in range(2 * KEPT)]
    assert len(arena.blocks) == KEPT < len(held)


def test_batches_that_are_kept_keep_their_values() -> None:
    decoder = Decoder(CollectorSettings())
    kept = []
    for number in range(8):
        frame = ethernet(ipv4(tcp(payload=bytes(number))))
        rows = decoder.decode(frames_of([frame] * 5), ["tap"], "test")
        if number % 2:
            kept.append((number, rows))
        del rows
    assert [(number, rows["payload_bytes"].to_list()) for number, rows in kept] == [
        (number, [number] * 5) for number in (1, 3, 5, 7)
    ]
