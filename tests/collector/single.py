"""The one observation of a frame that is read to its end."""

from typing import Any

from octets import frames_of

from collector import CollectorSettings, Decoder


def only(frame: bytes, link: int = 1, **settings: object) -> dict[str, Any]:
    """Columns of the only row; a frame that gives another number, or a reason, fails."""
    decoder = Decoder(CollectorSettings.model_validate(settings))
    rows = decoder.decode(frames_of([frame], link), ["tap"], "test").to_dicts()
    assert decoder.accounting.reasons == {}
    assert len(rows) == 1
    return rows[0]
