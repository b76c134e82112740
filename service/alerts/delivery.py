"""Who is told of alerts: by webhook or Alertmanager, tried again, and never of what is silent."""

import asyncio
import json
import logging
import os
import random
import threading
import time
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import Any, NamedTuple

import httpx
from tenacity import (
    RetryError,
    Retrying,
    retry_if_exception_type,
    sleep_using_event,
    stop_after_attempt,
    stop_any,
    stop_when_event_set,
    wait_exponential_jitter,
)

from service.alerts.engine import MOST_UNKEPT
from service.alerts.rule import Receiver
from service.alerts.silence import silencing
from service.alerts.standing import Standing
from service.alerts.state import ASKED, FIRING, RESOLVED
from service.alerts.telling import REPEAT_S, Look, Telling, for_alertmanager, for_webhook
from service.metrics import Metrics
from service.trust import TrustError, trust

FIRST_WAIT_S, MOST_WAIT_S = 0.5, 10.0
JITTER = 0.25
"""Share by which the minute before another try is longer or shorter, so that tries do not meet."""
MOST_WAITING = 10_000
"""Alerts that wait for one receiver; of more the oldest go, counted."""
logger = logging.getLogger("hopsight.alerts")


class Refused(Exception):  # noqa: N818 - what a receiver does for now
    """The receiver does not take it now; it may later."""


class Unanswered(Refused):
    """The receiver may have taken it, and did not say so in time."""


class Waiting(NamedTuple):
    """An alert that began to fire and was not told yet."""

    standing: Standing
    quiet: bool
    """Whether it was under a silence when it was last seen to fire."""


@dataclass
class Sent:
    """What a receiver knows of one alert."""

    standing: Standing
    told_s: float
    kept: bool = False
    """Whether the store knows that it was told."""


@dataclass
class Delivery:
    """Tells one receiver what stands, each change once and firing alerts again and again."""

    receiver: Receiver
    metrics: Metrics
    sent: dict[str, Sent] = field(default_factory=dict)
    note: Callable[[list[dict[str, Any]]], None] = lambda _: None
    """Stores rows of the table `alerts_told` at once, where it can."""
    waiting: dict[str, Waiting] = field(default_factory=dict)
    """What began to fire and was not told yet, whether it is over by now or not."""
    unkept: list[dict[str, Any]] = field(default_factory=list)
    """What it took, as rows of the table `alerts_told`, until they are stored."""
    refused_until_s: float = 0.0
    _asked: dict[str, Standing] = field(default_factory=dict)
    """What it was told to fire, and did not say that it took."""
    _ended: threading.Event = field(default_factory=threading.Event)
    _turn: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        """Say where a token is lacking: the receiver would refuse, and nobody know why."""
        name = self.receiver.token_variable
        if name and not os.environ.get(name):
            said = "alerts: %s: the variable %s is not set, and it is told without a token"
            logger.warning(said, self.receiver.name, name)

    def end(self) -> None:
        """Try nothing more, from any thread; what is being tried just now is not waited for."""
        self._ended.set()

    def fired(self, standing: Standing, *, quiet: bool = False) -> None:
        """Hear, from any thread, that an alert fires; it waits here until it was told.

        `quiet`: it is under a silence. Nobody is told of one that is so until it is over.
        """
        with self._turn:
            self.waiting[key_of(standing)] = Waiting(standing, quiet)
            while len(self.waiting) > MOST_WAITING:
                self.waiting.pop(next(iter(self.waiting)))
                self._count("forgotten")

    def restored(self, standing: Iterable[Standing]) -> None:
        """Hear what it took to fire before a restart, or may have taken (`ASKED`).

        Its end is told as well.
        """
        for each in standing:
            if each.state in {FIRING, ASKED}:
                begun = replace(each, state=FIRING)
                self.sent.setdefault(key_of(each), Sent(begun, -REPEAT_S, each.state == FIRING))

    def step(self, look: Callable[[], Look], now_s: float) -> None:
        """Tell what is new; what was not taken is told at the next step.

        Before each try it is looked anew: what is silent by then, or over, is told so.
        """
        if now_s < self.refused_until_s:
            if self.waiting:
                self._heed(look())
            return
        told = self._deliver(look, now_s)
        if told is not None:
            self._took(told, now_s)
            self.refused_until_s = 0.0
        else:
            spread = random.uniform(1 - JITTER, 1 + JITTER)  # noqa: S311 - nobody gains by guessing it
            self.refused_until_s = now_s + REPEAT_S * spread
        self._left()
        del self.unkept[:-MOST_UNKEPT]

    def _took(self, told: Telling, now_s: float) -> None:
        """It was told, and took it."""
        known = {key for key, held in self.sent.items() if held.kept}
        new = [each for key, each in told.due.items() if key not in known]
        self.unkept += [self._row(each, FIRING, told.now_ns) for each in new]
        self.unkept += [self._row(each, RESOLVED, told.now_ns) for each in told.over.values()]
        self.sent |= {key: Sent(each, now_s, kept=True) for key, each in told.due.items()}
        for key in told.over:
            del self.sent[key]
        with self._turn:
            for key, each in (told.due | told.again).items():
                if key in self.waiting and self.waiting[key].standing.since_ns <= each.since_ns:
                    del self.waiting[key]

    def _heed(self, seen: Look) -> tuple[dict[str, Standing], dict[str, Standing]]:
        """What fires, and what of it is not silent; of what waits that is remembered."""
        quiet = list(seen.silences)
        firing = {key_of(each): each for each in seen.standing if each.state == FIRING}
        loud = {
            key: each for key, each in firing.items()
            if not silencing(quiet, each.labels, seen.now_ns)
        }  # fmt: skip
        with self._turn:
            for key, (standing, was) in list(self.waiting.items()):
                if key in firing:
                    self.waiting[key] = Waiting(standing, quiet=key not in loud)
                elif was or silencing(quiet, standing.labels, seen.now_ns):
                    del self.waiting[key]
        return firing, loud

    def _telling(self, seen: Look, now_s: float) -> Telling:
        """What there is to tell by what is seen now."""
        firing, loud = self._heed(seen)
        over = {key: held.standing for key, held in self.sent.items() if key not in firing}
        with self._turn:
            waiting = {key: each.standing for key, each in self.waiting.items()}
        # What fired anew meanwhile is over with it.
        again = {key: each for key, each in waiting.items() if key in over}
        others = firing.keys() | over
        late = {key: each for key, each in waiting.items() if key not in others}
        due = late | {
            key: each for key, each in loud.items()
            if key not in self.sent or now_s - self.sent[key].told_s >= REPEAT_S
        }  # fmt: skip
        return Telling(due, over, again, seen.now_ns)

    def _row(self, alert: Standing, state: str, now_ns: int) -> dict[str, Any]:
        return {
            "told_ns": now_ns, "receiver": self.receiver.name, "rule": alert.rule.name,
            "labels": key_of(alert), "state": state, "since_ns": alert.since_ns,
            "value": alert.value,
        }  # fmt: skip

    def _ask(self, told: Telling) -> None:
        """Note what it is told to fire: if this ends before the answer, its end is told later.

        One that did not take the last is asked every minute, and that is not noted each time.
        """
        known = self.sent.keys() | self._asked.keys()
        new = {key: each for key, each in told.due.items() if key not in known}
        if new and not self.refused_until_s:
            self._asked |= new
            self.note([self._row(each, ASKED, told.now_ns) for each in new.values()])

    def _left(self) -> None:
        """Of what it was told to fire and did not take it is to hear no end."""
        left = [each for key, each in self._asked.items() if key not in self.sent]
        self.unkept += [self._row(each, RESOLVED, time.time_ns()) for each in left]
        self._asked = {}

    def _count(self, outcome: str) -> None:
        name = "hopsight_alert_deliveries_total"
        self.metrics.count(name, receiver=self.receiver.name, outcome=outcome)

    def _deliver(self, look: Callable[[], Look], now_s: float) -> Telling | None:
        """What the receiver took; None: it did not take what there was."""
        retrying = Retrying(
            stop=stop_any(
                stop_after_attempt(self.receiver.attempts), stop_when_event_set(self._ended)
            ),
            sleep=sleep_using_event(self._ended),
            wait=wait_exponential_jitter(
                multiplier=FIRST_WAIT_S, max=MOST_WAIT_S, jitter=FIRST_WAIT_S
            ),
            retry=retry_if_exception_type((Refused, httpx.TransportError)),
        )
        try:
            return retrying(self._try, look, now_s)
        except RetryError:
            if not self._ended.is_set():
                said = "alerts: %s does not take them; they are kept and tried again in a minute"
                logger.warning(said, self.receiver.name)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            why = type(error).__name__
            if isinstance(error, httpx.HTTPStatusError):
                why = f"status {error.response.status_code}"
            elif isinstance(error, TrustError):
                why = str(error)
            logger.warning("alerts: %s does not take them: %s", self.receiver.name, why)
        self._count("failed")
        return None

    def _try(self, look: Callable[[], Look], now_s: float) -> Telling:
        """Tell once what there is to tell now."""
        told = self._telling(look(), now_s)
        if alerts := told.alerts:
            self._ask(told)
            try:
                self._post(alerts, told.now_ns)
            except (Unanswered, httpx.ReadError, httpx.RemoteProtocolError):
                for key, each in told.due.items():  # or nobody would hear that it is over
                    self.sent.setdefault(key, Sent(each, -REPEAT_S))
                raise
            self._count("delivered")
        return told

    def _post(self, told: list[tuple[Standing, str]], now_ns: int) -> None:
        receiver = self.receiver
        url, body = receiver.url, for_webhook(told, now_ns)
        if receiver.kind == "alertmanager":
            url = f"{url.rstrip('/')}/api/v2/alerts"
            body = [for_alertmanager(*each, now_ns) for each in told]
        token = os.environ.get(receiver.token_variable, "") if receiver.token_variable else ""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        try:
            answer = told_at_once(posted(url, body, headers, receiver.timeout_s))
        except TimeoutError:
            raise Unanswered from None
        later = {HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.REQUEST_TIMEOUT}
        if answer.is_server_error or answer.status_code in later:
            raise Refused
        answer.raise_for_status()


def told_at_once(asking: Coroutine[Any, Any, httpx.Response]) -> httpx.Response:
    """Wait for a request, but for no name that is still being looked up when its time is over."""
    loop = asyncio.new_event_loop()
    try:
        return loop.run_until_complete(asking)
    finally:
        loop.close()


async def posted(
    url: str, body: Any, headers: Mapping[str, str], within_s: float
) -> httpx.Response:
    """The answer to a request, without its body. TimeoutError where it takes longer as a whole.

    Alone a client's limit holds anew for each part that comes.
    """
    async with (
        asyncio.timeout(within_s),
        httpx.AsyncClient(timeout=within_s, verify=trust(url)) as client,
        client.stream("POST", url, json=body, headers=headers) as answer,
    ):
        return answer


def key_of(standing: Standing) -> str:
    """What tells alerts apart."""
    return json.dumps(dict(standing.labels), sort_keys=True)
