"""The scale of the attacks: GAUGEBLOCK_ATTACKS multiplies every count and duration (1 is the whole suite)."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

SCALE = float(os.environ.get("GAUGEBLOCK_ATTACKS", "1"))


@pytest.fixture(scope="session")
def scaled() -> Callable[[int], int]:
    """Return a function that scales a count for this run, to at least 1."""
    return lambda count: max(1, round(count * SCALE))
