"""Clients that ask a service all at once: overviews, TE pulls, and `where` of one flow.

They ask through aiohttp: what they take of the processors that they share with the service is a
third of what httpx takes, and so is the time that an answer waits to be heard.
"""

import asyncio
import random
import sys
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import aiohttp
import numpy as np

SHARE_WHERE = 0.2
BUSY = 503
PATIENCE_S = 30.0
OVERVIEW = ("/api/v1/bottlenecks?limit=50", "/api/v1/links", "/api/v1/te/paths?by=device",
            "/api/v1/te/links")  # fmt: skip
"""What consoles and controllers ask for again and again."""


@dataclass
class Heard:
    """What all clients heard: (route, status, seconds) of each answer; which flows were asked."""

    answers: list[tuple[str, int, float]] = field(default_factory=list)
    flows: set[int] = field(default_factory=set)
    wrong: list[str] = field(default_factory=list)
    """Answers that nothing documents."""

    def seconds(self, route: str = "") -> list[float]:
        """How long answers took that were served, in order."""
        return sorted(took for name, status, took in self.answers
                      if status != BUSY and route in name)  # fmt: skip

    def count(self, status: int) -> int:
        """Answers with a status."""
        return sum(status == each for _, each, _ in self.answers)


class Deck:
    """Flows in an order drawn by a seed: each is asked for once before any is asked for again."""

    def __init__(self, flows: Sequence[Any]) -> None:
        self.flows = flows
        self._order: deque[int] = deque()
        self._chance = np.random.default_rng(len(flows))

    def draw(self) -> int:
        """Number of the next flow."""
        if not self._order:
            self._order.extend(self._chance.permutation(len(self.flows)).tolist())
        return self._order.popleft()

    def back(self, number: int) -> None:
        """A flow of which nothing was answered comes again, behind all others."""
        self._order.append(number)


def percentile(values: Sequence[float], share: float) -> float:
    """The value that a share of all do not pass; values are in order."""
    return values[min(int(len(values) * share), len(values) - 1)] if values else float("nan")


async def client(url: str, deck: Deck, until_s: float, most: int, seed: int, heard: Heard) -> None:
    """Ask until the end, or so many times; whoever is told to come later does."""
    chance, tags = random.Random(seed), {}  # noqa: S311 - a seeded workload
    patience = aiohttp.ClientTimeout(total=PATIENCE_S)
    async with aiohttp.ClientSession(url, timeout=patience) as http:
        for _ in range(most):
            if perf_counter() >= until_s:
                return
            where = chance.random() < SHARE_WHERE
            number = deck.draw() if where else -1
            path = where_of(deck.flows[number]) if where else chance.choice(OVERVIEW)
            known = {"If-None-Match": tags[path]} if path in tags else {}
            begun = perf_counter()
            try:
                async with http.get(path, headers=known) as answer:
                    body = await answer.read()
            except (aiohttp.ClientError, TimeoutError) as error:
                heard.wrong.append(f"{path}: {type(error).__name__}")
                continue
            took = perf_counter() - begun
            heard.answers.append((path.partition("?")[0], answer.status, took))
            if where and answer.ok:
                heard.flows.add(number)
            elif where and answer.status == BUSY:
                deck.back(number)
            if not where and "etag" in answer.headers:
                tags[path] = answer.headers["etag"]
            if answer.status == BUSY:
                later = answer.headers.get("retry-after", "")
                if not later.isdigit():
                    heard.wrong.append(f"{path}: 503 without Retry-After")
                await asyncio.sleep(float(later or 1) * chance.uniform(0.5, 1.5))
            elif answer.status not in {200, 304, 404}:
                heard.wrong.append(f"{path}: {answer.status} {body[:200]!r}")


def where_of(flow: dict[str, Any]) -> str:
    """The address that tells where a flow is bottlenecked."""
    ends = (f"{end}={flow[end]}:{flow[port]}" for end, port in (("src", "sport"), ("dst", "dport")))
    return f"/api/v1/flows/bottleneck?{'&'.join(ends)}&window=10s"


async def asked(
    url: str, flows: Sequence[Any], clients: int, seconds: float, most: int = sys.maxsize
) -> Heard:
    """All clients at once, for so long, each at most so many times."""
    heard, until_s, deck = Heard(), perf_counter() + seconds, Deck(flows)
    async with asyncio.TaskGroup() as group:
        for seed in range(clients):
            group.create_task(client(url, deck, until_s, most, seed, heard))
    return heard
