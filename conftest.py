"""Keeps the collector's work small: what the tests of a module are not about is out of its sight while they run."""

from __future__ import annotations

import gc

import pytest


@pytest.fixture(autouse=True, scope="module")
def frozen() -> None:
    """Freeze thirty thousand tests and all that is imported: each full collection went through a million objects."""
    gc.collect()
    gc.freeze()
