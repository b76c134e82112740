"""Rules of alerts and who is told, as the file `service.alerts_file` (TOML) has them."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple
from urllib.parse import urlsplit

from pydantic import (
    BeforeValidator,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from pipeline import FIELDS, FilterError, condition
from service.alerts.state import KEPT
from service.endpoint import parse_duration
from service.form import URL, is_http, said_of
from service.near_name import meant
from service.section import Section

COUNT = "count"
"""The value that is the number of rows of a group."""
SUBJECTS = {"flows": "flow_cells", "links": "load_cells"}
NAME = re.compile(r"[\w.:/ -]{1,100}")


def _span(told: object) -> int:
    """A length of time. Raises ValueError for a number, which has no unit."""
    if isinstance(told, str):
        return parse_duration(told, 0)
    if told == 0 and told is not False:
        return 0
    raise ValueError('is a text with a unit, such as "30s"')


Span = Annotated[int, BeforeValidator(_span)]
"""A length of time, ns, written such as 30s."""


class Mistake(NamedTuple):
    """What is wrong at one place of a file, such as rule.1.for; the place is empty for the file."""

    place: str
    sentence: str

    def __str__(self) -> str:
        return f"{self.place}: {self.sentence}" if self.place else self.sentence


class AlertsError(ValueError):
    """A file of rules that cannot be used: one sentence that names the rule and the field.

    `mistakes` are all that is wrong with what it says; there are none where it cannot be read.
    """

    def __init__(self, path: Path, reason: str, mistakes: Sequence[Mistake] = ()) -> None:
        super().__init__(f"{path}: {reason}")
        self.mistakes = tuple(mistakes)


class Rule(Section):
    """One rule: which rows, what of them is compared, and how long until it is an alert."""

    name: str = Field(description="Name of the alert.")
    over: Literal["flows", "links"] = Field(description="What is looked at: flows or links.")
    filter: str = Field("", description="Rows that count (the filter language); empty: all.")
    value: str = Field(COUNT, description="Field that is compared; count: rows of the group.")
    above: float | None = Field(
        None, allow_inf_nan=False, description="It is an alert when the value is above this."
    )
    below: float | None = Field(
        None,
        allow_inf_nan=False,
        validate_default=True,
        description="It is an alert when the value is below this.",
    )
    for_ns: Span = Field(0, alias="for", ge=0, description="How long that must hold before.")
    keep_ns: Span = Field(
        0, alias="keep_firing_for", ge=0, description="How long it must not hold to be over."
    )
    window_ns: Span = Field(
        10 * 10**9, alias="window", gt=0, description="The latest time that is looked at."
    )
    group_by: tuple[str, ...] = Field((), description="Fields; each group is an alert of its own.")
    severity: str = Field("warning", description="Label severity.")
    summary: str = Field("", description="What it means, a sentence.")
    runbook: str = Field("", description="Where it is written what to do, a link.")
    flap_changes: int = Field(
        6, ge=2, le=KEPT, description="Changes within flap_window from which on an alert flaps."
    )
    flap_ns: Span = Field(
        600 * 10**9,
        alias="flap_window",
        gt=0,
        description="A flapping alert is over when the condition did not hold for so long.",
    )

    @field_validator("name")
    @classmethod
    def named(cls, name: str) -> str:
        """Refuse a name that labels cannot have."""
        if not NAME.fullmatch(name):
            raise ValueError("has up to 100 letters, digits, blanks and ._:/-")
        return name

    @field_validator("below")
    @classmethod
    def one_bound(cls, below: float | None, told: ValidationInfo) -> float | None:
        """Refuse a rule that compares with nothing, or with two numbers."""
        if "above" in told.data and (told.data["above"] is None) == (below is None):
            raise ValueError("has above or below, one of both")
        return below

    @field_validator("filter")
    @classmethod
    def filtered(cls, text: str, told: ValidationInfo) -> str:
        """Refuse a filter that is wrong."""
        if text and "over" in told.data:
            try:
                condition(SUBJECTS[told.data["over"]], text)
            except FilterError as error:
                raise ValueError(str(error)) from None
        return text

    @field_validator("value")
    @classmethod
    def compared(cls, value: str, told: ValidationInfo) -> str:
        """Refuse what is no number."""
        fields = fields_of(told)
        known = fields.get(value) if fields else None
        if fields and value != COUNT and (known is None or known.kind != "number"):
            numbers = [name for name, field in fields.items() if field.kind == "number"]
            over = told.data["over"]
            raise ValueError(f"{value!r} is no number of {over}; {meant(value, numbers)}")
        return value

    @field_validator("group_by")
    @classmethod
    def grouped(cls, names: tuple[str, ...], told: ValidationInfo) -> tuple[str, ...]:
        """Refuse fields that are not there."""
        fields = fields_of(told)
        for each in names if fields else ():
            if each not in fields or len(fields[each].columns) != 1:
                raise ValueError(f"{each!r} is no field of {told.data['over']}; see the filters")
        return names

    def column(self, field: str) -> str:
        """The column of a field in the rows that the rule looks at."""
        return FIELDS[SUBJECTS[self.over]][field].columns[0]


def fields_of(told: ValidationInfo) -> Mapping[str, Any]:
    """Fields of what a rule is over; none where that is wrong, which is said by itself."""
    over = told.data.get("over")
    return FIELDS[SUBJECTS[over]] if over else {}


class Receiver(Section):
    """Who is told: a webhook, or an Alertmanager (API v2)."""

    name: str = Field(min_length=1, description="Name of the receiver, for metrics and logs.")
    kind: Literal["webhook", "alertmanager"] = Field(description="What it speaks.")
    url: str = Field(pattern=URL, description="Where it is; of an Alertmanager its root.")
    token_variable: str = Field(
        "", description="Environment variable with the token that it asks for; empty: none."
    )
    timeout_s: float = Field(10.0, gt=0, description="How long one try may take, seconds.")
    attempts: int = Field(5, ge=1, le=20, description="Tries before it is left for a minute.")

    @field_validator("url")
    @classmethod
    def reachable(cls, url: str) -> str:
        """Refuse a URL without a host, or with a port that there is not."""
        if not is_http(url):
            raise ValueError("names no host, or a port that none can listen on")
        return url

    @model_validator(mode="after")
    def one_login(self) -> "Receiver":
        """Refuse two logins, of which one alone would be sent."""
        if self.token_variable and urlsplit(self.url).username is not None:
            raise ValueError("url has a user, and token_variable names a token: one of both")
        return self


class AlertFile(Section):
    """Everything that a file of rules holds."""

    rule: tuple[Rule, ...] = ()
    receiver: tuple[Receiver, ...] = ()


TABLES: Mapping[str, type[Section]] = {"rule": Rule, "receiver": Receiver}
"""What a file has tables of, by their name."""


def twice(told: Mapping[str, Any]) -> bool:
    """Whether a file has two rules or two receivers of one name."""
    for what in TABLES:
        rows = told.get(what)
        rows = rows if isinstance(rows, list | tuple) else ()
        named = [str(each["name"]) for each in rows if isinstance(each, dict) and "name" in each]
        if len(set(named)) < len(named):
            return True
    return False


def read(path: Path | None) -> AlertFile:
    """The rules of a file, none without one. Raises AlertsError."""
    if path is None:
        return AlertFile()
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise AlertsError(path, str(error.strerror or error)) from None
    except UnicodeDecodeError:
        raise AlertsError(path, "not UTF-8 text") from None
    told: dict[str, Any] = {}
    mistakes: list[Mistake] = []
    made = AlertFile()
    try:
        told = tomllib.loads(text)
        made = AlertFile.model_validate(told)
    except ValidationError as error:
        mistakes = [mistake(one) for one in error.errors()]
    except ValueError as error:
        mistakes = [Mistake("", str(error))]
    if twice(told):
        mistakes.append(Mistake("", "two rules or two receivers have one name"))
    if not mistakes:
        return made
    raise AlertsError(path, "; ".join(map(str, mistakes)), mistakes)


def mistake(error: Any) -> Mistake:
    """What is wrong with one field."""
    place = ".".join(str(part + 1 if isinstance(part, int) else part) for part in error["loc"])
    if error["type"] != "extra_forbidden":
        return Mistake(place, said_of(error))
    *parents, name = error["loc"]
    fields = TABLES[parents[0]].model_fields if parents else {}
    known = [field.alias or each for each, field in fields.items()] or [*TABLES]
    return Mistake(place, f"there is no such field; {meant(str(name), known)}")
