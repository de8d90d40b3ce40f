"""Functions with a derivative of their own: subclasses of Function, with the tangents that their jvp computes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ..calls.functions import ops
from ..dispatch.state import STATE
from ..tensor.tensor import Tensor
from ..tensor.versions import bump_version
from .autograd_meta import Edge, differentiable, requires_grad, result_of, shallow_copy_and_detach, unpack, version
from .forward_mode import DUAL, PAUSED, Pause, check_sizes, has_tangent, saved_with, set_tangent, tangent_of
from .grad_mode import no_grad
from .node import COUNTER, Node, NotImplementedNode
from .saved_tensor import FREED, saved, with_history
from .view_history import FUNCTION, MULTIPLE, check_inplace, edge_of, rebase, recorded_edge, view_of


def set_function_tangents(
    function: Any, ctx: Any, args: Sequence[Any], outputs: Sequence[Any], results: Sequence[Any]
) -> None:
    """Give the results of a custom function the tangents that its jvp computes.

    `outputs` are what forward returned. Raises RuntimeError when jvp returns another number of tangents, a tangent that
    is not a tensor or has other sizes, a tangent for an output without gradient, for an output that is a view a tangent
    that is not, or for an input written to anything but that input's tangent.
    """
    if PAUSED.value or not has_tangent(args):
        return
    if ctx.saved_for_forward is not None:
        recorded = {id(output): result for output, result in zip(outputs, results, strict=True)}
        ctx.saved_for_forward = tuple([recorded.get(id(one), one) for one in ctx.saved_for_forward])
    with Pause():
        given: list[Any] = []
        for one in args:
            taken = isinstance(one, Tensor) and differentiable(one)
            own = tangent_of(one) if taken else None
            given.append(ops.zeros_like(unpack(one)) if taken and own is None and ctx.materialize_grads else own)
        found = function.jvp(ctx, *given)
        tangents = tuple(found) if isinstance(found, (list, tuple)) else (found,)
        if len(tangents) != len(outputs):
            raise RuntimeError(
                f"{ctx.name()}: jvp returned an invalid number of forward gradients (expected {len(outputs)} but got "
                f"{len(tangents)})"
            )
        for nr, (output, tangent) in enumerate(zip(outputs, tangents, strict=True)):
            if tangent is not None:
                _check(ctx, nr, output, tangent)
                _check_shared(ctx, nr, output, tangent, args, given)
    for result, tangent in zip(results, tangents, strict=True):
        set_tangent(result, tangent)
    ctx.keep_tangents(results)


def _check(ctx: Any, nr: int, output: Any, tangent: Any) -> None:
    if not isinstance(tangent, Tensor):
        raise RuntimeError(
            f"{ctx.name()}: jvp returned {type(tangent).__name__} for output {nr}, expected Tensor or None"
        )
    constant = any(one is output for one in ctx.non_differentiable)
    if not isinstance(output, Tensor) or not differentiable(output) or constant:
        raise RuntimeError(
            f"{ctx.name()}: jvp returned a gradient at position {nr}, but the corresponding forward output is not a "
            "differentiable Tensor; return None at that position instead"
        )
    check_sizes(output, tangent)


def _check_shared(ctx: Any, nr: int, output: Any, tangent: Tensor, args: Sequence[Any], given: Sequence[Any]) -> None:
    place = next((place for place, one in enumerate(args) if one is output), None)
    if place is not None and any(one is output for one in ctx.dirty):
        if tangent is not given[place]:
            raise RuntimeError(
                f"{ctx.name()}: an inplace custom Function is not modifying the forward mode gradients inplace: output "
                f"{nr} is input {place}, so jvp must write to the gradient of that input and return it"
            )
    elif (place is not None or output.base is not None) and tangent.base is None:
        raise RuntimeError(
            f"{ctx.name()}: output {nr} of forward is a view or an input, but the tangent that jvp returned for "
            "it is not a view"
        )


class BackwardFunction(Node):
    """The node of a custom function, which is also the `ctx` of its static methods; attributes may be set freely."""

    label = "BackwardFunction"
    runs_undefined = True
    writes_self = False
    function: Any = None

    def __init__(self) -> None:
        self.edges: tuple[Edge | None, ...] = ()
        self.metas = ()
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
        """Return whether backward gets zeros, or None, for outputs that nothing flows into."""
        self.materialize_grads = value

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """Return the tensors saved for forward mode while jvp runs, else those saved for backward. Raises RuntimeError
        when they were freed or written to since."""
        if self.released:
            raise RuntimeError(FREED)
        if self.saved_for_forward is not None:
            return self.saved_for_forward
        if self._kept is None:
            return ()
        return tuple([None if kept is None else with_history(kept, seen, edge) for kept, seen, edge in self._kept])

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
            edge = (self, nr) if nr is not None and self.edges else edge_of(one) if one.meta.has_autograd else None
            plain = unpack(one)
            value = saved(plain, one, edge if nr is not None else None)
            kept.append((saved_with(value, tangent_of(one)) if nr is None else value, version(plain), edge))
        self._kept, self.to_save = kept, None

    def keep_tangents(self, results: Sequence[Any]) -> None:
        """Put the tangents of results beside those that are saved."""
        for place, (kept, seen, edge) in enumerate(self._kept or ()):
            if edge is not None and edge[0] is self:
                self._kept[place] = saved_with(kept, tangent_of(results[edge[1]])), seen, edge  # type: ignore[index]

    def release(self) -> None:
        """Let go of what was saved."""
        if self._kept is not None:
            self.released = True
            self._kept = None

    def apply(self, grads: list[Tensor | None]) -> Sequence[Tensor | None]:
        """The gradients that the function's backward returns, of its tensor inputs."""
        given = self.filled(grads) if self.materialize_grads else grads
        results = self.derivative()(self, *given)
        return self.checked(results if isinstance(results, tuple) else (results,))

    def derivative(self) -> Callable[..., Any]:
        """Return the function's backward or its alias vjp. Raise RuntimeError when it defines both."""
        backward, vjp = self.function.backward, self.function.vjp
        if vjp is Function.vjp:
            return backward  # type: ignore[no-any-return]
        if backward is not Function.backward:
            raise RuntimeError(
                "Implementing both 'backward' and 'vjp' for a custom Function is not allowed: "
                f"{self.function.__name__} must implement only one of them."
            )
        return vjp  # type: ignore[no-any-return]

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


class Function:
    """A function whose derivative its author writes: static ``forward(ctx, ...)`` and ``backward(ctx, *grads)``.

    Or ``forward(...)`` without ctx beside ``setup_context(ctx, inputs, output)``; ``jvp(ctx, *tangents)`` serves
    forward mode. It is called as ``MyFunction.apply(...)``.
    """

    _node: type[BackwardFunction] = BackwardFunction

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        label = f"{cls.__name__}Backward"
        cls._node = type(label, (BackwardFunction,), {"function": cls, "label": label, "__module__": cls.__module__})

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """The results. To be written by a subclass."""
        raise NotImplementedError(
            "You must implement the forward function for custom autograd.Function; its arguments are (ctx, ...), or "
            "(...) beside a setup_context"
        )

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """Set up the ctx of a forward that takes none."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """One gradient, or None, for each argument of forward."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with "
            "backward mode AD."
        )

    vjp = backward
    """An alias of backward; a subclass defines one of the two."""

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
            ctx.edges = tuple(recorded_edge(one) if one.meta.has_autograd else None for one in tensors)
        apart = cls.setup_context is not Function.setup_context
        with no_grad(), Pause():
            output = cls.forward(*args) if apart else cls.forward(ctx, *args)
            if apart:
                cls.setup_context(ctx, args, output)
        several = isinstance(output, (tuple, list))
        outputs = tuple(output) if several else (output,)
        for one in ctx.dirty:
            if not _is_one_of(one, tensors):
                raise RuntimeError("mark_dirty only accepts input tensors, but an argument is not an input")
            if not _is_one_of(one, outputs):
                raise RuntimeError(
                    "Some elements marked as dirty during the forward method were not returned as output. The inputs "
                    "that are modified inplace must all be outputs of the Function."
                )
            bump_version(one)
        ctx.metas = tuple([meta_of(one) for one in outputs])
        if wanted:
            ctx.keep(outputs)
        results = tuple(_outputs(ctx, outputs, tensors, wanted))
        if DUAL.level:
            set_function_tangents(cls, ctx, args, outputs, results)
        ctx.saved_for_forward = None
        return results if several else results[0]


def _outputs(ctx: BackwardFunction, outputs: tuple[Any, ...], tensors: list[Tensor], wanted: bool) -> list[Any]:
    if not wanted:
        return [_unrecorded(ctx, one, tensors) for one in outputs]
    creation = FUNCTION if sum(isinstance(one, Tensor) for one in outputs) == 1 else MULTIPLE
    made: dict[int, Any] = {}
    for nr, one in enumerate(outputs):
        if isinstance(one, Tensor) and id(one) in made:
            made[id(one)].autograd.output_nr = nr
        else:
            made[id(one)] = _output(ctx, one, nr, tensors, creation)
    return [made[id(one)] for one in outputs]


def meta_of(output: Any) -> Any:
    """The meta of an output that is a tensor, else None."""
    return unpack(output).meta if isinstance(output, Tensor) else None


def _is_one_of(value: Any, tensors: Sequence[Any]) -> bool:
    return any(value is one for one in tensors)


def _unrecorded(ctx: BackwardFunction, output: Any, tensors: list[Tensor]) -> Any:
    """Return an output of a call that is not recorded. An input that was not written to is returned as another tensor,
    detached if it requires a gradient."""
    if not _is_one_of(output, tensors):
        return output
    if requires_grad(output):
        return shallow_copy_and_detach(unpack(output))
    if _is_one_of(output, ctx.dirty):
        return output
    with no_grad():
        return output.view_as(output)


def _output(ctx: BackwardFunction, output: Any, nr: int, tensors: list[Tensor], creation: str) -> Any:
    if not isinstance(output, Tensor):
        return output
    if _is_one_of(output, ctx.dirty):
        return _written(ctx, output, nr, creation)
    given = _is_one_of(output, tensors)
    if _is_one_of(output, ctx.non_differentiable) or not differentiable(output):
        return shallow_copy_and_detach(unpack(output)) if given else output
    plain = shallow_copy_and_detach(unpack(output))
    viewed = output if given else output.base
    if viewed is None:
        return result_of(plain, ctx, nr)
    return view_of(viewed, plain, ctx, nr, creation, ctx.label.removesuffix("Backward"))


def _written(ctx: BackwardFunction, output: Tensor, nr: int, creation: str) -> Tensor:
    """Return an input that was written to, with the function in its history and without its former .grad."""
    meta = output.autograd
    if meta is not None and meta.more is not None and not output.requires_grad_flag:
        meta.more.grad = None
    check_inplace(output)
    if output.base is not None and creation == MULTIPLE:
        raise RuntimeError(
            f"{ctx.name()}: a Function that writes to an input which is a view of another tensor must return that "
            "input alone. Clone the view before passing it to the Function, or return one tensor."
        )
    rebase(output, ctx, nr)
    return output


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
        edges = tuple(edge_of(one) for one in grads if isinstance(one, Tensor) and one.meta.has_autograd)
        made = [one for one in parts if isinstance(one, Tensor)]
        node = NotImplementedNode("DelayedErrorBackward", message, edges, [unpack(one) for one in made])
        order = iter(range(len(made)))
        found = tuple(
            result_of(shallow_copy_and_detach(unpack(one)), node, next(order)) if isinstance(one, Tensor) else one
            for one in parts
        )
        return found if isinstance(results, tuple) else found[0]

    return run
