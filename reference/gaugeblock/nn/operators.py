"""The operators that PyTorch keeps in ``torch._C._nn``: made from the operator table when they are first asked for."""

from __future__ import annotations

from typing import Any

from ..calls.binding import make_function
from ..calls.overloads import nn_functions


def __getattr__(name: str) -> Any:
    group = nn_functions().get(name)
    if group is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    made = globals()[name] = make_function(group)
    return made


def __dir__() -> list[str]:
    return sorted(nn_functions())
