"""Linear algebra under torch.linalg's names: ``linalg.det`` is the operator `linalg_det`."""

from __future__ import annotations

from typing import Any

from .bindings.namespace import namespace
from .operators.linear.errors import LinAlgError as LinAlgError

_get, _names = namespace(__name__, "linalg_")


def __getattr__(name: str) -> Any:
    return _get(name)


def __dir__() -> list[str]:
    return _names()
