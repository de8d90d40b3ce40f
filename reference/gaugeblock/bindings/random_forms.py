"""Bindings of rand and randn: sizes alone lead straight to the generator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..operators.random_factories import quick_rand, quick_randn
from ..tensor.tensor import Tensor
from .caller import Caller

Form = tuple[str, dict[str, Any]]


def _form(function: str, quick: Callable[[tuple[Any, ...]], Tensor | None]) -> Callable[[str, str, Caller], Form]:
    def form(name: str, self: str, caller: Caller) -> Form:
        text = (
            f"def {function}(*size, **options):\n"
            f"    if not options and not SPECIAL:\n"
            f"        result = quick_{name}(size)\n"
            f"        if result is not None:\n"
            f"            return result\n"
            f"    return slow_{name}(*size, **options)\n"
        )
        return text, {f"slow_{name}": caller, f"quick_{name}": quick}

    return form


FORMS = {"rand": _form("rand", quick_rand), "randn": _form("randn", quick_randn)}
"""Public names with a form of their own."""
