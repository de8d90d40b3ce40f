"""Forward mode: a dual number is a tensor with its tangent, and every call computes the tangent of its result.

How depends on the row. A view of a dual is a view of its tangent. A pointwise operator applies its derivative to the
tangents; a row may say what to do (`tangent` in the spec). Otherwise the derivative itself is transposed: the gradient,
as a function of the gradient of the result, is linear, and its own gradient is what forward mode asks for.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ..calls.functions import ops
from ..core.away import carried
from ..dispatch.dispatcher import call
from ..dispatch.keys import map_tensors, tensors_in
from ..dispatch.operator import Operator
from ..dispatch.state import STATE
from ..operators.rows import rows
from ..tensor.tensor import Tensor
from ..tensor.tensor_meta import CONJUGATE, NEGATIVE, without_autograd
from .autograd_meta import differentiable, more_of, requires_grad
from .backward import grad
from .below_autograd import below
from .expressions import expression
from .formulas import Derivative, derivatives, result_names
from .grad_mode import enable_grad
from .node import COUNTER, zeros_of
from .saved_tensor import WithTangent
from .view_history import CopySlices, Window


class _Dual:
    """The number of open levels of dual numbers; `epoch` tells the tangents of one level from those of earlier ones.
    `saved` are the tangents that nodes keep, which may lead back to the node: they go when the level is closed."""

    __slots__ = ("epoch", "level", "saved")

    def __init__(self) -> None:
        self.level = 0
        self.epoch = 0
        self.saved: weakref.WeakSet[WithTangent] = weakref.WeakSet()

    def close(self) -> None:
        """Close the level: its dual numbers are ordinary tensors again."""
        self.level -= 1
        self.epoch += 1
        for one in self.saved:
            one.tangent = None
        self.saved.clear()


class _Paused(threading.local):
    """Whether this thread is computing tangents, which themselves have none."""

    value: bool = False


DUAL = _Dual()
PAUSED = carried(_Paused())


class Pause:
    """While a tangent is computed calls do what they do outside forward mode."""

    def __enter__(self) -> None:
        self.before, PAUSED.value = PAUSED.value, True

    def __exit__(self, *error: object) -> None:
        PAUSED.value = self.before


def is_differentiated() -> bool:
    """Return whether calls are recorded, or dual numbers may be about."""
    return STATE.grad or bool(DUAL.level and not PAUSED.value)


def tangent_of(value: Any) -> Tensor | None:
    """The tangent of a dual number, None for anything else."""
    if not isinstance(value, Tensor) or value.autograd is None or not DUAL.level:
        return None
    more = value.autograd.more
    return None if more is None or more.tangent is None or more.epoch != DUAL.epoch else more.tangent


def check_sizes(tensor: Any, tangent: Any) -> None:
    """RuntimeError unless a tangent has the sizes of its tensor."""
    if tangent.meta.sizes != tensor.meta.sizes:
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
            f"supported. Tensor is of size {list(tensor.shape)} while the given forward gradient is of size "
            f"{list(tangent.shape)}."
        )


def set_tangent(tensor: Tensor, tangent: Tensor | None) -> None:
    """Make a tensor a dual number."""
    if tangent is not None:
        meta = without_autograd(tensor.meta)
        if tangent.meta.strides != meta.strides and meta.dense and meta.numel > 1:
            # In the strides of its tensor, what is a view of the one may be a view of the other.
            laid: Any = ops.empty_strided(meta.sizes, meta.strides, dtype=meta.dtype, device=meta.device)
            tangent = laid.copy_(tangent)
        more = more_of(tensor)
        more.tangent, more.epoch = tangent, DUAL.epoch


def detached(tensor: Tensor) -> Tensor:
    """Return the tensor without its history, and with a tangent without history if it is a dual number."""
    tangent = tangent_of(tensor)
    with Pause():
        made: Tensor = tensor.detach()  # type: ignore[attr-defined]
        set_tangent(made, None if tangent is None else tangent.detach())  # type: ignore[attr-defined]
    return made


def saved_with(kept: Any, tangent: Tensor | None) -> Any:
    """Return what a node keeps of a tensor with this tangent, in place of what it `kept` without."""
    if kept is None or tangent is None:
        return kept
    made = WithTangent(kept, tangent, DUAL.epoch)
    DUAL.saved.add(made)
    return made


def _save_tangents(result: Any, since: int, tangents: Mapping[str, Any]) -> None:
    """Let the node that has recorded a call, if one has `since`, keep the tangents of what it saved."""
    parts = [one for one in _parts(result) if isinstance(one, Tensor) and one.autograd is not None]
    whole = next((one if one.base is None else one.base for one in parts), None)
    node: Any = None if whole is None or whole.autograd is None else whole.autograd.grad_fn
    node = node.node if isinstance(node, CopySlices) else node
    if node is None or node.sequence < since:
        return
    for name, _ in node.formulas.values:
        place = node.formulas.results.get(name)
        tangent: Any = tangents[name] if place is None else tangent_of(_parts(result)[place])
        kept = getattr(node, f"v_{name}")
        if name in node.formulas.lists:
            kept = tuple(map(saved_with, kept, tangent or ()))
        else:
            kept = saved_with(kept, tangent)
        setattr(node, f"v_{name}", kept)


def has_tangent(values: Sequence[Any]) -> bool:
    """Return whether any value, or any item of a list, is a dual tensor."""
    return any(tangent_of(one) is not None for one in tensors_in(values))


def outside(
    operator: Operator, kind: str, row_name: str, record: Callable[..., Any], args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
) -> Any:  # fmt: skip
    """A call while nothing is recorded, or while dual numbers are about; `record`, paused, does nothing but record."""
    dual = DUAL.level and not PAUSED.value and has_tangent((*args, *kwargs.values()))
    if not dual and not STATE.grad:
        return below(operator, args, kwargs)
    run = record if STATE.grad else lambda *given, **options: below(operator, given, options)
    with Pause():
        if not dual:
            return run(*args, **kwargs)
        defaults = {a.name: a.default_value if a.default is not None else None for a in operator.schema.arguments}
        given = defaults | operator.by_name(args, kwargs)
        held = {name: map_tensors(tangent_of, value) for name, value in given.items()}
        since = next(COUNTER)
        if kind == "inplace":
            tangents: Any = _transposed(operator, given, inplace=True)
            written = next(iter(given))
            held[written] = None if held[written] is None else held[written].clone()
            result = run(*args, **kwargs)
            _write(result, _own(tangents[0], given))
            _save_tangents(result, since, held)
            return result
        result = run(*args, **kwargs)
        tangents = _result_tangents(operator, kind, row_name, given, result)
        for one, tangent in zip(_parts(result), tangents, strict=True):
            if isinstance(one, Tensor) and tangent is not None:
                set_tangent(one, tangent if _shares(one, tensors_in(given.values())) else _own(tangent, given))
        _save_tangents(result, since, held)
    return result


def _shares(tensor: Tensor, others: Iterable[Tensor | None]) -> bool:
    return any(one is not None and one.storage_impl is tensor.storage_impl for one in others)


def _own(tangent: Any, given: Mapping[str, Any]) -> Any:
    """Return the tangent of a new result, copied if it shares memory with the tangent of an argument."""
    if tangent is None or not _shares(tangent, map(tangent_of, tensors_in(given.values()))):
        return tangent
    return tangent.clone()


def _write(tensor: Tensor, tangent: Tensor | None) -> None:
    """Put a tangent where an in-place write put the value: into the tangent there is, which views may share."""
    held = tangent_of(tensor)
    if tangent is None:
        return
    if held is not None:
        held.copy_(tangent)  # type: ignore[attr-defined]
        return
    base = tensor.base
    if base is not None:
        whole: Any = ops.zeros_like(base)
        set_tangent(base, whole)
        tangent = _written(whole, Window(base, tensor), tangent)
    set_tangent(tensor, tangent)


def _written(whole: Any, window: Window, tangent: Any) -> Tensor:
    """Write the tangent of a view into that of its base; the part of the base's where that is a view of it."""
    source = ops.view_as_real(whole) if window.pairs_of_base else whole
    part: Any = source.as_strided(window.size, window.stride, window.offset + source.storage_offset())
    part = ops.view_as_complex(part) if window.pairs_of_view else part
    part = part.conj() if window.lazy & CONJUGATE and part.is_complex() else part
    if window.lazy & NEGATIVE:
        part.copy_(-tangent)
        return tangent  # type: ignore[no-any-return]
    return part.copy_(tangent)  # type: ignore[no-any-return]


def _invoke(operator: Operator, given: Mapping[str, Any]) -> Any:
    schema = operator.schema
    positional = [given[argument.name] for argument in schema.positional]
    return call(operator, *positional, **{argument.name: given[argument.name] for argument in schema.keyword_only})


def _parts(result: Any) -> tuple[Any, ...]:
    return tuple(result) if isinstance(result, (list, tuple)) else (result,)


def _result_tangents(
    operator: Operator, kind: str, row_name: str, given: dict[str, Any], result: Any
) -> Sequence[Tensor | None]:
    derivative = derivatives().get(row_name)
    row = rows().get(row_name)
    tangent = None if derivative is None else derivative.tangent
    if isinstance(tangent, dict):
        return _expressed(operator, row_name, tangent, given, result)
    if tangent == "linear" or kind == "view":
        linear = {
            name: _tangents(value) if operator.schema.argument(name).base_type == "Tensor" else value
            for name, value in given.items()
        }
        return _parts(_invoke(operator, linear))
    if row is not None and row.family == "pointwise" and derivative is not None and len(_parts(result)) == 1:
        return (_elementwise(operator, derivative, given, result),)
    return _transposed(operator, given)


def _tangents(value: Any) -> Any:
    """An argument with its tangents, zeros where it has none; what is not differentiable stays as it is."""

    def tangent(one: Tensor) -> Any:
        found = tangent_of(one)
        return found if found is not None else ops.zeros_like(one) if differentiable(one) else one

    return map_tensors(tangent, value)


def _expressed(
    operator: Operator, row_name: str, texts: Mapping[str, str], given: dict[str, Any], result: Any
) -> Sequence[Tensor | None]:
    """The tangents by the row's own expressions."""
    names = result_names(operator.schema)
    results = _parts(result)
    values = {
        **given,
        **{f"{name}_t": _tangents(value) for name, value in given.items()},
        **{name: results[place] for name, place in names.items() if place < len(results)},
    }
    found: list[Tensor | None] = [None] * len(results)
    for name, text in texts.items():
        found[names[name]] = expression(text, frozenset(), False).value(values, f"tangent of {row_name}")
    return found


def _elementwise(operator: Operator, derivative: Derivative, given: dict[str, Any], result: Tensor) -> Tensor | None:
    """The sum over the inputs of the derivative at the input's tangent, for a function of single elements."""
    total: Any = None
    for names, text in derivative.formulas:
        tangents = [tangent_of(given[name]) for name in names]
        if all(one is None for one in tangents):
            continue
        one = expression(text, frozenset(), False)
        for place, tangent in enumerate(tangents):
            if tangent is None:
                continue
            conjugated: Any = tangent.expand(result.meta.sizes).conj()  # type: ignore[attr-defined]
            needed = tuple(at == place for at in range(len(names)))
            names_given = {**given, "grad": conjugated, "result": result, "needed": needed}
            part = one.value(names_given, f"tangent of {operator.name}")
            part = (part if len(names) == 1 else part[place]).conj()
            total = part if total is None else total + part
    if total is None:
        return None
    meta = without_autograd(result.meta)
    if total.meta.dtype is not meta.dtype:
        total = total.real if total.meta.dtype.is_complex and not meta.dtype.is_complex else total
        total = total.to(meta.dtype)
    expanded: Tensor = total.expand(meta.sizes)
    return expanded


def _transposed(operator: Operator, given: dict[str, Any], *, inplace: bool = False) -> Sequence[Tensor | None]:
    """The tangents by differentiating the derivative with respect to the gradient that goes in."""
    duals = [one for tensor in tensors_in(given.values()) for one in (tensor, tangent_of(tensor)) if one is not None]
    recording = STATE.grad and any(map(requires_grad, duals))
    inputs: list[Tensor] = []
    tangents: list[Tensor] = []

    def alias(value: Any) -> Any:
        tangent = tangent_of(value)
        if tangent is None:
            return value
        own = value.view_as(value) if recording and requires_grad(value) else value.detach().requires_grad_()
        inputs.append(own)
        tangents.append(tangent.clone() if inplace and recording else tangent)  # type: ignore[attr-defined]
        return own

    with enable_grad():
        aliased = map_tensors(alias, given)
        if inplace:
            first = next(iter(aliased))
            aliased[first] = aliased[first].clone()
        parts = _parts(_invoke(operator, aliased))
        results = [one if isinstance(one, Tensor) and requires_grad(one) else None for one in parts]
        outputs = [one for one in results if one is not None]
        if not outputs:
            return [None] * len(results)
        probes: list[Any] = [zeros_of(one.meta, requires_grad=True) for one in outputs]
        gradients = grad(outputs, inputs, probes, create_graph=True, allow_unused=True)
        pairs = [(g, t) for g, t in zip(gradients, tangents, strict=True) if g is not None and requires_grad(g)]
        if not pairs:
            found: Sequence[Any] = [zeros_of(one.meta) for one in outputs]
        else:
            found = grad(
                [g for g, _ in pairs], probes, [t.expand(g.meta.sizes) for g, t in pairs],  # type: ignore[attr-defined]
                create_graph=recording, allow_unused=True, materialize_grads=True,
            )  # fmt: skip
    order = iter(found)
    return [None if one is None else next(order) for one in results]
