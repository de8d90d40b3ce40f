"""Products with Jacobians and Hessians of functions of tensors: vjp, jvp, vhp, hvp, jacobian, hessian."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

from ..calls.functions import ops
from ..core.errors import type_error
from ..tensor.tensor import Tensor
from . import forward_ad
from .autograd_meta import requires_grad
from .backward import grad
from .grad_mode import enable_grad

Tensors = tuple[Tensor, ...]


def _tuple(function: str, what: str, value: Any) -> tuple[Tensors, bool]:
    """The tensors, and whether there was a tuple. TypeError for anything else."""
    several = isinstance(value, (tuple, list))
    members = tuple(value) if several else (value,)
    for one in members:
        if not isinstance(one, Tensor):
            type_error(function, what, one, "Tensor or tuple of Tensors")
    return members, several


def _inputs(function: str, func: Any, inputs: Any) -> tuple[Tensors, bool]:
    """The input tensors, and whether there was a tuple. TypeError for anything else, and unless `func` is callable."""
    if not callable(func):
        type_error(function, "func", func, "a function of Tensors")
    return _tuple(function, "inputs", inputs)


def _outputs(function: str, value: Any) -> tuple[Tensors, bool]:
    return _tuple(function, "outputs of the user-provided function", value)


def _unpack(values: Any, several: bool) -> Any:
    return tuple(values) if several else values[0]


def _prepared(inputs: Tensors, *, create: bool) -> Tensors:
    """Fresh handles that require gradients, part of the caller's graph when that is to be extended."""

    def own(one: Any) -> Any:
        return one.view_as(one) if create and requires_grad(one) else one.detach().requires_grad_()

    return tuple(map(own, inputs))


def _cotangents(function: str, outputs: Tensors, v: Any) -> Tensors:
    if v is None:
        if len(outputs) != 1 or outputs[0].meta.numel != 1:
            raise RuntimeError(
                f"{function}(): the vector v can only be None if the user-provided function returns a single Tensor "
                "with a single element."
            )
        return (ops.ones_like(outputs[0]),)
    given, _ = _tuple(function, "v", v)
    if len(given) != len(outputs):
        raise RuntimeError(
            f"{function}(): v is a tuple of invalid length: should be {len(outputs)} but got {len(given)}"
        )
    for place, (one, output) in enumerate(zip(given, outputs, strict=True)):
        if one.meta.sizes != output.meta.sizes:
            raise RuntimeError(
                f"{function}(): v has invalid size at place {place}: should be {list(output.shape)} but got "
                f"{list(one.shape)}"
            )
    return given


def _refuse(function: str, what: str) -> NoReturn:
    raise RuntimeError(f"{function}(): {what}. This is not allowed in strict mode.")


def _finished(values: Any, several: bool, *, create: bool) -> Any:
    """One value or a tuple of several, without history unless the graph is to be extended."""
    return _unpack(values if create else [one.detach() for one in values], several)


def vjp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """``(func(*inputs), v^T J)``. RuntimeError for a v of other sizes; TypeError for what are no tensors."""
    given, several = _inputs("vjp", func, inputs)
    with enable_grad():
        ins = _prepared(given, create=create_graph)
        outs, many = _outputs("vjp", func(*ins))
        vectors = _cotangents("vjp", outs, v)
        found = pulled_back(outs, ins, vectors, create=create_graph, strict="vjp" if strict else "")
    return _finished(outs, many, create=create_graph), _finished(found, several, create=create_graph)


def pulled_back(
    outputs: Sequence[Tensor], inputs: Sequence[Tensor], vectors: Sequence[Tensor], *, create: bool, strict: str = ""
) -> list[Tensor]:
    """Return the gradients of inputs for those of outputs, zeros where nothing depends on an input. For the function
    called `strict` that is a RuntimeError."""
    pairs = [(one, vector) for one, vector in zip(outputs, vectors, strict=True) if requires_grad(one)]
    found: Sequence[Any] = [None] * len(inputs)
    if pairs:
        roots, weights = zip(*pairs, strict=True)
        found = grad(roots, inputs, weights, create_graph=create, retain_graph=True, allow_unused=True)
    for place, one in enumerate(found if strict else ()):
        if one is None:
            _refuse(strict, f"the output of the user-provided function is independent of input {place}")
    return [ops.zeros_like(tensor) if one is None else one for one, tensor in zip(found, inputs, strict=True)]


def jvp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """``(func(*inputs), J v)``, in one pass of forward mode. Raises as vjp."""
    given, _ = _inputs("jvp", func, inputs)
    vectors = _cotangents("jvp", given, v)
    ins = tuple(given) if create_graph else tuple(one.detach() for one in given)  # type: ignore[attr-defined]
    with forward_ad.dual_level():
        duals = [forward_ad.make_dual(one, vector) for one, vector in zip(ins, vectors, strict=True)]
        outs, many = _outputs("jvp", func(*duals))
        parts = [forward_ad.unpack_dual(one) for one in outs]
    tangents = []
    for place, part in enumerate(parts):
        if part.tangent is None and strict:
            _refuse("jvp", f"output {place} of the user-provided function is independent of the inputs")
        tangents.append(ops.zeros_like(part.primal) if part.tangent is None else part.tangent)
    values = [part.primal for part in parts]
    return _finished(values, many, create=create_graph), _finished(tangents, many, create=create_graph)


def jacobian(
    func: Callable[..., Any], inputs: Any, create_graph: bool = False, strict: bool = False, vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:  # fmt: skip
    """All derivatives of all outputs by all inputs: tensors of the output's sizes followed by the input's.

    A tuple for several inputs, of tuples for several outputs. `strategy` is "reverse-mode", a pass for each element of
    the outputs, or "forward-mode", one for each element of the inputs. ValueError for another strategy.
    """
    if strategy not in ("reverse-mode", "forward-mode"):
        raise ValueError(f'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: got {strategy!r}.')
    given, several = _inputs("jacobian", func, inputs)
    forward = strategy == "forward-mode"
    parts, many = _forward(func, given, create_graph) if forward else _reverse(func, given, create_graph, strict)
    return _unpack([_finished(part, several, create=create_graph) for part in parts], many)


def _reverse(func: Any, given: Tensors, create: bool, strict: bool) -> tuple[list[list[Tensor]], bool]:
    with enable_grad():
        ins = _prepared(given, create=create)
        outs, many = _outputs("jacobian", func(*ins))
        parts = []
        for out in outs:
            if strict and not requires_grad(out):
                _refuse("jacobian", "the output of the user-provided function is independent of the inputs")
            name = "jacobian" if strict else ""
            rows = [pulled_back((out,), ins, (unit,), create=create, strict=name) for unit in _units(out)]
            parts.append([_stacked([row[place] for row in rows], 0, out, one) for place, one in enumerate(ins)])
    return parts, many


def _units(tensor: Tensor) -> Iterator[Tensor]:
    """Yield for each element zeros of the tensor's sizes with a one in its place."""
    for place in range(tensor.meta.numel):
        unit = ops.zeros(tensor.meta.numel, dtype=tensor.dtype, device=tensor.device)
        unit[place] = 1
        yield unit.reshape(tuple(tensor.shape))


def _stacked(parts: list[Tensor], dim: int, out: Tensor, into: Tensor) -> Any:
    sizes = (*out.shape, *into.shape)
    return ops.zeros(sizes, dtype=into.dtype, device=into.device) if not parts else ops.stack(parts, dim).reshape(sizes)


def _forward(func: Any, given: Tensors, create: bool) -> tuple[list[list[Tensor]], bool]:
    outs, many = _outputs("jacobian", func(*given))
    parts: list[list[Tensor]] = [[] for _ in outs]
    zeros = [ops.zeros_like(one) for one in given]
    for place, into in enumerate(given):
        vectors = [(*zeros[:place], unit, *zeros[place + 1 :]) for unit in _units(into)]
        found = [_outputs("jacobian", jvp(func, given, one, create_graph=create)[1])[0] for one in vectors]
        for number, (part, out) in enumerate(zip(parts, outs, strict=True)):
            part.append(_stacked([row[number] for row in found], out.meta.ndim, out, into))
    return parts, many


def hessian(
    func: Callable[..., Any], inputs: Any, create_graph: bool = False, strict: bool = False, vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:  # fmt: skip
    """All second derivatives of a function with one result: the Jacobian of its gradient. A tuple of tuples for several
    inputs. RuntimeError unless the result is one tensor with one element."""
    given, several = _inputs("hessian", func, inputs)

    def gradient(*ins: Tensor) -> Any:
        with enable_grad():
            own = tuple(one.view_as(one) for one in ins)  # type: ignore[attr-defined]
            own = tuple(one if requires_grad(one) else one.requires_grad_() for one in own)
            out = _single("hessian", func(*own))
            return tuple(pulled_back((out,), own, (_one(out),), create=True, strict="hessian" if strict else ""))

    found = jacobian(gradient, given, create_graph=create_graph, strict=strict, strategy=outer_jacobian_strategy)
    return found if several else found[0][0]


def _single(function: str, value: Any) -> Tensor:
    outs, many = _outputs(function, value)
    if many or outs[0].meta.numel != 1:
        raise RuntimeError(
            f"{function}(): the Tensor returned by the function given to {function} should contain a single element"
        )
    return outs[0]


def _one(out: Tensor) -> Tensor:
    made: Tensor = ops.ones_like(out.detach())  # type: ignore[attr-defined]
    return made


def vhp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """``(func(*inputs), v^T H)`` for a function with one result. Raises as vjp."""
    return _hessian_product("vhp", func, inputs, v, create_graph, strict)


def hvp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """``(func(*inputs), H v)`` for a function with one result, whose Hessian is symmetric. Raises as vjp."""
    return _hessian_product("hvp", func, inputs, v, create_graph, strict)


def _hessian_product(
    name: str, func: Callable[..., Any], inputs: Any, v: Any, create: bool, strict: bool
) -> tuple[Any, Any]:
    given, several = _inputs(name, func, inputs)
    named = name if strict else ""
    with enable_grad():
        ins = _prepared(given, create=create)
        out = _single(name, func(*ins))
        first = pulled_back((out,), ins, (_one(out),), create=True, strict=named)
        found = pulled_back(first, ins, _cotangents(name, tuple(first), v), create=create, strict=named)
    return _finished((out,), False, create=create), _finished(found, several, create=create)
