"""Autograd kernels: what stands before an operator's own kernel when one of its tensors has the Autograd key.

An autograd kernel unpacks its arguments into plain tensors and edges, runs the operator on the plain ones, and gives
the result a node with what its derivative needs. `resolve` says which kernel a call gets. Most are
generated per operator from the derivative of its row, see `variable_type_source.py`; the others are written by hand,
see `variable_type_manual.py`.
"""

from __future__ import annotations

import functools
import keyword
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from gaugeblock_spec.schema import Schema

from ..calls.binding import bind_operator
from ..calls.functions import ops
from ..core.memory_format import contiguous_format
from ..dispatch.dispatcher import REGISTRY, run_entry
from ..dispatch.keys import AUTOGRAD_KEYS, AUTOGRAD_MASK, FUNCTIONALITY_BIT, any_autograd, runtime_key
from ..dispatch.operator import Operator, Registration, Resolved
from ..dispatch.state import STATE
from ..memory.storage import new_object
from ..operators.composites import result_type
from ..operators.rows import row_of_form, rows
from ..tensor.tensor import Tensor
from . import variable_type_manual as manual
from .anomaly import ANOMALY, note_origin
from .autograd_meta import result_of, unpack, version
from .below_autograd import below, unrecorded_view
from .formulas import compiled, derivatives, maker_of, node_class
from .forward_mode import DUAL, PAUSED, outside
from .node import COUNTER, Node, accumulator_of
from .recorded_call import recorder_of
from .saved_tensor import PACKING, saved
from .variable_type_source import kernel_source, passing_source
from .view_history import DEFAULT, check_inplace, creation_by, rebase, recorded_edge, view_of


def unwrap(tensor: Any) -> tuple[Any, Any]:
    """Return the plain tensor of one with the Autograd key, and where its gradient goes."""
    meta = tensor.autograd
    if meta is None:
        return unpack(tensor), None
    if meta.grad_fn is None and tensor.base is None:
        return meta.plain, (accumulator_of(tensor), 0) if tensor.requires_grad_flag else None
    if meta.grad_fn is not None and meta.view is None:
        return meta.plain, (meta.grad_fn, meta.output_nr)
    return meta.plain, recorded_edge(tensor)


def unwrap_list(tensors: Any) -> tuple[Any, Any]:
    """Return plain tensors and edges of a list, which may hold None; None for the edges if there are none."""
    pairs = [(one, None) if one is None or not one.meta.has_autograd else unwrap(one) for one in tensors]
    edges = tuple([edge for _, edge in pairs])
    plain = type(tensors)([one for one, _ in pairs]) if type(tensors) in (list, tuple) else [one for one, _ in pairs]
    return plain, None if all(edge is None for edge in edges) else edges


def plain_list(tensors: Any) -> Any:
    """Return a list with what kernels get for its tensors."""
    return [one if one is None else unpack(one) for one in tensors]


def exact(tensors: Any) -> bool:
    """Return whether no tensor in a list, which may hold None, belongs to a subclass."""
    return all(one is None or one.__class__ is Tensor for one in tensors)


def number_operand(number: Any, *others: Any) -> Tensor:
    """A number that stands where a tensor may: a tensor without dims, of the dtype that the call computes in."""
    tensor = next(one for one in others if isinstance(one, Tensor))
    made: Tensor = ops.scalar_tensor(number, dtype=result_type(tensor, number), device=tensor.device)
    return made


def view_results(base: Tensor, results: Any, node: Any) -> Any:
    """One or several results that may be views of `base`; those that share nothing with it are ordinary results."""
    maker = maker_of(node)
    if isinstance(results, Tensor):
        return view_result(base, results, node, 0, DEFAULT, maker)
    creation = creation_by(maker)
    return type(results)([view_result(base, one, node, nr, creation, maker) for nr, one in enumerate(results)])


def view_result(base: Tensor, plain: Tensor, node: Any, nr: int, creation: str, maker: str) -> Tensor:
    """Return the recorded view of `base`; an ordinary result if it shares nothing with it."""
    if plain.storage_impl is not base.storage_impl:
        return result_of(plain, node, nr)
    return view_of(base, plain, node, nr, creation, maker)


def generated(operator: Operator, kind: str, row_name: str) -> Callable[..., Any]:
    """The autograd kernel of an operator with a derivative."""
    schema = without_keywords(operator.schema)
    row_schema = schema if row_name == operator.name else without_keywords(REGISTRY.find(row_name).schema)
    real, formulas = node_class(row_name, row_schema, True)

    # Few operators ever meet a complex tensor: the class for one is made when that happens.
    @functools.cache
    def complex_class() -> type[Node]:
        return node_class(row_name, row_schema, False)[0]

    names: dict[str, Any] = {
        "ANOMALY": ANOMALY, "COUNTER": COUNTER, "DEFAULT": DEFAULT, "DUAL": DUAL, "MAKER": maker_of(real),
        "PACKING": PACKING, "PAUSED": PAUSED, "Real": real, "STATE": STATE, "Tensor": Tensor, "below": below,
        "check_inplace": check_inplace, "complex_class": complex_class, "contiguous_format": contiguous_format,
        "exact": exact,
        "kind": kind, "new": new_object, "note_origin": note_origin, "number_operand": number_operand,
        "operator": operator, "outside": outside, "plain_list": plain_list, "rebase": rebase, "result_of": result_of,
        "results_of": manual.results_of, "row_name": row_name, "run": bind_operator(operator), "saved": saved,
        "unpack": unpack, "unrecorded_view": unrecorded_view, "unwrap": unwrap, "unwrap_list": unwrap_list,
        "version": version, "view_result": view_result, "view_results": view_results,
    }  # fmt: skip
    source = kernel_source(schema, formulas, kind)
    record: Callable[..., Any] = compiled(f"autograd kernel of {operator.name}", source, names, "record")
    if kind in ("fresh", "view"):
        record.recorded = recorder_of(kind, schema, names["run"], real)  # type: ignore[attr-defined]
    names["record"] = record
    return record


def kind_of(schema: Schema) -> str:
    """ "out", "inplace", "view" or "fresh"."""
    if schema.is_out:
        return "out"
    if any(one.alias is not None and one.alias.mutable for one in schema.returns):
        return "inplace"
    return "view" if any(one.alias is not None for one in schema.returns) else "fresh"


def quickly_passing(operator: Operator, kind: str) -> Callable[..., Any]:
    """Return a kernel that calls an operator without a derivative, and records nothing."""
    source = passing_source(without_keywords(operator.schema)) if kind == "fresh" else None
    if source is None:
        return manual.passing(operator)
    names = {
        "below": below, "contiguous_format": contiguous_format, "DUAL": DUAL, "operator": operator, "unpack": unpack,
        "run": bind_operator(operator), "Tensor": Tensor, "exact": exact, "plain_list": plain_list,
    }  # fmt: skip
    passes: Callable[..., Any] = compiled(f"autograd kernel of {operator.name}", source, names, "record")
    return passes


def autograd_kernel_of(operator: Operator) -> Callable[..., Any]:
    """Return the autograd kernel of an operator that has kernels for backends only."""
    schema = operator.schema
    kind = kind_of(schema)
    name = operator.name
    found = derivatives().get(name)
    row_name = name
    if found is None and name in row_of_form():
        row_name = row_of_form()[name]
        found = derivatives().get(row_name)
    if kind == "out":
        composite = REGISTRY.find(row_name).has_kernel("CompositeImplicitAutograd")
        loses = composite if found is None else found.kind != "none"
        return manual.refusing_out(operator, loses)
    if name in manual.VIEW_OF_INPLACE:
        return manual.metadata_inplace(operator, REGISTRY.find(manual.VIEW_OF_INPLACE[name]))
    if name == "set_.source_Tensor":
        return manual.rebinding(operator)
    if operator.derivative is not None:
        return manual.registered_kernel(operator)
    if found is None:
        row = rows().get(row_of_form().get(name, name))
        numbers = row is None or row.result not in ("bool", "int64", "truth", "number")
        return manual.refusing(operator) if numbers else quickly_passing(operator, kind)
    if found.kind == "none":
        return quickly_passing(operator, kind)
    if found.kind == "composite":
        return manual.composite_inplace(operator, row_name) if row_name != name else manual.composite(operator)
    return generated(operator, kind, row_name)


def without_keywords(schema: Schema) -> Schema:
    """The schema with an underscore behind names that Python keeps for itself (``from``)."""
    if not any(keyword.iskeyword(argument.name) for argument in schema.arguments):
        return schema
    named = [a._replace(name=f"{a.name}_") if keyword.iskeyword(a.name) else a for a in schema.arguments]
    return replace(schema, arguments=tuple(named))


def resolve(operator: Operator, mask: int) -> Resolved:
    """Return the autograd kernel for a key set. It is the operator itself below autograd, and its own kernel where that
    belongs to autograd."""
    if not mask & AUTOGRAD_MASK:
        return _plain(lambda *args, **kwargs: below(operator, args, kwargs, mask))
    if mask & SPARSE_MASK:
        from .sparse_gradients import sparse_kernel

        return _plain(sparse_kernel(operator))
    found = REGISTRY.resolve(operator, mask)
    composed = False  # of other operators; the spec's derivatives of the whole go before theirs
    if found.entry.label == "math kernel":
        row = derivatives().get(operator.name) or derivatives().get(row_of_form().get(operator.name, ""))
        composed = row is not None and row.kind == "formulas"
    if runtime_key(found.mask) in AUTOGRAD_KEYS and found.entry.function is not None and not composed:
        if not found.entry.boxed and not found.entry.with_keys:
            return _plain(found.entry.function)
        return _plain(lambda *args, **kwargs: run_entry(operator, found, args, kwargs))
    if mask > HIGHEST_AUTOGRAD and runtime_key(found.mask) not in AUTOGRAD_KEYS and found.mask > HIGHEST_AUTOGRAD:
        return found._replace(mask=found.mask | mask & AUTOGRAD_MASK)
    return _plain(autograd_kernel_of(operator))


def guarded(operator: Operator, found: Resolved, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Resolved:
    """Return the kernel; if a tensor has the Autograd key, one that unpacks it first."""
    if not any_autograd(args, kwargs):
        return found
    return _plain(lambda *given, **options: below(operator, given, options, found.mask))


SPARSE_MASK = FUNCTIONALITY_BIT["Sparse"] | FUNCTIONALITY_BIT["SparseCsr"]
HIGHEST_AUTOGRAD = (1 << (AUTOGRAD_MASK.bit_length())) - 1
"""Key sets above this have a functionality that comes before autograd."""


def _plain(function: Callable[..., Any]) -> Resolved:
    return Resolved(Registration(function, "autograd kernel"), AUTOGRAD_MASK, True)


REGISTRY.autograd, REGISTRY.guard = resolve, guarded
