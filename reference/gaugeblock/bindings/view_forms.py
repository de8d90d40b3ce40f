"""Bindings of the views that are called most: t, transpose, expand and detach find the geometry of the view in that of
the tensor and make the view on the spot."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..tensor.metadata import detach
from ..tensor.views import expand, t, transpose
from .caller import Caller
from .direct import CHOICE
from .dispatched import through
from .generate import indent

VIEW = """\
view = new(Tensor)
view._geometry = {geometry}
view._storage_impl = {self}.storage_impl
view._offset = {self}.offset
view._pointer = {self}.pointer
base = {self}.base
if base is None:
    {self}.viewed = True
    view.base = {self}
else:
    view.base = base
view.counter = {self}.counter
view.autograd = None
view.requires_grad_flag = False
return view
"""
Form = tuple[str, dict[str, Any]]
"""Source of the function, and the names that it uses beside the shared ones."""


def _head(name: str, function: str, self: str, parameters: str, passed: str) -> str:
    return (
        f"def {function}({self}{parameters}):\n"
        f"    if SPECIAL_VIEWS or {self}.__class__ is not Tensor:\n"
        f"        return {CHOICE.format(name=name)}({self}{passed})\n"
    )


def _names(name: str, caller: Caller, direct: Callable[..., Any], operator: str) -> dict[str, Any]:
    """The general path, the view of a plain tensor, and that of a watched one."""
    return {f"slow_{name}": caller, f"direct_{name}": direct, f"watched_{name}": through(operator)}


def t_form(name: str, self: str, caller: Caller) -> Form:
    """``x.t()``."""
    text = _head(name, "t", self, "", "") + (
        f"    other = {self}.geometry.transposed\n    if other is None:\n"
        f"        return watched_{name}({self}) if {self}.geometry.watched else direct_{name}({self})\n"
    )
    return text + indent(VIEW.format(geometry="other", self=self), 1), _names(name, caller, t, "t")


def detach_form(name: str, self: str, caller: Caller) -> Form:
    """``x.detach()``."""
    text = (
        f"def detach({self}):\n    if SPECIAL or {self}.__class__ is not Tensor:\n        return slow_{name}({self})\n"
        f"    return direct_{name}({self})\n"
    )
    return text, {f"slow_{name}": caller, f"direct_{name}": detach}


def transpose_form(name: str, self: str, caller: Caller) -> Form:
    """``x.transpose(0, 1)``; dims that are no ints, and calls with other names, are judged by the general path."""
    text = (
        f"def transpose({self}, dim0=None, dim1=None, **more):\n"
        f"    if SPECIAL_VIEWS or {self}.__class__ is not Tensor or dim0.__class__ is not int"
        f" or dim1.__class__ is not int or more:\n"
        f"        if dim1 is not None:\n"
        f"            return {CHOICE.format(name=name)}({self}, dim0, dim1, **more)\n"
        f"        return {CHOICE.format(name=name)}({self}, *(() if dim0 is None else (dim0,)), **more)\n"
        f"    other = {self}.geometry.views.get(('transpose', dim0, dim1))\n"
        f"    if other is None:\n"
        f"        made = watched_{name} if {self}.geometry.watched else direct_{name}\n"
        f"        return made({self}, dim0, dim1)\n"
    ) + indent(VIEW.format(geometry="other", self=self), 1)
    return text, _names(name, caller, transpose, "transpose.int")


def expand_form(name: str, self: str, caller: Caller) -> Form:
    """``x.expand(2, 3)`` and ``x.expand((2, 3))``; a geometry kept for ints is not taken for floats equal to them."""
    text = (
        f"def expand({self}, *size, **more):\n"
        f"    if SPECIAL_VIEWS or {self}.__class__ is not Tensor or more:\n"
        f"        return {CHOICE.format(name=name)}({self}, *size, **more)\n"
        f"    if len(size) == 1 and size[0].__class__ is not int:\n"
        f"        sizes = size[0]\n"
        f"        if sizes.__class__ is not tuple:\n"
        f"            if not isinstance(sizes, (list, tuple)):\n"
        f"                return slow_{name}({self}, *size)\n"
        f"            sizes = tuple(sizes)\n"
        f"    else:\n"
        f"        sizes = size\n"
        f"    for one in sizes:\n"
        f"        if one.__class__ is not int:\n"
        f"            return slow_{name}({self}, *size)\n"
        f"    other = {self}.geometry.views.get(sizes)\n"
        f"    if other is None:\n"
        f"        return (watched_{name} if {self}.geometry.watched else direct_{name})({self}, sizes)\n"
    ) + indent(VIEW.format(geometry="other", self=self), 1)
    return text, _names(name, caller, expand, "expand")


FORMS: dict[str, Callable[[str, str, Caller], Form]] = {
    "t": t_form,
    "detach": detach_form,
    "transpose": transpose_form,
    "expand": expand_form,
}
"""Public names with a form of their own."""
