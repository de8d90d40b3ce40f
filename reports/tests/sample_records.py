"""Run records made by hand, for tests of reports."""

from __future__ import annotations

from typing import Any

# What a backend may say to get at a reader: markup, ends of elements, quotes, terminal control, reordered text, half
# of a surrogate pair.
HOSTILE = (
    "<script>window.hurt=1;alert(1)</script>",
    "</script><script>window.hurt=1</script>",
    "<img src=x onerror=window.hurt=1>",
    "<!--<script>",
    "\"'><svg onload=window.hurt=1>",
    "{{details}} ${window.hurt=1}",
    "\x1b[31mred\x1b]0;title\x07",
    "\u202egnp.exe\u2066",
    "\ud800",
    "]]>&lt;",
    "javascript:window.hurt=1",
    "| a | `b` [c](javascript:window.hurt=1)",
)
EVERYTHING = " ".join(HOSTILE)
# Draws, and would run script, link and fetch if it were part of the page.
HOSTILE_SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="20" onload="parent.hurt=1">'
    "<script>parent.hurt=1</script>"
    '<rect width="40" height="20" fill="teal"/><image href="http://127.0.0.1:9/x.png" width="1" height="1"/></svg>'
)


def environment(name: str = "torch", **facts: Any) -> dict[str, Any]:
    """The head of a run of backend ``name``."""
    return {
        "backend": name,
        "name": name,
        "version": "2.13.0",
        "device": "cpu",
        "capabilities": ["core"],
        "packages": {"numpy": "2.0"},
        "platform": "Linux",
        "python": "3.11.0",
        "cpu": "A CPU",
        "cores": 2,
        "seed": 0,
        "budget": "standard",
        "jobs": 2,
        "timeout": 60.0,
        "memory_limit": 0,
        "selection": {"areas": [], "level": "may", "requirements": []},
        "expectations": None,
        "spec_version": "1",
        "suite_version": "1",
        "started": "2026-01-01T00:00:00+00:00",
        "finished": "2026-01-01T00:01:00+00:00",
        "resumed": False,
        "seconds": 60.0,
        "examples": 9000,
        "examples_per_second": 150.0,
        "calls": 18000,
        "tensors": 900,
        "noncontiguous_share": 0.4,
        **facts,
    }


def failure(verdict: str = "failed", cause: str = "one cause", **facts: Any) -> dict[str, Any]:
    """Why a requirement does not hold."""
    return {
        "verdict": verdict,
        "message": "wrong value of add's result at (1,)",
        "cause": cause,
        "test": "test_it",
        "operator": None,
        "known": None,
        "example": {"x": "Tensor(float32, sizes=(2, 3))", "k": "3"},
        "expected": "(1, 2)",
        "got": "(1, 3)",
        "snippet": "import torch\nx = torch.ones(3)\nassert x.sum() == 4  # ```\n",
        "snippet_checked": True,
        "snippet_result": "AssertionError",
        "output": None,
        **facts,
    }


def row(identifier: str, status: str = "passed", level: str = "MUST", **facts: Any) -> dict[str, Any]:
    """One requirement."""
    return {
        "id": identifier,
        "area": identifier.split("/")[0],
        "level": level,
        "status": status,
        "reason": None,
        "upstream": None,
        "support": None,
        "sentence": f"A sentence about `{identifier}`, long enough to be wrapped over more than one line of a report.",
        "source": "Tensor Views",
        "origin": ["VIEW-001"],
        "capabilities": ["core"],
        "tests": ["module:3 test_it"],
        "examples": 1000,
        "seconds": 1.5,
        "calls": 2000,
        "tensors": 100,
        "noncontiguous": 40,
        "unsupported": {},
        "failure": failure() if status in ("failed", "crashed", "timeout", "xfailed") else None,
        "further_failures": [],
        "subresults": {},
        **facts,
    }


def run(*rows: dict[str, Any], name: str = "torch", **facts: Any) -> dict[str, Any]:
    """A record of ``rows``."""
    tests = {"module:3 test_it": {"file": "module.py", "line": 3, "code": "def test_it(s):\n    assert s\n"}}
    return {
        "schema": "gaugeblock-run/2",
        "environment": environment(name, **facts),
        "requirements": list(rows),
        "tests": tests,
    }


def hostile() -> dict[str, Any]:
    """A record in which every text that may come from a backend is hostile."""
    told = failure(
        message=EVERYTHING,
        cause=EVERYTHING,
        test=EVERYTHING,
        example={EVERYTHING: EVERYTHING},
        expected=EVERYTHING,
        got=EVERYTHING,
        snippet=EVERYTHING,
        adapter_snippet=EVERYTHING,
        snippet_result=EVERYTHING,
        output=EVERYTHING,
    )
    facts = {
        "reason": EVERYTHING,
        "upstream": "javascript:window.hurt=1",
        "sentence": f"A `code` sentence {EVERYTHING}",
        "source": EVERYTHING,
        "origin": [EVERYTHING],
        "capabilities": [EVERYTHING],
        "tests": [EVERYTHING],
        "unsupported": {EVERYTHING: EVERYTHING},
        "figures": {EVERYTHING: 1.0},
        "own_rules": {EVERYTHING: 3},
        "pictures": [{"title": EVERYTHING, "svg": HOSTILE_SVG}],
    }
    rows = [
        row("views/broken", "failed", failure=told, further_failures=[told], **facts),
        row("views/known", "xfailed", failure=told, **facts),
        row("views/kept", "passed", **facts),
        row("views/left", "skipped", **{**facts, "pictures": []}),
    ]
    named = dict.fromkeys(("backend", "version", "device", "platform", "python", "cpu", "started"), EVERYTHING)
    named |= {"spec_version": EVERYTHING, "suite_version": EVERYTHING, "expectations": EVERYTHING, "budget": EVERYTHING}
    lists: dict[str, Any] = {"capabilities": list(HOSTILE), "packages": {EVERYTHING: EVERYTHING}}
    rule = dict.fromkeys(("rule", "sentence", "source"), EVERYTHING) | {"operators": [EVERYTHING]}
    lists["own_rules"] = [{**rule, "kind": "texts", "used": 3, "requirements": [EVERYTHING]}]
    record = run(*rows, name=EVERYTHING, **named, **lists)
    record["tests"] = {EVERYTHING: {"file": EVERYTHING, "line": 1, "code": EVERYTHING}}
    return record


def large(count: int = 10_000) -> dict[str, Any]:
    """A run of ``count`` requirements with all statuses, a fifth of them broken, each with texts of its own."""
    areas = ("storage", "views", "dtypes", "iteration", "operators", "autograd")
    statuses = ("passed",) * 6 + ("skipped", "failed", "xfailed", "crashed")
    rows = []
    for number in range(count):
        area = areas[number * len(areas) // count]
        identifier, status = f"{area}/requirement-number-{number}-of-many", statuses[number * 7 % len(statuses)]
        facts: dict[str, Any] = {"tests": [f"module:{number} test_{number}"]}
        facts["sentence"] = f"Requirement {number} keeps element {number * 7919 % 1000003}; {'and so on, ' * 9}"
        if status in ("failed", "xfailed", "crashed"):
            numbers = ", ".join(str((number * 31 + place * 17) % 9973) for place in range(40))
            told = {"expected": f"[{numbers}]", "got": f"[{number}, {numbers}]"}
            facts["failure"] = failure(message=f"wrong value at ({number},)", **told)
        rows.append(row(identifier, status, ("MUST", "MUST", "SHOULD", "MAY")[number % 4], **facts))
    record = run(*rows)
    record["tests"] = {
        f"module:{number} test_{number}": {
            "file": "module.py",
            "line": number + 1,
            "code": f"@requirement('x')\ndef test_{number}(s):\n    x = s.tensor([{number * 13 % 9973}])\n" * 4,
        }
        for number in range(count)
    }
    return record
