"""Linear algebra under torch.linalg's names: ``linalg.det`` is the operator `linalg_det`."""

from __future__ import annotations

from typing import Any

from .bindings.namespaces import namespace
from .operators.linear.stacks import LinAlgError as LinAlgError
from .out_of_scope import refusal

_get, __dir__ = namespace(__name__, "linalg_")


def __getattr__(name: str) -> Any:
    try:
        return _get(name)
    except AttributeError:
        raise refusal(__name__, name) from None
