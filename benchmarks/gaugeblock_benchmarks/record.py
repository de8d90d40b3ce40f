"""The JSON record of a run: environment, cells, products and costs."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from gaugeblock_conformance.backend import Backend

from .grid import Cell
from .products import Product

SCHEMA = "gaugeblock-benchmark/1"


def environment(subject: Backend, peer: Backend) -> dict[str, Any]:
    """Where the figures come from."""
    return {
        "subject": {"name": subject.name, "version": subject.version},
        "peer": {"name": peer.name, "version": peer.version},
        "python": platform.python_version(),
        "platform": platform.platform(),
        "processor": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
    }


def record(
    where: dict[str, Any], cells: Sequence[Cell], products: Sequence[Product], costs: dict[str, Any]
) -> dict[str, Any]:
    """The whole document; a cell that could not be timed carries the reason."""
    return {
        "schema": SCHEMA,
        "environment": where,
        "cells": [
            {
                "operator": cell.case.operator.name,
                "layout": cell.case.layout,
                "size": cell.case.size,
                "threads": cell.threads,
                **({"absent": cell.absent} if cell.measurement is None else asdict(cell.measurement)),
            }
            for cell in cells
        ],
        "products": [{"dtype": p.dtype, "size": p.size, **asdict(p.measurement)} for p in products],
        "costs": costs,
    }


def write(path: Path, document: dict[str, Any]) -> None:
    """Store a document as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=1) + "\n")
