"""What the answers of routes hold: a table of names and kinds for each, and some examples."""

from typing import Any

from service.representation import ARROW, CSV

TIMES = {"type": "array", "items": {"type": "integer"}}
SPAN = {
    "type": "object",
    "required": ["from_ns", "to_ns", "from", "to"],
    "properties": {
        "from_ns": {"type": "integer"},
        "to_ns": {"type": "integer"},
        "from": {"type": "string"},
        "to": {"type": "string"},
        "step_ns": {"type": ["integer", "null"]},
    },
}
WORDS: dict[str, dict[str, Any]] = {
    "rows": {"type": "array", "items": {"type": "object"}},
    "times": TIMES,
    "interval": SPAN,
    "object": {"type": "object"},
    "whole": {"type": "integer"},
    "number": {"type": "number"},
    "text": {"type": "string"},
    "texts": {"type": "array", "items": {"type": "string"}},
    "yes or no": {"type": "boolean"},
}
"""Schemas by the word that a table has for them."""
SILENCE = {
    "id": "text", "written_ns": "whole", "from_ns": "whole", "to_ns": "whole", "matchers": "object",
    "kind": "text", "author": "text", "comment": "text",
}  # fmt: skip
CAPTURE = {
    "id": "text", "name": "text", "bytes": "whole", "sha256": "text", "who": "text",
    "created_ns": "whole",
}  # fmt: skip
JOB = {
    "id": "text", "kind": "text", "asked": "object", "state": "text", "who": "text",
    "created_ns": "whole", "started_ns": "whole?", "ended_ns": "whole?", "frames": "whole",
    "frames_total": "whole?", "progress": "number?", "reason": "text?", "results": "texts",
    "found": "object",
}  # fmt: skip
SESSION = {"login_required": "yes or no", "identity": "object?"}

ANSWERS = {
    "GET /healthz": {"status": "text", "version": "text"},
    "GET /readyz": {"status": "text"},
    "GET /api/v1/session": SESSION,
    "POST /api/v1/session": SESSION,
    "GET /api/v1/bottlenecks": {
        "interval": "interval?", "stored": "interval?", "flows_seen": "whole",
        "bottlenecks": "rows",
    },
    "GET /api/v1/flows": {"flows": "rows", "more": "yes or no", "cursor": "text?"},
    "GET /api/v1/flows/bottleneck": {
        "flow": "object", "interval": "object", "verdict": "object", "candidates": "rows",
        "signals": "rows",
        "evidence": "rows", "history": "rows", "integrity": "object?", "topology": "text",
        "notes": "texts",
    },
    "GET /api/v1/flows/signals": {
        "flow": "object", "interval": "interval", "times_ns": "times", "eta": "number",
        "signals": "object", "hops": "rows", "integrity": "object?",
    },
    "GET /api/v1/flows/spans": {"resourceSpans": "rows"},
    "GET /api/v1/flows/contributors": {
        "flow": "object", "interval": "interval", "hop": "object?", "others": "object",
        "flows": "rows",
    },
    "GET /api/v1/links": {
        "interval": "interval?", "times_ns": "times", "links": "rows", "cursor": "text?",
    },
    "GET /api/v1/links/flows": {
        "interval": "interval?", "link": "object?", "others": "object", "flows": "rows",
        "cursor": "text?",
    },
    "GET /api/v1/te/paths": {"interval": "interval?", "paths": "rows"},
    "GET /api/v1/te/links": {"interval": "interval?", "links": "rows"},
    "GET /api/v1/te/alternatives": {
        "interval": "interval", "src": "object", "dst": "object", "ways": "whole",
        "more": "yes or no", "alternatives": "rows",
    },
    "GET /api/v1/te/export": {"interval": "object?", "addresses": "text", "paths": "rows"},
    "GET /api/v1/health/telemetry": {
        "interval": "interval?", "findings": "rows", "more": "yes or no",
    },
    "GET /api/v1/topology": {"version": "text?", "hops": "rows", "hosts": "rows"},
    "GET /api/v1/replay/decisions": {
        "flow": "object", "total": "whole", "start": "whole", "next": "whole?",
    },
    "GET /api/v1/replay/algorithms": {"algorithms": "rows"},
    "GET /api/v1/captures": {
        "captures": "rows", "bytes": "whole", "most_bytes": "whole", "most_bytes_each": "whole",
    },
    "POST /api/v1/captures": CAPTURE,
    "GET /api/v1/captures/{name}": CAPTURE,
    "GET /api/v1/jobs": {"jobs": "rows", "more": "yes or no", "cursor": "text?"},
    "POST /api/v1/jobs": JOB,
    "GET /api/v1/jobs/{name}": JOB,
    "POST /api/v1/jobs/{name}/cancel": JOB,
    "GET /api/v1/jobs/{name}/result": {},
    "GET /api/v1/alerts": {"now_ns": "whole?", "alerts": "rows"},
    "GET /api/v1/alerts/rules": {"rules": "rows", "receivers": "rows"},
    "GET /api/v1/alerts/history": {"changes": "rows", "more": "yes or no"},
    "GET /api/v1/alerts/silences": {"silences": "rows"},
    "POST /api/v1/alerts/silences": SILENCE,
    "GET /api/v1/audit": {"audit": "rows", "more": "yes or no"},
}  # fmt: skip
"""Names that each answer has, with their kinds; a ? where it may be null. More may be added."""
OTHER_MEDIA = {
    "GET /api/v1/te/paths": (CSV, ARROW),
    "GET /api/v1/te/links": (CSV, ARROW),
    "GET /api/v1/replay/decisions": (CSV,),
    "GET /api/v1/jobs/{name}/result": ("application/vnd.apache.arrow.file", "text/html"),
}
"""Other representations of an answer."""

INTERVAL = {
    "from_ns": 1760000000000000000,
    "to_ns": 1760000000200000000,
    "from": "2025-10-09T08:53:20.000000Z",
    "to": "2025-10-09T08:53:20.200000Z",
}
FLOW = {
    "flow": "9223372036854776809", "tenant": "", "vrf": "", "vni": None, "src": "10.1.0.1",
    "sport": 65522, "dst": "10.4.0.1", "dport": 5201, "protocol": 6,
}  # fmt: skip
HOP = {
    "node": 1, "port": 7, "device": "leaf1", "interface": "Ethernet7", "stage": "tor",
    "orientation": "up", "capacity_bps": 10_000_000_000,
}  # fmt: skip
EXAMPLES: dict[str, Any] = {
    "GET /api/v1/bottlenecks": {
        "interval": INTERVAL, "stored": INTERVAL, "flows_seen": 28, "more": False, "cursor": None,
        "bottlenecks": [
            {"flow": FLOW, "hop": HOP, "kind": "uplink", "u_mean": 2.21, "share": 0.5,
             "confidence": 0.99, "reroute_helps": "yes", "contributors": 8}
        ],
    },
    "GET /api/v1/flows": {
        "flows": [FLOW | {"first_ns": 1760000000000000094, "last_ns": 1760000000199922000,
                          "cc": "hpcc"}],
        "more": False, "cursor": None,
    },
    "GET /api/v1/links": {
        "interval": INTERVAL | {"step_ns": 100000000},
        "times_ns": [1760000000000000000, 1760000000100000000],
        "links": [HOP | {"u_mean": [2.21, 2.2], "u_max": [5.48, 5.1], "flows": [8, 8]}],
        "cursor": None,
    },
    "GET /api/v1/alerts": {
        "now_ns": 1760000000200000000,
        "alerts": [
            {"rule": "port full", "state": "firing", "since_ns": 1760000000100000000,
             "labels": {"alertname": "port full", "device": "leaf1", "severity": "page"},
             "value": 2.21, "flapping": False, "silenced_by": [], "summary": "an uplink is full",
             "runbook": "https://runbooks.example/port-full"}
        ],
    },
    "GET /api/v1/jobs/{name}": {
        "id": "9f3c1a2b4d5e6f70", "kind": "analyze", "state": "running", "who": "local",
        "asked": {"kind": "analyze", "capture": "0a1b2c3d4e5f6071", "store": True},
        "created_ns": 1760000000200000000, "started_ns": 1760000000300000000, "ended_ns": None,
        "frames": 120000, "frames_total": 480000, "progress": 0.25, "reason": None,
        "results": [], "found": {},
    },
    "GET /api/v1/session": {
        "login_required": True,
        "identity": {"name": "grafana", "scope": "read", "tenants": ["*"]},
    },
}  # fmt: skip
