"""autograd.backward and autograd.grad: checking what is asked, then running the engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..calls.functions import ops
from ..core.errors import type_error
from ..core.warn import warn_once
from ..operators.fill import fill_ones
from ..tensor.tensor import Tensor, new_like
from ..tensor.tensor_meta import TensorMeta, without_autograd
from .autograd_meta import Edge, requires_grad, unpack
from .engine import Targets, run_backward
from .hooks import retain_grad
from .node import GradientEdge, zeros_of
from .view_history import edge_of

Tensors = Tensor | GradientEdge | Sequence[Tensor | GradientEdge]
Gradients = Tensor | Sequence[Tensor | None] | None


def _tuple(function: str, argument: str, value: Any) -> tuple[Any, ...]:
    if isinstance(value, (Tensor, GradientEdge)):
        return (value,)
    if not isinstance(value, (list, tuple)):
        type_error(function, argument, value, "Tensor or sequence of Tensors")
    for place, tensor in enumerate(value):
        if not isinstance(tensor, (Tensor, GradientEdge)):
            type_error(function, f"{argument}[{place}]", tensor, "Tensor")
    return tuple(value)


def _meta(place: Tensor | GradientEdge) -> TensorMeta:
    return without_autograd(place.meta) if isinstance(place, Tensor) else place.node.metas[place.output_nr]


def seed_of(output: Tensor | GradientEdge, grad: Tensor | None) -> Tensor:
    """The gradient to begin with: what was given, which must have the output's sizes, or 1 for one real number."""
    meta = _meta(output)
    if grad is not None:
        if not isinstance(grad, Tensor):
            raise TypeError(f"gradients can be either Tensors or None, but got {type(grad).__name__}")
        if grad.meta.sizes != meta.sizes:
            raise RuntimeError(
                f"Mismatch in shape: grad_output[0] has a shape of {grad.shape!r} and output[0] has a shape of "
                f"{meta.shape!r}."
            )
        if grad.meta.dtype.is_complex != meta.dtype.is_complex:
            raise RuntimeError(
                "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in "
                f"dtype: grad_output[0] has a dtype of {grad.dtype} and output[0] has a dtype of {meta.dtype}."
            )
        if grad.meta.dtype is not meta.dtype:
            grad = grad.to(meta.dtype)  # type: ignore[attr-defined]
        return grad
    if meta.numel != 1:
        raise RuntimeError("grad can be implicitly created only for scalar outputs")
    if not meta.dtype.is_floating_point:
        kind = "real scalar outputs" if meta.dtype.is_complex else "real scalar outputs of a floating dtype"
        raise RuntimeError(f"grad can be implicitly created only for {kind} but got {meta.dtype}")
    if isinstance(output, Tensor) and output.__class__ is not Tensor:
        seed: Tensor = ops.ones_like(unpack(output))
        return seed
    made = new_like(meta)
    fill_ones(made)
    return made


def _roots(outputs: tuple[Tensor | GradientEdge, ...], gradients: Gradients) -> list[tuple[Edge, Tensor | None]]:
    given: Sequence[Tensor | None]
    given = (gradients,) if isinstance(gradients, Tensor) else [None] * len(outputs) if gradients is None else gradients
    if not isinstance(given, (list, tuple)):
        type_error("backward", "gradient", gradients, "Tensor, None, or a sequence of them")
    if len(given) != len(outputs):
        raise RuntimeError(f"got {len(outputs)} tensors and {len(given)} gradients")
    roots: list[tuple[Edge, Tensor | None]] = []
    for place, (output, grad) in enumerate(zip(outputs, given, strict=True)):
        edge = _edge(output)
        if edge is None:
            raise RuntimeError(f"element {place} of tensors does not require grad and does not have a grad_fn")
        roots.append((edge, seed_of(output, grad)))
    return roots


def _edge(place: Tensor | GradientEdge) -> Edge | None:
    """Return the edge that the gradient of a tensor or edge follows; None for a tensor that requires no gradient."""
    return place if isinstance(place, GradientEdge) else edge_of(place)


def backward(
    tensors: Tensors, grad_tensors: Gradients = None, retain_graph: bool | None = None, create_graph: bool = False,
    grad_variables: Gradients = None, inputs: Tensors | None = None,
) -> None:  # fmt: skip
    """Add to .grad of the leaves, or of `inputs` only, the gradients of `tensors`.

    `grad_tensors` holds the gradient of each tensor; None means 1 for a tensor of one element. Gradient edges are
    accepted for tensors, but .grad of non-leaf inputs is filled only if they are given as tensors. Raises
    RuntimeError for gradients of other sizes, tensors without a graph and graphs that were freed.
    """
    if grad_variables is not None:
        grad_tensors = grad_variables
    outputs = _tuple("backward", "tensors", tensors)
    if inputs is not None and not isinstance(inputs, Tensor) and len(inputs) == 0:
        raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    roots = _roots(outputs, grad_tensors)
    targets = None
    if inputs is not None:
        edges = []
        for place, one in enumerate(_tuple("backward", "inputs", inputs)):
            if isinstance(one, Tensor) and not requires_grad(one):
                raise RuntimeError(f"One of the differentiated Tensors does not require grad (inputs[{place}])")
            edge = _edge(one)
            if isinstance(one, Tensor) and edge is not None and edge[0].edges:
                retain_grad(one)
            edges.append(edge)
        targets = Targets(edges, [root[0][0] for root in roots], run=True)
    if create_graph:
        warn_of_cycle()
    keep = create_graph if retain_graph is None else retain_graph
    run_backward(roots, keep=keep, create=create_graph, targets=targets)


def warn_of_cycle() -> None:
    """Warn of the cycle between a leaf and a gradient with a graph."""
    warn_once(
        "backward() with create_graph=True makes a reference cycle between a leaf and its gradient, so that memory may "
        "leak. Use autograd.grad to create the graph, or set .grad to None afterwards."
    )


def grad(
    outputs: Tensors, inputs: Tensors, grad_outputs: Gradients = None, retain_graph: bool | None = None,
    create_graph: bool = False, only_inputs: bool = True, allow_unused: bool | None = None,
    is_grads_batched: bool = False, materialize_grads: bool = False,
) -> tuple[Any, ...]:  # fmt: skip
    """Return the gradients of `outputs` with respect to `inputs`, tensors or gradient edges; no .grad changes.

    An input that was not used is an error; None with `allow_unused`, zeros with `materialize_grads`. With
    `is_grads_batched` the gradients of the outputs have one more leading dim, and so have the results.
    """
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
        )
    allow = materialize_grads if allow_unused is None else allow_unused
    outs, ins = _tuple("grad", "outputs", outputs), _tuple("grad", "inputs", inputs)
    if not ins:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    keep = create_graph if retain_graph is None else retain_graph
    run = _batched if is_grads_batched else _once
    return run(outs, ins, grad_outputs, keep=keep, create=create_graph, allow=allow, zeros=materialize_grads)


def _once(
    outs: tuple[Tensor | GradientEdge, ...], ins: tuple[Tensor | GradientEdge, ...], gradients: Gradients, *,
    keep: bool, create: bool, allow: bool, zeros: bool,
) -> tuple[Any, ...]:  # fmt: skip
    roots = _roots(outs, gradients)
    edges = []
    for one in ins:
        if isinstance(one, Tensor) and not requires_grad(one):
            raise RuntimeError("One of the differentiated Tensors does not require grad")
        edges.append(_edge(one))
    targets = Targets(edges, [root[0][0] for root in roots], run=False)
    run_backward(roots, keep=keep, create=create, targets=targets)
    results: list[Any] = []
    for place, (one, found) in enumerate(zip(ins, targets.found, strict=True)):
        if found is None and not allow:
            raise RuntimeError(
                f"The differentiated Tensor at index {place} appears to not have been used in the graph. Set "
                "allow_unused=True if this is the desired behavior."
            )
        if found is None and zeros:
            make: Any = ops.zeros_like if isinstance(one, Tensor) else zeros_of
            found = make(one if isinstance(one, Tensor) else _meta(one), requires_grad=create)
        results.append(found)
    return tuple(results)


def _batched(
    outs: tuple[Tensor | GradientEdge, ...], ins: tuple[Tensor | GradientEdge, ...], gradients: Any, *, keep: bool,
    **options: bool,
) -> tuple[Any, ...]:  # fmt: skip
    """One pass for each part of the leading dim, stacked."""
    given = (gradients,) if isinstance(gradients, Tensor) else tuple(gradients)
    for place, one in enumerate(given):
        if one is not None and not isinstance(one, Tensor):
            type_error("grad", f"grad_outputs[{place}]", one, "Tensor or None")
        if one is not None and one.meta.sizes[1:] != _meta(outs[place]).sizes:
            raise RuntimeError(
                f"If is_grads_batched=True, we interpret the first dimension of each grad_output as the batch "
                f"dimension. The sizes of the remaining dimensions are expected to match the shape of corresponding "
                f"output, but a mismatch was detected: grad_output[{place}] has a shape of {one.shape!r} and "
                f"output[{place}] has a shape of {_meta(outs[place]).shape!r}."
            )
    count = next(one.meta.sizes[0] for one in given if one is not None)
    rows = [
        _once(outs, ins, [None if one is None else one[row] for one in given], keep=keep or row + 1 < count, **options)
        for row in range(count)
    ]
    return tuple(None if parts[0] is None else ops.stack(parts) for parts in zip(*rows, strict=True))
