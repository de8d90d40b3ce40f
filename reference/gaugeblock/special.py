"""Special functions under torch.special's names: ``special.i0e`` is the operator `special_i0e`."""

from __future__ import annotations

from typing import Any

from .bindings.namespace import namespace

_get, _names = namespace(__name__, "special_")


def __getattr__(name: str) -> Any:
    return _get(name)


def __dir__() -> list[str]:
    return _names()
