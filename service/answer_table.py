"""What the answers of routes hold: a table of names and kinds for each, and examples."""

import json
from pathlib import Path
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
        "covered": {"type": ["number", "null"]},
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
    "lists of texts": {"type": "array", "items": {"type": "array", "items": {"type": "string"}}},
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
    "frames_total": "whole?", "points": "whole", "points_total": "whole?", "progress": "number?",
    "reason": "text?", "results": "texts", "found": "object",
}  # fmt: skip
COVERED = {"interval": "interval?", "captured": "number?", "completeness": "number?"}
"""What an answer about a time says of it (`service/coverage.py`)."""
OF_CELLS = COVERED | {"cells": "whole", "cells_with_rows": "whole"}
CELLS = OF_CELLS | {"total": "whole", "cursor": "text?"}
SESSION = {"login_required": "yes or no", "identity": "object?"}

ANSWERS = {
    "GET /healthz": {"status": "text", "version": "text"},
    "GET /readyz": {"status": "text"},
    "GET /api/v1/session": SESSION,
    "POST /api/v1/session": SESSION,
    "GET /api/v1/bottlenecks": COVERED | {
        "stored": "interval?",
        "flows_seen": "whole", "bottlenecks": "rows", "more": "yes or no", "cursor": "text?",
    },
    "GET /api/v1/flows": COVERED | {"flows": "rows", "more": "yes or no", "cursor": "text?"},
    "GET /api/v1/flows/bottleneck": {
        "flow": "object", "interval": "object", "verdict": "object", "candidates": "rows",
        "signals": "rows",
        "evidence": "rows", "history": "rows", "integrity": "object?", "topology": "text",
        "notes": "texts",
    },
    "GET /api/v1/flows/signals": COVERED | {
        "flow": "object", "times_ns": "times", "lengths_ns": "times", "eta": "number",
        "signals": "object", "hops": "rows", "integrity": "object?", "notes": "texts",
    },
    "GET /api/v1/flows/spans": {"resourceSpans": "rows"},
    "GET /api/v1/flows/contributors": COVERED | {
        "flow": "object", "hop": "object?", "others": "object",
        "flows": "rows", "notes": "texts",
    },
    "GET /api/v1/links": COVERED | {
        "times_ns": "times", "links": "rows",
        "cursor": "text?",
    },
    "GET /api/v1/links/flows": COVERED | {
        "link": "object?", "others": "object",
        "flows": "rows", "notes": "texts", "cursor": "text?",
    },
    "GET /api/v1/te/paths": CELLS | {"paths": "rows"},
    "GET /api/v1/te/links": CELLS | {"links": "rows"},
    "GET /api/v1/te/alternatives": OF_CELLS | {
        "src": "object", "dst": "object", "class": "whole?",
        "ways": "whole", "more": "yes or no", "siblings": "whole", "alternatives": "rows",
        "classes": "rows",
    },
    "GET /api/v1/te/export": COVERED | {"addresses": "text", "paths": "rows"},
    "GET /api/v1/health/telemetry": COVERED | {
        "findings": "rows", "more": "yes or no",
    },
    "GET /api/v1/topology": {"version": "text?", "hops": "rows", "hosts": "rows"},
    "GET /api/v1/replay/decisions": COVERED | {
        "flow": "object", "observations": "whole", "total": "whole",
        "start": "whole", "next": "whole?", "parameters": "object", "notes": "texts",
        "conformance": "object", "paths": "lists of texts", "decisions": "rows",
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
AT_TIMES = {
    "GET /readyz": {"verdicts": "whole"},
    "GET /api/v1/jobs/{name}/result": {
        "total": "whole", "start": "whole", "next": "whole?", "decisions": "rows",
    },
}  # fmt: skip
"""Names that only some answers have: by who asks, and by what the result is of."""
OTHER_MEDIA = {
    "GET /api/v1/te/paths": (CSV, ARROW),
    "GET /api/v1/te/links": (CSV, ARROW),
    "GET /api/v1/replay/decisions": (CSV,),
    "GET /api/v1/jobs/{name}/result": ("application/vnd.apache.arrow.file", "text/html"),
}
"""Other representations of an answer."""

EXAMPLES_FILE = Path(__file__).with_name("answer_examples.json")
EXAMPLES: dict[str, Any] = json.loads(EXAMPLES_FILE.read_text(encoding="utf-8"))
"""Answers about the demo, lists shortened (docs/answer_examples.py)."""
