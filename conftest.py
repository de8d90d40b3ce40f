"""Keeps full garbage collections fast in long test sessions."""

from __future__ import annotations

import gc

import pytest


@pytest.fixture(autouse=True, scope="module")
def frozen() -> None:
    """Exempt collected tests and imported modules, about a million objects, from later collections."""
    gc.collect()
    gc.freeze()
