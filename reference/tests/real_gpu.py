"""The mark of tests that need a GPU, and the fixture that puts it behind device="cuda"."""

from __future__ import annotations

from collections.abc import Iterator

import gaugeblock as gb
import pytest


def _why_not() -> str | None:
    """The reason why this machine's GPU cannot be used; None if it can."""
    try:
        gb.cuda.use_driver("cupy")
    except (ImportError, RuntimeError) as error:
        return str(error)
    gb.cuda.use_driver(None)
    return None


_WHY = _why_not()
NEEDS_GPU = pytest.mark.skipif(_WHY is not None, reason=_WHY or "")


@pytest.fixture
def real_gpu() -> Iterator[None]:
    """CuPy's driver while the test runs, and its errors no later than the test's end."""
    gb.cuda.use_driver("cupy")
    yield
    gb.cuda.synchronize()
    gb.cuda.use_driver(None)
