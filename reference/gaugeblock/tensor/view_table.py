"""The functions of this package by the name of the schema that they implement."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from . import metadata, reinterpret, reshaping, splitting, views
from .getters import set_requires_grad

OTHER_NAMES = {
    "view.dtype": "view_dtype", "swapaxes": "transpose", "swapaxes_": "transpose_", "swapdims": "transpose",
    "swapdims_": "transpose_", "numpy_T": "numpy_t", "mT": "matrix_transpose", "mH": "adjoint", "matrix_H": "matrix_h",
    "moveaxis": "movedim", "slice": "slice_dim", "broadcast_to": "expand",
}  # fmt: skip
"""Schema name, or that of all overloads -> function, where that is not called so."""


def _functions(names: str) -> dict[str, Callable[..., Any]]:
    """Return the functions behind schema names."""
    found = {}
    for name in names.split():
        base = name.partition(".")[0]
        function = OTHER_NAMES.get(name, OTHER_NAMES.get(base, base))
        home = next(one for one in (reshaping, views, splitting, reinterpret, metadata) if hasattr(one, function))
        found[name] = getattr(home, function)
    return found


VIEWS = _functions(
    """view view.dtype view_as reshape reshape_as flatten.using_ints unflatten.int ravel contiguous expand expand_as
    broadcast_to permute transpose.int swapaxes swapdims t numpy_T mT matrix_H mH adjoint movedim.int movedim.intlist
    moveaxis.int moveaxis.intlist select.int slice.Tensor narrow narrow.Tensor squeeze squeeze.dim squeeze.dims
    unsqueeze unfold diagonal as_strided split.Tensor split.sizes split_with_sizes chunk tensor_split.sections
    tensor_split.indices tensor_split.tensor_indices_or_sections hsplit.int hsplit.array vsplit.int vsplit.array
    dsplit.int dsplit.array unbind.int detach alias real imag view_as_real view_as_complex conj resolve_conj
    resolve_neg"""
)
"""View operators: schema name -> function with the schema's arguments."""

METADATA = _functions(
    """t_ transpose_ swapaxes_ swapdims_ squeeze_ squeeze_.dim squeeze_.dims unsqueeze_ as_strided_ detach_ resize_
    resize_as_ set_ set_.source_Tensor set_.source_Storage set_.source_Storage_storage_offset
    set_.source_Tensor_storage_offset"""
)
METADATA["requires_grad_"] = set_requires_grad
"""In-place operators on metadata: schema name -> function with the schema's arguments."""

AT_SAME_PLACE = frozenset(
    "adjoint broadcast_to detach expand expand_as flatten moveaxis movedim numpy_T permute ravel reshape reshape_as "
    "squeeze swapaxes swapdims t transpose unflatten unsqueeze view view_as".split()
)
"""Names of views that begin at the first element, whose metadata follow from those of the arguments."""
PLACED = frozenset(
    "chunk conj diagonal dsplit hsplit imag real split split_with_sizes tensor_split unbind unfold view_as_complex "
    "view_as_real vsplit".split()
)
"""Names of views whose metadata and first elements follow from the metadata of the tensor and the plain arguments."""
VARYING = {"narrow": frozenset({"start"}), "select": frozenset({"index"}), "slice": frozenset({"start", "end"})}
"""Views of parts -> the arguments that vary from call to call, so that one entry serves them all."""


RESHAPED = frozenset("squeeze_ swapaxes_ swapdims_ t_ transpose_ unsqueeze_".split())
"""Names of operators that give a tensor the sizes and strides of a view at the same place."""


class ViewFunction(NamedTuple):
    """The function behind the overloads of an operator, whether that is one of AT_SAME_PLACE or RESHAPED, or one of
    PLACED, which ints its entries are given (True for all), and whether it changes its tensor."""

    function: Callable[..., Any]
    at_same_place: bool
    placed: bool
    given: frozenset[str] | bool
    changes: bool


def view_function(name: str, function: Callable[..., Any], *, changes: bool = False) -> ViewFunction:
    """Return the description of a function of the views called `name`."""
    at_same_place, placed = name in AT_SAME_PLACE | RESHAPED, name in PLACED
    return ViewFunction(function, at_same_place, placed, VARYING.get(name, not (at_same_place or placed)), changes)


def view_functions() -> dict[str, ViewFunction]:
    """Return the functions of the overloads without a name of their own, or of all overloads, by operator."""
    found = {**VIEWS, **METADATA}
    behind: dict[str, set[Callable[..., Any]]] = {}
    for name, function in found.items():
        behind.setdefault(name.partition(".")[0], set()).add(found.get(name.partition(".")[0], function))
    single = {name: functions.pop() for name, functions in behind.items() if len(functions) == 1}
    changing = {name.partition(".")[0] for name in METADATA}
    return {name: view_function(name, function, changes=name in changing) for name, function in single.items()}
