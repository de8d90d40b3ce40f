"""Bindings of random factories: sizes and ranges alone lead straight to the generator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..operators.random_factories import quick_rand, quick_randint, quick_randn, quick_randperm
from ..tensor.tensor import Tensor
from .caller import Caller

Form = tuple[str, dict[str, Any]]


def _form(function: str, quick: Callable[[tuple[Any, ...]], Tensor | None]) -> Callable[[str, str, Caller], Form]:
    def form(name: str, self: str, caller: Caller) -> Form:
        text = (
            f"def {function}(*given, **options):\n"
            f"    if not options and not SPECIAL:\n"
            f"        result = quick_{name}(given)\n"
            f"        if result is not None:\n"
            f"            return result\n"
            f"    return slow_{name}(*given, **options)\n"
        )
        return text, {f"slow_{name}": caller, f"quick_{name}": quick}

    return form


FORMS = {
    "rand": _form("rand", quick_rand),
    "randn": _form("randn", quick_randn),
    "randint": _form("randint", quick_randint),
    "randperm": _form("randperm", quick_randperm),
}
"""Public names with a form of their own."""
