"""The manifest of a backup: which files it has, of which tables, and how each is known again."""

from collections import Counter
from collections.abc import Sequence
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from pipeline.store_error import StoreError
from pipeline.tables import SCHEMA_VERSION, TABLES

MANIFEST = "manifest.json"
FORMAT = 1


def _plain(name: str) -> str:
    """The name of a file in the folder itself: a manifest leads nowhere else."""
    if name in {"", ".", ".."} or "/" in name or "\0" in name:
        raise ValueError(f"{name!r} is no name of a file in this folder")
    return name


class Told(BaseModel):
    """What a file says that may come from anywhere: a value of another type is no value."""

    model_config = ConfigDict(strict=True, frozen=True)


class Piece(Told):
    """One file of a backup."""

    file: Annotated[str, AfterValidator(_plain)]
    table: str
    rows: int = Field(ge=0)
    digest: str


class Tokens(Told):
    """The file with the tokens that tables remember, and the engine that made them."""

    file: Annotated[str, AfterValidator(_plain)]
    digest: str
    engine: str


class Version(Told):
    """Who can read a backup; looked at first, since pieces of a newer one may be others."""

    format: int
    version: int = Field(alias="schema", ge=1)


class Manifest(Version):
    """All that a manifest says."""

    pieces: list[Piece]
    tokens: Tokens | None = None
    """None: the store has them where nobody reads them, or an older hopsight made the backup."""
    unsettled: list[str] = []
    """Places of which only the tokens tell what is stored since their last snapshot."""


def manifest_of(
    pieces: Sequence[Piece], tokens: Tokens | None = None, unsettled: Sequence[str] = ()
) -> str:
    """The text of a manifest."""
    told = Manifest(
        format=FORMAT,
        schema=SCHEMA_VERSION,
        pieces=list(pieces),
        tokens=tokens,
        unsettled=list(unsettled),
    )
    return told.model_dump_json(by_alias=True, indent=1)


def manifest_from(octets: bytes, folder: str) -> Manifest:
    """What the manifest of a folder says. Raises StoreError, which names the field."""
    try:
        by = Version.model_validate_json(octets)
        if by.format != FORMAT or by.version > SCHEMA_VERSION:
            raise StoreError(
                f"{folder} was made by a newer hopsight (schema {by.version}); use that one"
            )
        manifest = Manifest.model_validate_json(octets)
    except ValidationError as error:
        raise StoreError(f"{folder} is no backup: {MANIFEST} there: {_sentence(error)}") from None
    pieces = manifest.pieces
    told = Counter(piece.file for piece in pieces)
    if twice := [name for name, times in told.items() if times > 1]:
        raise StoreError(f"{folder} names {', '.join(sorted(twice))} more than once")
    if unknown := {piece.table for piece in pieces} - set(TABLES):
        raise StoreError(f"{folder} holds {', '.join(sorted(unknown))}, which this hopsight lacks")
    return manifest


def _sentence(error: ValidationError) -> str:
    """The first field that is wrong, and how."""
    first = error.errors(include_url=False)[0]
    field = ".".join(map(str, first["loc"]))
    if first["type"] == "missing":
        return f"the field {field} is missing"
    said = first["msg"].removeprefix("Value error, ")
    said = said[:1].lower() + said[1:]
    return f"the field {field}: {said}" if field else said
