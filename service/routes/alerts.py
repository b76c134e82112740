"""Alerts: what stands, what was, the rules, and silences."""

import secrets
import time
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Request
from pydantic import BaseModel, ConfigDict, Field, model_validator

from service.access import identity_of
from service.alerts.rule import Rule
from service.alerts.silence import LONGEST_NS, MOST_DAYS, Matchers, Silence, ending, silences_of
from service.alerts.watch import MOST_SILENCES, Watch
from service.endpoint import MAX_NS
from service.form import HEX
from service.problem import Problem, about, invalid
from service.reader import reader_of
from service.routes.parameter import Duration, Name, Parameters, Time, Written
from service.shape import changes_of

router = APIRouter(prefix="/api/v1/alerts", tags=["alerts"])

EXAMPLE: dict[str, Any] = {
    "matchers": {"device": "leaf1*"},
    "for": "2h",
    "comment": "line card is changed",
}


class HistoryParameters(Parameters):
    """Which changes."""

    rule: Name = Field("", description="Only those of this rule.")
    before: Time | None = None
    limit: int = Field(
        500,
        ge=1,
        le=10_000,
        description="Most changes of the answer, but for those of the last moment.",
    )


class SilencesParameters(Parameters):
    """Which silences."""

    after: Time | None = Field(None, description="Those that end after this time; none: now.")


class Wanted(BaseModel):
    """A silence or a maintenance window that is asked for."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [EXAMPLE]})

    matchers: Matchers
    from_: Annotated[Time | None, Written] = Field(
        None, alias="from", description="Since when; none: from now on."
    )
    to: Annotated[Time | None, Written] = Field(None, description="Until when; or `for`.")
    for_: Annotated[Duration | None, Written] = Field(
        None, alias="for", description="How long; or `to`."
    )
    kind: Literal["silence", "maintenance"] = "silence"
    comment: Name = Field("", description="Why.")

    @model_validator(mode="after")
    def ends(self) -> "Wanted":
        """Refuse one without an end, or with two."""
        if (self.to is None) == (self.for_ is None):
            raise about("for", "has `to` or `for`, one of both")
        return self


@router.get("")
async def alerts(request: Request) -> dict[str, Any]:
    """Alerts that are pending or firing, with the silences that each is under."""
    watch: Watch = request.app.state.watch
    now_ns = time.time_ns()
    quiet = await _silences(request, now_ns)
    return {
        "now_ns": watch.engine.now_ns or None,
        "alerts": [each.shown(quiet, now_ns) for each in watch.engine.standing()],
    }


@router.get("/rules")
async def rules(request: Request) -> dict[str, Any]:
    """The rules in force, the names of who is told, and how many alerts wait for each of them."""
    watch: Watch = request.app.state.watch
    return {
        "rules": [shown(rule) for rule in watch.file.rule],
        "receivers": [
            {"name": each.receiver.name, "kind": each.receiver.kind, "waiting": len(each.waiting)}
            for each in watch.deliveries
        ],
    }


@router.get("/history")
async def history(request: Request, asked: Annotated[HistoryParameters, Query()]) -> dict[str, Any]:
    """How the states of alerts changed, the latest first.

    Those of one moment come together, also where they are more than `limit`; `before` it are the
    next ones.
    """
    before_ns = MAX_NS if asked.before is None else asked.before
    reader, rule = reader_of(request), asked.rule
    rows = await reader.ask("alerts_history", rule=rule, before_ns=before_ns, rows=asked.limit)
    more = False
    if rows.height >= asked.limit:
        older = await reader.ask("alerts_history", rule=rule, before_ns=rows["time_ns"][-1], rows=1)
        more = older.height > 0
    return {"changes": changes_of(rows), "more": more}


@router.get("/silences")
async def silences(
    request: Request, asked: Annotated[SilencesParameters, Query()]
) -> dict[str, Any]:
    """Silences and maintenance windows that are not over."""
    after_ns = time.time_ns() if asked.after is None else asked.after
    return {"silences": [each.shown() for each in await _silences(request, after_ns)]}


@router.post("/silences", status_code=201)
async def silence(request: Request, wanted: Wanted) -> dict[str, Any]:
    """Ask for a silence or a maintenance window: alerts that it fits are not delivered."""
    now_ns = time.time_ns()
    from_ns = now_ns if wanted.from_ is None else wanted.from_
    to_ns = from_ns + (wanted.for_ or 0) if wanted.to is None else wanted.to
    if not max(from_ns, now_ns) < to_ns <= now_ns + LONGEST_NS:
        if wanted.for_ is not None:
            raise invalid({"for": f"ends before now, or more than {MOST_DAYS} days from now"})
        raise invalid({"to": f"is not after from and now, or more than {MOST_DAYS} days from now"})
    identity = identity_of(request)
    made = Silence(
        secrets.token_hex(8), now_ns, from_ns, to_ns, wanted.matchers, wanted.kind,
        identity.name if identity else "", wanted.comment,
    )  # fmt: skip
    await _keep(request, made)
    return made.shown()


@router.delete("/silences/{name}", status_code=204)
async def unsilence(
    request: Request, name: Annotated[str, Path(max_length=64, pattern=HEX)]
) -> None:
    """End a silence now."""
    now_ns = time.time_ns()
    try:
        ended = ending(await _silences(request, now_ns), name, now_ns)
    except KeyError as error:
        raise Problem(404, str(error.args[0]), field="name") from None
    await _keep(request, ended)


async def _silences(request: Request, after_ns: int) -> list[Silence]:
    given = {"after_ns": after_ns, "rows": MOST_SILENCES}
    return silences_of(await reader_of(request).ask("silences", **given))


async def _keep(request: Request, made: Silence) -> None:
    reader = request.app.state.reader
    token = f"{made.id} {made.written_ns}"
    await reader.run("silence", reader.store.insert, "silences", made.row(), token)


def shown(rule: Rule) -> dict[str, Any]:
    """A rule as answers have it."""
    return rule.model_dump(by_alias=False)
