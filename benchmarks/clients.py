"""Clients that ask a service all at once: overviews, TE pulls, and `where` of one flow."""

import asyncio
import random
import ssl
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import httpx

SHARE_WHERE = 0.2
BUSY = 503
PATIENCE_S = 30.0
PLAIN = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""For all clients, who ask without TLS: each would read the system's certificates otherwise, while
the answers to all others wait."""
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


def percentile(values: Sequence[float], share: float) -> float:
    """The value that a share of all do not pass; values are in order."""
    return values[min(int(len(values) * share), len(values) - 1)] if values else float("nan")


async def client(
    url: str, flows: Sequence[Any], until_s: float, most: int, seed: int, heard: Heard
) -> None:
    """Ask until the end, or so many times; whoever is told to come later does."""
    chance, tags = random.Random(seed), {}  # noqa: S311 - a seeded workload
    async with httpx.AsyncClient(base_url=url, timeout=PATIENCE_S, verify=PLAIN) as http:
        for _ in range(most):
            if perf_counter() >= until_s:
                return
            number = chance.randrange(len(flows))
            where = chance.random() < SHARE_WHERE
            path = where_of(flows[number]) if where else chance.choice(OVERVIEW)
            known = {"If-None-Match": tags[path]} if path in tags else {}
            begun = perf_counter()
            try:
                answer = await http.get(path, headers=known)
            except httpx.HTTPError as error:
                heard.wrong.append(f"{path}: {type(error).__name__}")
                continue
            took = perf_counter() - begun
            heard.answers.append((path.partition("?")[0], answer.status_code, took))
            if where and answer.is_success:
                heard.flows.add(number)
            if not where and "etag" in answer.headers:
                tags[path] = answer.headers["etag"]
            if answer.status_code == BUSY:
                later = answer.headers.get("retry-after", "")
                if not later.isdigit():
                    heard.wrong.append(f"{path}: 503 without Retry-After")
                await asyncio.sleep(float(later or 1) * chance.uniform(0.5, 1.5))
            elif answer.status_code not in {200, 304, 404}:
                heard.wrong.append(f"{path}: {answer.status_code} {answer.text[:200]}")


def where_of(flow: dict[str, Any]) -> str:
    """The address that tells where a flow is bottlenecked."""
    ends = (f"{end}={flow[end]}:{flow[port]}" for end, port in (("src", "sport"), ("dst", "dport")))
    return f"/api/v1/flows/bottleneck?{'&'.join(ends)}&window=10s"


async def asked(
    url: str, flows: Sequence[Any], clients: int, seconds: float, most: int = sys.maxsize
) -> Heard:
    """All clients at once, for so long, each at most so many times."""
    heard, until_s = Heard(), perf_counter() + seconds
    async with asyncio.TaskGroup() as group:
        for seed in range(clients):
            group.create_task(client(url, flows, until_s, most, seed, heard))
    return heard
