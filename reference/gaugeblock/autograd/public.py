"""The public functions of the engine, whose calls are recorded: what autograd computes gradients with."""

from __future__ import annotations

import sys
from typing import Any


class _Public:
    """Looks names up in the public module, which imports this package and not the other way round."""

    def __getattr__(self, name: str) -> Any:
        return getattr(sys.modules["gaugeblock"], name)


gb: Any = _Public()
