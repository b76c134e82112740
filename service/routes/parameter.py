"""Query parameters of the API: each is parsed to an exact value, and an unknown one is refused."""

from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from typing import Annotated, Any, Literal

from fastapi import Request
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    WithJsonSchema,
    model_validator,
)

from pipeline import COMPANIONS, NO_CLASS
from service import endpoint
from service.endpoint import Endpoint
from service.form import TEXT_LIMIT, Text
from service.problem import invalid
from service.query_model import is_list

NS_PER_S = endpoint.NS_PER_S


def _text(example: str, description: str) -> WithJsonSchema:
    return WithJsonSchema(
        {
            "type": "string",
            "maxLength": TEXT_LIMIT,
            "examples": [example],
            "description": description,
        }
    )


def _parsed(parse: Any) -> BeforeValidator:
    """A validator that reads text with `parse`; a value that is no text passes as it is."""

    def read(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        if len(value) > TEXT_LIMIT:
            raise ValueError(f"longer than {TEXT_LIMIT} characters")
        return parse(value)

    return BeforeValidator(read)


End = Annotated[
    Endpoint,
    _parsed(endpoint.parse_endpoint),
    _text("10.0.1.2:40001", "ADDRESS:PORT; IPv6 in brackets"),
]
Protocol = Annotated[
    int, _parsed(endpoint.parse_protocol), _text("tcp", "protocol by name or IANA number")
]


def written(sentence: str) -> BeforeValidator:
    """A validator of a body that refuses what JSON has as no text, with a sentence."""

    def read(value: Any) -> Any:
        if value is not None and not isinstance(value, str):
            raise ValueError(sentence)
        return value

    return BeforeValidator(read)


Written = written('should be a text, such as "2026-01-31T12:00:00Z" or "2h"')
"""Of times and lengths of time, of which a number would have no unit."""
TIMES = "RFC 3339, or seconds or nanoseconds since 1970"
Time = Annotated[
    int,
    _parsed(endpoint.parse_time),
    _text("2026-01-31T12:00:00Z", TIMES),
]
Duration = Annotated[
    int, _parsed(endpoint.parse_duration), _text("10s", "number and unit: ns, us, ms, s, m, h, d")
]
Name = Text
Cursor = Annotated[
    str | None,
    Field(max_length=TEXT_LIMIT, description="Where to go on: `cursor` of the answer before."),
]
Algorithm = Literal["hpcc", "dctcp", *COMPANIONS]  # type: ignore[valid-type] # names of a table
Start = Annotated[int, Field(ge=0, le=2**53 - 1)]
"""A place in rows, as large as JSON tells exactly."""


def _class(value: int) -> int:
    """A class of packets. Raises ValueError."""
    if value not in range(64) and value != NO_CLASS:
        raise ValueError(f"should be a DSCP, 0 to 63, or {NO_CLASS} where none was seen")
    return value


Class = Annotated[
    int,
    AfterValidator(_class),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "integer", "minimum": 0, "maximum": 63},
                {"type": "integer", "enum": [NO_CLASS]},
            ],
            "description": f"a DSCP, or {NO_CLASS} where none was seen",
        }
    ),
]


def _left(value: int | None) -> int | None:
    """A port that no address took (`EndsParameters.joined`). Raises ValueError."""
    if value is None:
        return None
    if not 0 <= value <= endpoint.MAX_PORT:
        raise ValueError(f"is not a port; a port is a number from 0 to {endpoint.MAX_PORT}")
    raise ValueError("goes with an address that has no port of its own")


Vni = Annotated[int, Field(ge=0, le=0xFFFFFF)]
Port = Annotated[
    int | None,
    AfterValidator(_left),
    WithJsonSchema(
        {
            "type": "integer",
            "minimum": 0,
            "maximum": endpoint.MAX_PORT,
            "description": "the port, where the address is given without one",
        }
    ),
]
PORT_OF = {"src": "sport", "dst": "dport"}


class Parameters(BaseModel):
    """Parameters of one route; a name that it does not have is an error that lists those it has."""

    model_config = ConfigDict(frozen=True, extra="forbid")


async def given_once(request: Request) -> None:
    """Refuse a parameter that is given several times where one counts. Raises Problem."""
    told = request.query_params
    pairs = told.multi_items()
    if len(told) == len(pairs):
        return
    single = _single(field.field_info.annotation for field in _asked_for(request))
    again = {
        name: f"is given {times} times; one is accepted"
        for name, times in Counter(name for name, _ in pairs).items()
        if times > 1 and name in single
    }
    if again:
        raise invalid(again)


def _asked_for(request: Request) -> Iterable[Any]:
    """What the route that answers reads of the query."""
    fields: Iterable[Any] = request.scope["route"].dependant.query_params
    return fields


def _single(models: Iterable[Any]) -> set[str]:
    """Names of parameters that hold one value. What else there is, is refused as unknown."""
    own = [model for model in models if isinstance(model, type) and issubclass(model, Parameters)]
    return {
        field.alias or name
        for model in own
        for name, field in model.model_fields.items()
        if not is_list(field)
    }


def _default(text: str) -> Any:
    """A field whose default is read as if it were given, and shown so."""
    return Field(text, validate_default=True)


Interval = Annotated[
    int | None,
    _parsed(endpoint.parse_duration),
    _text(
        "100ms",
        "length of the intervals that answer; without it the longest that suits the window",
    ),
]


class EndsParameters(Parameters):
    """One directional flow."""

    src: End
    dst: End
    sport: Port = None
    dport: Port = None
    proto: Protocol = _default("tcp")
    tenant: Name | None = Field(None, description="Whose flow; none: whoever has one by this key.")
    vrf: Name | None = Field(None, description="Routing instance, as the collector was told it.")
    vni: Vni | None = Field(None, description="Network identifier of the tunnel that it came in.")

    @model_validator(mode="before")
    @classmethod
    def joined(cls, given: Any) -> Any:
        """Join an address and a port that are given apart, as answers show them."""
        if not isinstance(given, dict):
            return given
        whole = dict(given)
        for end, port in PORT_OF.items():
            address, number = whole.get(end), whole.get(port)
            if isinstance(address, str) and number is not None:
                with suppress(ValueError):  # what is no address or no port is told of by itself
                    bare, own = endpoint.parse_address(address), endpoint.parse_port(str(number))
                    whole |= {end: str(Endpoint(bare, own)), port: None}
        return whole


class FlowParameters(EndsParameters):
    """One directional flow and the time to look at."""

    at: Time | None = None
    window: Duration = _default("10s")
    interval: Interval = None


class SignalsParameters(FlowParameters):
    """One directional flow, the time to look at, and how fine."""

    interval: Annotated[
        int | None,
        _parsed(endpoint.parse_duration),
        _text(
            "100ms",
            "least width of cells: shorter intervals are added up to it, longer ones stay as they"
            " are; without it what is stored, over more than ten minutes seconds, minutes or hours",
        ),
    ] = None


class RangeParameters(Parameters):
    """A time range; without one, the latest that the store holds."""

    from_: Time | None = Field(
        None, alias="from", description=f"Where the range begins: {TIMES}; else 10 minutes of it."
    )
    to: Time | None = Field(
        None, description=f"Where it ends: {TIMES}; else where what is stored ends."
    )
