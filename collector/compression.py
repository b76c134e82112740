"""Compression: streams of gzip, zstd and lz4 unpacked piece by piece, whatever damage they have.

Sources: RFC 1952 (gzip), RFC 8878 (zstd, and in 3.1.2 the skippable frames that lz4 shares), the
LZ4 frame format 1.6. Members and frames may follow each other, as in concatenated files.
"""

import zlib
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Final, Protocol

import zstandard
from lz4.frame import LZ4FrameDecompressor

INFLATE_BYTES: Final = 1 << 18
"""Bytes that one step of gzip decompression gives at most."""

FEED_BYTES: Final = 1 << 10
"""Compressed bytes of one step of zstd or lz4. A zstd block of 4 bytes can hold 128 KiB, so this
bounds what a step gives to 32 MiB, and what is lost in front of damage to one step."""

MAGIC_BYTES: Final = 4
GZIP_MAGIC: Final = b"\x1f\x8b"
ZSTD_MAGIC: Final = b"\x28\xb5\x2f\xfd"
LZ4_MAGIC: Final = b"\x04\x22\x4d\x18"
SKIPPED_MAGICS: Final = tuple(bytes((first, 0x2A, 0x4D, 0x18)) for first in range(0x50, 0x60))
"""A frame to skip, with which parallel compressors begin: its magic, its length, its octets."""
SKIPPED_HEAD_BYTES: Final = 8
FRAME_MAGICS: Final = (ZSTD_MAGIC, LZ4_MAGIC, *SKIPPED_MAGICS)
COMPRESSED_MAGICS: Final = (GZIP_MAGIC, *FRAME_MAGICS)

Pieces = Iterator[bytes]


class StreamDamageError(Exception):
    """A compressed stream ends here, with the reason (`file_truncated`, `file_corrupt`)."""


class Decompressor(Protocol):
    """What unpacks one frame, as zstandard and lz4 have it."""

    @property
    def eof(self) -> bool:
        """Whether the frame has ended."""

    @property
    def unused_data(self) -> bytes | None:
        """What followed the end of the frame."""

    def decompress(self, data: bytes, /) -> bytes:
        """Unpack what comes next."""


def decompressed(head: bytes, compressed: Pieces) -> Pieces | None:
    """What a stream that begins with `head` holds; None when it is not compressed.

    `head` has MAGIC_BYTES at least, where the stream has as many. What precedes damage is given
    before StreamDamageError is raised.
    """
    stream = chain([head], compressed)
    if head.startswith(GZIP_MAGIC):
        return _gunzip(stream)
    if head.startswith(FRAME_MAGICS):
        return _unpack(stream)
    return None


def at_least(size: int, head: bytes, stream: Pieces) -> bytes:
    """Lengthen `head` from the stream to `size` bytes, or to all that there are."""
    while len(head) < size and (piece := next(stream, b"")):
        head += piece
    return head


def _gunzip(compressed: Pieces) -> Pieces:
    """Decompress gzip members."""
    state = zlib.decompressobj(wbits=31)
    for piece in compressed:
        rest, feed = piece, len(piece)
        while True:
            if state.eof:
                rest = rest.lstrip(b"\0")  # padding between and after members, as gzip allows
                if not rest:
                    break
                state = zlib.decompressobj(wbits=31)
            saved = state.copy()
            try:
                out = state.decompress(rest[:feed], INFLATE_BYTES)
            except zlib.error as error:
                # The step that meets the damage gives nothing, so it is repeated in smaller ones.
                if feed == 1:
                    raise StreamDamageError("file_corrupt") from error
                state, feed = saved, (feed + 1) // 2
                continue
            yield out
            rest = (state.unused_data if state.eof else state.unconsumed_tail) + rest[feed:]
            if not rest and len(out) < INFLATE_BYTES:
                break
    if not state.eof:
        raise StreamDamageError("file_truncated")


def _unpack(compressed: Pieces) -> Pieces:
    """Decompress frames of zstd or lz4."""
    head = _past_skipped(compressed)
    if head.startswith(LZ4_MAGIC):
        yield from _frames(chain([head], compressed), LZ4FrameDecompressor, RuntimeError)
    elif head:
        make = zstandard.ZstdDecompressor().decompressobj
        yield from _frames(chain([head], compressed), make, zstandard.ZstdError)


def _past_skipped(compressed: Pieces) -> bytes:
    """Pass over frames to skip, which do not tell what follows them; give what follows."""
    head = at_least(SKIPPED_HEAD_BYTES, b"", compressed)
    while head.startswith(SKIPPED_MAGICS):
        left = SKIPPED_HEAD_BYTES + int.from_bytes(head[MAGIC_BYTES:SKIPPED_HEAD_BYTES], "little")
        while left > len(head):
            left -= len(head)
            head = next(compressed, b"")
            if not head:
                raise StreamDamageError("file_truncated")
        head = at_least(SKIPPED_HEAD_BYTES, head[left:], compressed)
    return head


def _frames(
    compressed: Pieces, make: Callable[[], Decompressor], failure: type[Exception]
) -> Pieces:
    """Decompress frame after frame, each by a decompressor of its own."""
    state = make()
    for piece in compressed:
        for at in range(0, len(piece), FEED_BYTES):
            feed = piece[at : at + FEED_BYTES]
            while feed:
                if state.eof:
                    state = make()
                try:
                    yield state.decompress(feed)
                except failure as error:
                    raise StreamDamageError("file_corrupt") from error
                feed = (state.unused_data or b"") if state.eof else b""
    if not state.eof:
        raise StreamDamageError("file_truncated")
