"""Faults of single arguments, found by their names in the schema: left out, fixed, or changed."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from gaugeblock_spec import operators
from gaugeblock_spec.schema import parse

from .mutant import Intercepted, Patch


@cache
def _places(operator: str) -> dict[str, int]:
    """Where the arguments of a row stand."""
    row = operators.load().get(operator)
    return {} if row is None else {a.name: k for k, a in enumerate(parse(row.schema).arguments)}


@cache
def _default(operator: str, name: str) -> Any:
    row = operators.load()[operator]
    return next(a for a in parse(row.schema).arguments if a.name == name).default_value


def changed(name: str, change: Callable[[Any], Any]) -> Patch:
    """The argument ``name``, if it is given, passed through ``change``."""

    def patch(c: Intercepted) -> Any:
        place = _places(c.operator).get(name)
        if place is None:
            return c.right()
        if place < len(c.args):
            return c.instead(*c.args[:place], change(c.args[place]), *c.args[place + 1 :], **c.kwargs)
        if name in c.kwargs:
            return c.instead(*c.args, **{**c.kwargs, name: change(c.kwargs[name])})
        return c.right()

    return patch


def default(name: str) -> Patch:
    """The argument ``name`` always has its default."""

    def patch(c: Intercepted) -> Any:
        if name not in _places(c.operator):
            return c.right()
        return changed(name, lambda value: _default(c.operator, name))(c)

    return patch


def flipped(name: str) -> Patch:
    """The flag ``name`` means its opposite, where it is given."""
    return changed(name, lambda value: not value)


def another(operator: str) -> Patch:
    """What ``operator`` answers to the same arguments; the right answer where it refuses them."""

    def patch(c: Intercepted) -> Any:
        if c.kwargs.get("out") is not None:
            return c.right()
        try:
            return c.do(operator, *c.args, **c.kwargs)
        except Exception:
            return c.right()

    return patch
