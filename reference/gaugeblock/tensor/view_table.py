"""The functions of this package by the name of the schema that they implement."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from . import metadata, reinterpret, reshaping, splitting, views
from .getters import set_requires_grad

VIEWS: dict[str, Callable[..., Any]] = {
    "view": reshaping.view,
    "view.dtype": reinterpret.view_dtype,
    "view_as": reshaping.view_as,
    "reshape": reshaping.reshape,
    "reshape_as": reshaping.reshape_as,
    "flatten.using_ints": reshaping.flatten,
    "unflatten.int": reshaping.unflatten,
    "ravel": reshaping.ravel,
    "contiguous": reshaping.contiguous,
    "expand": views.expand,
    "expand_as": views.expand_as,
    "broadcast_to": views.broadcast_to,
    "permute": views.permute,
    "transpose.int": views.transpose,
    "swapaxes": views.swapaxes,
    "swapdims": views.swapaxes,
    "t": views.t,
    "numpy_T": views.numpy_t,
    "mT": views.matrix_transpose,
    "matrix_H": reinterpret.matrix_h,
    "mH": reinterpret.adjoint,
    "adjoint": reinterpret.adjoint,
    "movedim.int": views.movedim,
    "movedim.intlist": views.movedim,
    "moveaxis.int": views.movedim,
    "moveaxis.intlist": views.movedim,
    "select.int": views.select,
    "slice.Tensor": views.slice_dim,
    "narrow": views.narrow,
    "narrow.Tensor": views.narrow,
    "squeeze": views.squeeze,
    "squeeze.dim": views.squeeze,
    "squeeze.dims": views.squeeze,
    "unsqueeze": views.unsqueeze,
    "unfold": views.unfold,
    "diagonal": views.diagonal,
    "as_strided": views.as_strided,
    "split.Tensor": splitting.split,
    "split.sizes": splitting.split_with_sizes,
    "split_with_sizes": splitting.split_with_sizes,
    "chunk": splitting.chunk,
    "tensor_split.sections": splitting.tensor_split,
    "tensor_split.indices": splitting.tensor_split,
    "tensor_split.tensor_indices_or_sections": splitting.tensor_split,
    "hsplit.int": splitting.hsplit,
    "hsplit.array": splitting.hsplit,
    "vsplit.int": splitting.vsplit,
    "vsplit.array": splitting.vsplit,
    "dsplit.int": splitting.dsplit,
    "dsplit.array": splitting.dsplit,
    "unbind.int": splitting.unbind,
    "detach": metadata.detach,
    "alias": views.alias,
    "real": reinterpret.real,
    "imag": reinterpret.imag,
    "view_as_real": reinterpret.view_as_real,
    "view_as_complex": reinterpret.view_as_complex,
    "conj": reinterpret.conj,
    "resolve_conj": reinterpret.resolve_conj,
    "resolve_neg": reinterpret.resolve_neg,
}
"""View operators: schema name -> function with the schema's arguments."""

METADATA: dict[str, Callable[..., Any]] = {
    "t_": metadata.t_,
    "transpose_": metadata.transpose_,
    "swapaxes_": metadata.swapaxes_,
    "swapdims_": metadata.swapaxes_,
    "squeeze_": metadata.squeeze_,
    "squeeze_.dim": metadata.squeeze_,
    "squeeze_.dims": metadata.squeeze_,
    "unsqueeze_": metadata.unsqueeze_,
    "as_strided_": metadata.as_strided_,
    "detach_": metadata.detach_,
    "resize_": metadata.resize_,
    "resize_as_": metadata.resize_as_,
    "set_": metadata.set_,
    "set_.source_Tensor": metadata.set_,
    "set_.source_Storage": metadata.set_,
    "set_.source_Storage_storage_offset": metadata.set_,
    "set_.source_Tensor_storage_offset": metadata.set_,
    "requires_grad_": set_requires_grad,
}
"""In-place operators on metadata: schema name -> function with the schema's arguments."""

AT_SAME_PLACE = frozenset(
    "broadcast_to detach expand expand_as flatten moveaxis movedim numpy_T permute ravel reshape reshape_as squeeze "
    "swapaxes swapdims t transpose unflatten unsqueeze view view_as".split()
)
"""Names of views whose metadata and first element follow from the metadata of the tensor and the other arguments."""


class ViewFunction(NamedTuple):
    """The function behind the overloads of an operator, and whether that is one of AT_SAME_PLACE."""

    function: Callable[..., Any]
    at_same_place: bool


def view_functions() -> dict[str, ViewFunction]:
    """Return the functions of the overloads without a name of their own, or of all overloads, by operator."""
    found = {**VIEWS, **METADATA}
    behind: dict[str, set[Callable[..., Any]]] = {}
    for name, function in found.items():
        behind.setdefault(name.partition(".")[0], set()).add(found.get(name.partition(".")[0], function))
    single = {name: functions.pop() for name, functions in behind.items() if len(functions) == 1}
    return {name: ViewFunction(function, name in AT_SAME_PLACE) for name, function in single.items()}
