"""The share of the roof that a case reaches: its unavoidable work at the roof's rate, over the time that it took."""

from __future__ import annotations

from typing import Any

from ..machine.roof import bandwidth_at, flops_at

Row = dict[str, Any]
LEAST_OPERATIONS = 1_000_000
"""Products of fewer have no share."""


def share(task: Row, seconds: float, backend: Row, roof: Row) -> Row | None:
    """Which roof and what share; None for views, small calls, and devices whose roof was not measured.

    A share above 1 is possible: what only reads moves less than a copy's writes ask of the memory, and what lies in a
    cache after the call before does not come from memory.
    """
    device = next((row for row in roof["device"] if row["backend"] == backend["label"]), None)
    on_host = backend["device"].partition(":")[0] == "cpu"
    if task["operations"]:
        if task["operations"] < LEAST_OPERATIONS:
            return None
        rate = flops_at(roof["product"], task["dtype"]) if on_host else None
        return {"roof": "product", "share": task["operations"] / rate / seconds} if rate else None
    if on_host:
        rate = bandwidth_at(roof["copy"], task["moved_bytes"])
    else:
        rate = bandwidth_at(device["copy"], task["moved_bytes"]) if device else None
    return {"roof": "copy", "share": task["moved_bytes"] / rate / seconds} if rate else None
