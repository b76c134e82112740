"""A manifest that is damaged is refused with the field that is wrong, whatever stands there."""

import json
from pathlib import Path
from typing import Any

import pytest

from pipeline import StoreError, read_manifest
from pipeline.backup_manifest import FORMAT, MANIFEST, Piece, manifest_of
from pipeline.tables import SCHEMA_VERSION

ONE = Piece(file="flows-1-0.parquet", table="flows", rows=3, digest="00")


def told(**changed: Any) -> dict[str, Any]:
    """A manifest of one piece, of which something is changed."""
    return {**json.loads(manifest_of([ONE])), **changed}


def piece(**changed: Any) -> dict[str, Any]:
    """A manifest in whose only piece something is changed."""
    return told(pieces=[{**ONE.model_dump(), **changed}])


def test_what_was_written_is_read(tmp_path: Path) -> None:
    (tmp_path / MANIFEST).write_text(manifest_of([ONE]))
    assert read_manifest(tmp_path) == [ONE]
    assert told()["format"] == FORMAT
    assert told()["schema"] == SCHEMA_VERSION


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ({}, "the field format is missing"),
        ([], "should be an object"),
        (told(schema="4"), "the field schema: input should be a valid integer"),
        (told(format=True), "the field format: input should be a valid integer"),
        (told(schema=None), "the field schema: input should be a valid integer"),
        (told(pieces={}), "the field pieces: input should be a valid array"),
        (told(pieces=[7]), "the field pieces.0: input should be an object"),
        (piece(table=["flows"]), "the field pieces.0.table: input should be a valid string"),
        (piece(rows=-1), "the field pieces.0.rows: input should be greater than or equal to 0"),
        (piece(rows="3"), "the field pieces.0.rows: input should be a valid integer"),
        (piece(digest=None), "the field pieces.0.digest: input should be a valid string"),
        *((piece(file=name), "the field pieces.0.file: .* is no name of a file in this folder")
          for name in ("../x", "/etc/passwd", "a/b", "..", "", "a\0b")),
        (told(schema=0), "the field schema: input should be greater than or equal to 1"),
        (told(pieces=[ONE.model_dump()] * 2), "names flows-1-0.parquet more than once"),
        (piece(table="flaws"), "holds flaws, which this hopsight lacks"),
        (told(schema=SCHEMA_VERSION + 1, pieces="?"), "was made by a newer hopsight"),
        (told(format=FORMAT + 1), "was made by a newer hopsight"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(tmp_path: Path, said: Any, sentence: str) -> None:
    (tmp_path / MANIFEST).write_text(json.dumps(said))
    with pytest.raises(StoreError, match=sentence) as refused:
        read_manifest(tmp_path)
    assert str(tmp_path) in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("octets", [b"", b"{", b"\xff\xfe", b'{"format": 1'])
def test_what_is_no_json_is_refused(tmp_path: Path, octets: bytes) -> None:
    (tmp_path / MANIFEST).write_bytes(octets)
    with pytest.raises(StoreError, match=r"is no backup: manifest\.json there: invalid JSON"):
        read_manifest(tmp_path)
