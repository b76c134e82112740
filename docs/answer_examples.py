"""Examples of the API's answers: what a service that holds the demo answers, shortened.

`python docs/answer_examples.py URL TOKEN` asks the service of a demo that has rules of alerts and a
key of exports, with a token of scope admin, and writes them where the OpenAPI document and the
reference find them. The tests hold their shape against the answers of today.
"""

import sys
import time
from pathlib import Path
from typing import Any

import httpx
from json_text import json_text

from service.answer_table import EXAMPLES_FILE

MOST = 2
"""Entries of a list that are shown."""
WAIT_S = 120.0
LOOK_S = 0.05
CAPTURE = Path(__file__).resolve().parents[1] / "tests" / "data" / "cc" / "dctcp_a1.pcap.zst"
API = "/api/v1"
PLAIN = (
    "flows", "links", "te/paths", "te/links", "te/export", "health/telemetry", "topology",
    "replay/algorithms", "alerts", "alerts/rules", "alerts/history",
)  # fmt: skip
"""Routes that are asked for nothing special."""


def shortened(value: Any) -> Any:
    """The same with the first entries of each list."""
    if isinstance(value, dict):
        return {name: shortened(each) for name, each in value.items()}
    if isinstance(value, list):
        return [shortened(each) for each in value[:MOST]]
    return value


class Asking:
    """A service that is asked, and the first answer of each route."""

    def __init__(self, url: str, token: str) -> None:
        self.http = httpx.Client(
            base_url=url, headers={"Authorization": f"Bearer {token}"}, timeout=WAIT_S
        )
        self.token = token
        self.found: dict[str, Any] = {}

    def __call__(self, line: str, name: str = "", **given: Any) -> Any:
        """The answer of a route, METHOD PATH; `name` is put into its path."""
        method, _, path = line.partition(" ")
        answer = self.http.request(method, path.replace("{name}", name), **given)
        answer.raise_for_status()
        if answer.content:
            self.found.setdefault(line, shortened(answer.json()))
            return answer.json()
        return None

    def every(self) -> None:
        """Ask every route."""
        for path in ("/healthz", "/readyz", *(f"{API}/{name}" for name in PLAIN)):
            self(f"GET {path}")
        self.flow()
        self(f"POST {API}/session", json={"token": self.token})
        self(f"GET {API}/session")
        wish = {"matchers": {"device": "leaf1*"}, "for": "2h", "comment": "line card is changed"}
        made = self(f"POST {API}/alerts/silences", json=wish)
        self(f"GET {API}/alerts/silences")
        self(f"DELETE {API}/alerts/silences/{{name}}", made["id"])
        self.work()
        self(f"GET {API}/audit")

    def flow(self) -> None:
        """What is asked about one flow and its hop."""
        held = self(f"GET {API}/bottlenecks")["bottlenecks"][0]
        flow, hop = held["flow"], held["hop"]
        ends = {"src": f"{flow['src']}:{flow['sport']}", "dst": f"{flow['dst']}:{flow['dport']}"}
        self(f"GET {API}/flows/bottleneck", params=ends | {"frames": True})
        for name in ("flows/signals", "flows/spans", "flows/contributors", "replay/decisions"):
            self(f"GET {API}/{name}", params=ends)
        port = {name: hop[name] for name in ("device", "interface")}
        self(f"GET {API}/links/flows", params=port)
        path = self.found[f"GET {API}/te/paths"]["paths"][0]
        between = {side: path[side] for side in ("src", "dst")}
        self(f"GET {API}/te/alternatives", params=between)

    def work(self) -> None:
        """A capture that is brought and replayed."""
        brought = self(
            f"POST {API}/captures", params={"name": CAPTURE.name}, content=CAPTURE.read_bytes()
        )
        self(f"GET {API}/captures")
        self(f"GET {API}/captures/{{name}}", brought["id"])
        job = self(f"POST {API}/jobs", json={"kind": "replay", "capture": brought["id"]})
        end_s = time.monotonic() + WAIT_S
        while self.http.get(f"{API}/jobs/{job['id']}").json()["state"] in {"waiting", "running"}:
            if time.monotonic() > end_s:
                raise TimeoutError(f"the job did not end within {WAIT_S:g} s")
            time.sleep(LOOK_S)
        self(f"GET {API}/jobs")
        self(f"GET {API}/jobs/{{name}}", job["id"])
        self(f"GET {API}/jobs/{{name}}/result", job["id"], params={"format": "json"})
        other = self(f"POST {API}/jobs", json={"kind": "replay", "capture": brought["id"]})
        self(f"POST {API}/jobs/{{name}}/cancel", other["id"])
        for each in (job, other):
            self(f"DELETE {API}/jobs/{{name}}", each["id"])
        self(f"DELETE {API}/captures/{{name}}", brought["id"])


if __name__ == "__main__":
    asking = Asking(*sys.argv[1:3])
    asking.every()
    EXAMPLES_FILE.write_text(f"{json_text(dict(sorted(asking.found.items())))}\n", encoding="utf-8")
