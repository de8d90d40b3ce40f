"""Neural networks: ``nn.functional`` with torch.nn.functional's names, ``nn.operators`` for the operators behind it."""

from __future__ import annotations

from . import functional as functional
from . import operators as operators
