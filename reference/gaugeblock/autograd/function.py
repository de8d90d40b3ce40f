"""Functions with a derivative of their own: subclasses of Function."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ..dispatch.state import STATE
from ..tensor.tensor import Tensor
from .autograd_meta import Edge, edge_of, handle, plain_of, requires_grad, result_of, version, watch
from .grad_mode import no_grad
from .node import COUNTER, Node
from .public import gb
from .saved_tensor import FREED, Packed, rejoined, saved, unpacked, used
from .undifferentiable import NotImplementedNode
from .view_history import DEFAULT, check_inplace, rebase, view_of
from .wrapped_results import differentiable


class BackwardFunction(Node):
    """The node of a custom function, which is also the `ctx` of its static methods; attributes may be set freely."""

    label = "BackwardFunction"
    runs_undefined = True
    writes_self = False
    function: Any = None

    def __init__(self) -> None:
        self.edges: tuple[Edge | None, ...] = ()
        self.geometries = ()
        self.sequence = next(COUNTER)
        self.hooks = None
        self.notes = None
        self.released = False
        self.needs_input_grad: tuple[bool, ...] = ()
        self.materialize_grads = True
        self.to_save: tuple[Any, ...] | None = None
        self.saved_for_forward: tuple[Any, ...] | None = None
        self.dirty: tuple[Tensor, ...] = ()
        self.non_differentiable: tuple[Tensor, ...] = ()
        self._kept: list[tuple[Any, int, Edge | None]] | None = None
        self._is_tensor: tuple[bool, ...] = ()

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep inputs and outputs for backward. TypeError for anything but tensors and None."""
        for one in tensors:
            if one is not None and not isinstance(one, Tensor):
                kind = type(one).__name__
                raise TypeError(f"save_for_backward can only save variables, but argument is of type {kind}")
        self.to_save = tensors

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """Keep tensors for jvp."""
        self.saved_for_forward = tensors

    def mark_dirty(self, *args: Tensor) -> None:
        """These inputs were written to in forward, and are returned."""
        self.dirty = args

    def mark_non_differentiable(self, *args: Tensor) -> None:
        """These outputs have no gradient."""
        self.non_differentiable = args

    def set_materialize_grads(self, value: bool) -> None:
        """Whether backward gets zeros, or None, for outputs that nothing flows into."""
        self.materialize_grads = value

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What was kept. RuntimeError when it was freed or has been written to since."""
        if self.released:
            raise RuntimeError(FREED)
        if self._kept is None:
            return self.saved_for_forward or ()
        found = []
        for kept, seen, edge in self._kept:
            if kept is not None and kept.__class__ is not Packed:
                used(self, kept, seen, edge)
            plain = unpacked(kept) if kept.__class__ is Packed else kept
            found.append(plain if plain is None or edge is None else rejoined(plain, edge))
        return tuple(found)

    def keep(self, outputs: Sequence[Any]) -> None:
        """Put what is to be saved into the node, once it is known which of it are outputs."""
        if self.to_save is None:
            return
        places = {id(one): nr for nr, one in enumerate(outputs)}
        kept: list[tuple[Any, int, Edge | None]] = []
        for one in self.to_save:
            if one is None:
                kept.append((None, 0, None))
                continue
            nr = places.get(id(one))
            edge = (self, nr) if nr is not None and self.edges else edge_of(one) if one.geometry.watched else None
            plain = plain_of(one)
            kept.append((saved(plain, one), version(plain), edge))
        self._kept, self.to_save = kept, None

    def release(self) -> None:
        """Let go of what was saved."""
        if self._kept is not None:
            self.released = True
            self._kept = None

    def apply(self, grads: list[Tensor | None]) -> Sequence[Tensor | None]:
        """The gradients that the function's backward returns, of its tensor inputs."""
        given = self.materialized(grads) if self.materialize_grads else grads
        results = self.function.backward(self, *given)
        return self.checked(results if isinstance(results, tuple) else (results,))

    def materialized(self, grads: list[Tensor | None]) -> list[Any]:
        """The gradients of all outputs that are tensors, zeros for those that nothing flows into."""
        return [
            gb.zeros(geometry.sizes, dtype=geometry.dtype, device=geometry.device)
            if grad is None and geometry is not None
            else grad
            for grad, geometry in zip(grads, self.geometries, strict=True)
        ]

    def checked(self, results: tuple[Any, ...]) -> Sequence[Tensor | None]:
        """The gradients of the tensor inputs. RuntimeError when there are too few, or one for something else."""
        count = len(self._is_tensor)
        if len(results) > count and all(one is None for one in results[count:]):
            results = results[:count]
        if len(results) != count:
            raise RuntimeError(
                f"function {self.name()} returned an incorrect number of gradients (expected {count}, got "
                f"{len(results)})"
            )
        found = []
        for place, (grad, is_tensor) in enumerate(zip(results, self._is_tensor, strict=True)):
            if grad is not None and not isinstance(grad, Tensor):
                raise RuntimeError(
                    f"expected Variable or None (got {type(grad).__name__}) as gradient {place} of {self.name()}"
                )
            if is_tensor:
                found.append(grad)
            elif grad is not None:
                raise RuntimeError(
                    f"function {self.name()} returned a gradient different from None at position {place + 1}, but the "
                    "corresponding forward input was not a Variable"
                )
        return found


class FunctionMeta(type):
    """Gives every function the class of its nodes."""

    def __init__(cls, name: str, bases: tuple[type, ...], space: dict[str, Any]) -> None:
        super().__init__(name, bases, space)
        members = {"function": cls, "label": f"{name}Backward", "__module__": cls.__module__}
        cls._node = type(f"{name}Backward", (BackwardFunction,), members)


class Function(metaclass=FunctionMeta):
    """A function whose derivative its author writes: static ``forward(ctx, ...)`` and ``backward(ctx, *grads)``.

    Or ``forward(...)`` without ctx beside ``setup_context(ctx, inputs, output)``; ``jvp(ctx, *tangents)`` serves
    forward mode. It is called as ``MyFunction.apply(...)``.
    """

    _node: type[BackwardFunction]

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """The results. To be written by a subclass."""
        raise NotImplementedError(
            "You must implement the forward function for custom autograd.Function; its arguments are (ctx, ...), or "
            "(...) beside a setup_context"
        )

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """What forward does with its ctx, apart from it."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """One gradient, or None, for each argument of forward."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with "
            "backward mode AD."
        )

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """The tangents of the outputs from those of the arguments."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd "
            "function with static forward method."
        )

    @classmethod
    def apply(cls, *args: Any) -> Any:
        """Run forward and record it."""
        ctx = cls._node()
        tensors = [one for one in args if isinstance(one, Tensor)]
        wanted = STATE.grad and not STATE.inference and any(requires_grad(one) for one in tensors)
        ctx.needs_input_grad = tuple(isinstance(one, Tensor) and requires_grad(one) for one in args)
        ctx._is_tensor = tuple(isinstance(one, Tensor) for one in args)
        if wanted:
            ctx.edges = tuple(edge_of(one) if one.geometry.watched else None for one in tensors)
        apart = cls.setup_context is not Function.setup_context
        with no_grad():
            output = cls.forward(*args) if apart else cls.forward(ctx, *args)
            if apart:
                cls.setup_context(ctx, args, output)
        several = isinstance(output, (tuple, list))
        outputs = tuple(output) if several else (output,)
        ctx.keep(outputs)
        results = tuple(_outputs(ctx, outputs, tensors, wanted))
        from .forward_mode import DUAL, function_tangents

        if DUAL.level:
            results = function_tangents(cls, ctx, args, results)
        return results if several else results[0]


def _outputs(ctx: BackwardFunction, outputs: tuple[Any, ...], tensors: list[Tensor], wanted: bool) -> list[Any]:
    for one in ctx.dirty:
        if not any(one is given for given in tensors):
            raise RuntimeError("mark_dirty only accepts input tensors, but an argument is not an input")
        if not any(one is out for out in outputs):
            raise RuntimeError(
                "Some elements marked as dirty during the forward method were not returned as output. The inputs that "
                "are modified inplace must all be outputs of the Function."
            )
    if not wanted:
        return [_alias(one) if _is_one_of(one, tensors) and not _is_one_of(one, ctx.dirty) else one for one in outputs]
    ctx.geometries = tuple(geometry_of(one) for one in outputs)
    return [_output(ctx, one, nr, tensors) for nr, one in enumerate(outputs)]


def geometry_of(output: Any) -> Any:
    """The geometry of an output that is a tensor, else None."""
    return plain_of(output).geometry if isinstance(output, Tensor) else None


def _is_one_of(value: Any, tensors: Sequence[Tensor]) -> bool:
    return any(value is one for one in tensors)


def _alias(tensor: Tensor) -> Tensor:
    """Another handle on an input that forward returned."""
    alias: Tensor = tensor.view_as(tensor)  # type: ignore[attr-defined]
    return alias


def _output(ctx: BackwardFunction, output: Any, nr: int, tensors: list[Tensor]) -> Any:
    if not isinstance(output, Tensor):
        return output
    if _is_one_of(output, ctx.dirty):
        check_inplace(output)
        if output.base is not None:
            rebase(output, ctx)
        else:
            meta = watch(output)
            meta.grad_fn, meta.output_nr = ctx, nr
            output.requires_grad_flag = False
        return output
    if _is_one_of(output, ctx.non_differentiable) or not differentiable(output):
        if _is_one_of(output, tensors):
            output = handle(plain_of(output))
        return output
    plain = handle(plain_of(output))
    for given in tensors:
        if given.storage is plain.storage and (given is output or output.base is not None):
            return view_of(given, plain, ctx, nr, DEFAULT, ctx.label.removesuffix("Backward"))
    return result_of(plain, ctx, nr)


def once_differentiable(backward: Callable[..., Any]) -> Callable[..., Any]:
    """A backward that cannot be differentiated itself: what it returns raises when that is tried."""

    @functools.wraps(backward)
    def run(ctx: Any, *grads: Any) -> Any:
        with no_grad():
            results = backward(ctx, *grads)
        if not STATE.grad or not any(isinstance(one, Tensor) and requires_grad(one) for one in grads):
            return results
        parts = results if isinstance(results, tuple) else (results,)
        message = "trying to differentiate twice a function that was marked with @once_differentiable"
        edges = tuple(edge_of(one) for one in grads if isinstance(one, Tensor) and one.geometry.watched)
        made = [one for one in parts if isinstance(one, Tensor)]
        node = NotImplementedNode("DelayedErrorBackward", message, edges, [plain_of(one) for one in made])
        order = iter(range(len(made)))
        found = tuple(
            result_of(handle(plain_of(one)), node, next(order)) if isinstance(one, Tensor) else one for one in parts
        )
        return found if isinstance(results, tuple) else found[0]

    return run
