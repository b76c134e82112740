"""What a message of a broker becomes is known before anything is unpacked."""

import io
import random

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from unpacking import swelling

from collector.kafka_message import (
    MESSAGE_BYTES,
    Compression,
    UnreadableError,
    octets_of,
    rows_of,
)
from collector.unpacked import MOST_BYTES, unpacked_bytes

ROWS = 1_000
FRAME = pl.DataFrame(
    {
        "number": np.arange(ROWS) * 7_919,
        "text": ["x" * (at % 50) for at in range(ROWS)],
        "word": pl.Series(["leaf1", "spine1"] * (ROWS // 2), dtype=pl.Categorical),
        "some": [None, 1.5] * (ROWS // 2),
    }
)


@pytest.mark.parametrize("compression", ["lz4", "zstd"])
def test_the_size_is_that_of_the_buffers(compression: Compression) -> None:
    octets = octets_of(FRAME, compression)
    plain = io.BytesIO()
    FRAME.write_ipc_stream(plain, compression="uncompressed")
    assert len(octets) < unpacked_bytes(octets) == unpacked_bytes(plain.getvalue())
    assert 0 < len(plain.getvalue()) - unpacked_bytes(octets) < 4096, "beside it is what tells"
    assert rows_of(octets).equals(FRAME)


@pytest.mark.parametrize("kind", [pa.int64(), pa.null()])
def test_what_would_fill_the_memory_is_refused_unread(kind: pa.DataType) -> None:
    octets = swelling(MOST_BYTES // 64, columns=9, kind=kind)
    assert len(octets) < MESSAGE_BYTES
    with pytest.raises(UnreadableError, match=rf"and at most {MOST_BYTES} are read") as refused:
        rows_of(octets)
    assert refused.value.reason == "too_large"


def test_octets_that_changed_on_the_way_are_a_stream_or_none() -> None:
    octets, chance = octets_of(FRAME, "zstd"), random.Random(7)
    none = 0
    for _ in range(3_000):
        changed = bytearray(octets)
        for _ in range(chance.randint(1, 4)):
            changed[chance.randrange(len(changed))] = chance.randrange(256)
        try:
            assert unpacked_bytes(bytes(changed[: chance.randint(1, len(changed))])) >= 0
        except ValueError:
            none += 1
    assert 0 < none < 3_000
