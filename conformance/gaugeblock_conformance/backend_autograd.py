"""What the suite asks of autograd, as data: the calls of the capabilities autograd and autograd.*.

Nothing here names a backend's API. A backend with the capabilities answers the operator names of :data:`CALLS` in its
``call``. Hooks, saved-tensor hooks and rules write what they saw into one log, in order. Nodes, functions, hook handles
and entered contexts are the backend's own objects: the suite hands them back and never looks into them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import Any


class Part:
    """Written as the call that makes it, without what is left at its default."""

    def __repr__(self) -> str:
        given = [(field, getattr(self, field.name)) for field in fields(self)]  # type: ignore[arg-type]
        text = ", ".join(f"{field.name}={value!r}" for field, value in given if value != field.default)
        return f"{type(self).__name__}({text})"


@dataclass(frozen=True, repr=False)
class NoGrad(Part):
    """Nothing is recorded."""


@dataclass(frozen=True, repr=False)
class EnableGrad(Part):
    """Recording is on."""


@dataclass(frozen=True, repr=False)
class SetGrad(Part):
    """Recording is ``enabled`` or not."""

    enabled: bool


@dataclass(frozen=True, repr=False)
class InferenceMode(Part):
    """Tensors made within carry no autograd state (not so where ``enabled`` is false)."""

    enabled: bool = True


@dataclass(frozen=True, repr=False)
class Anomaly(Part):
    """A backward that gives NaN raises and names its node; without ``check_nan`` it only keeps the forward's trace."""

    check_nan: bool = True


@dataclass(frozen=True, repr=False)
class DualLevel(Part):
    """A level of forward mode: dual tensors can be made."""


@dataclass(frozen=True, repr=False)
class SavedTensorsHooks(Part):
    """Writes ``"label pack"`` when a tensor is saved and ``"label unpack"`` when it is used.

    ``action``: ``same`` (packs the tensor itself), ``copy`` (packs an array of its elements and unpacks a new tensor),
    ``scale`` (unpacks the tensor times ``argument``), ``raise`` (packing raises the builtin exception ``argument``),
    ``write`` (packing multiplies the tensor by ``argument`` in place).
    """

    label: str
    action: str = "same"
    argument: Any = None


Context = NoGrad | EnableGrad | SetGrad | InferenceMode | Anomaly | DualLevel | SavedTensorsHooks


@dataclass(frozen=True, repr=False)
class Hook(Part):
    """Writes ``label`` into the log (None: nothing), then does ``action`` with what it is called with.

    =============== ===================================================================================================
    ``see``         nothing
    ``value``       writes the entry ``(label, elements)`` instead: of the gradient (tensor hooks), of the gradients,
                    None for a missing one (node prehooks, hooks on several tensors), of the gradients of inputs, then
                    of outputs (node hooks), of the leaf's ``.grad`` (post-accumulate)
    ``scale``       returns the gradient times ``argument`` (node hooks: each of them)
    ``give``        returns a tensor of the elements ``argument`` (tensor hooks only)
    ``write``       multiplies the gradient by ``argument`` in place and returns nothing
    ``raise``       raises the builtin exception named by ``argument``
    ``thread``      writes ``"label same"`` or ``"label other"``: whether it runs on the thread that registered it
    ``clear``       sets ``.grad`` of the leaf to None (post-accumulate only)
    ``remove_next`` removes the hook that was registered last on the backend
    =============== ===================================================================================================
    """

    label: str | None
    action: str = "see"
    argument: Any = None


@dataclass(frozen=True, repr=False)
class Rule(Part):
    """A function with a differentiation rule written by the user, put together from named parts.

    ============ ======================================================================================================
    ``forward``  ``scale`` first argument times ``factor``; ``square`` (saves the argument); ``exp`` (saves the result);
                 ``product`` of all arguments (saves them); ``identity`` gives the first argument itself; ``inplace``
                 multiplies it by ``factor`` in place and marks it dirty; ``unmarked`` likewise without the mark;
                 ``places`` gives (first times ``factor``, int64 zeros marked non-differentiable); ``two`` gives
                 (first times ``factor``, first times ``factor`` + 1); ``view`` gives a view of the first argument with
                 one more dim in front, ``views`` two of these
    ``backward`` ``right`` the right gradients; ``give`` tensors of ``given`` (numbers, None for no gradient), as they
                 are; ``raise`` raises the builtin exception named by ``given``; ``nan`` gradients of NaN; ``nested``
                 first runs ``given`` further backwards, one within the other; ``plain`` the right gradients computed
                 out of the graph's sight, and not differentiable (once_differentiable)
    ============ ======================================================================================================

    With ``label``, forward writes ``"label forward"`` and backward ``"label backward"`` and what it received: ``+`` for
    a tensor, ``-`` for None, as in ``"label backward +-"``; forward mode likewise for the tangents that it
    received, ``"label jvp +-"``. ``setup``: the context is set up apart from the forward. ``materialize``: missing
    gradients and tangents arrive as zeros. ``tangent``: there is a forward mode, the first tangent times ``factor``.
    """

    forward: str = "scale"
    backward: str = "right"
    given: Any = None
    factor: float = 2.0
    label: str | None = None
    setup: bool = False
    materialize: bool = True
    tangent: bool = False


@dataclass(frozen=True, repr=False)
class Value(Part):
    """Where a program's step takes an operand from: its inputs are numbered first, then what its steps gave."""

    number: int


@dataclass(frozen=True, repr=False)
class Program(Part):
    """A function as data: ``steps`` of (operator, *arguments), arguments numbers or :class:`Value`; ``outputs`` are the
    numbers of the values it returns (none: the last value alone)."""

    steps: tuple[tuple[Any, ...], ...]
    outputs: tuple[int, ...] = ()

    def run(self, call: Callable[..., Any], inputs: Sequence[Any]) -> Any:
        """What the program gives for ``inputs`` when its operators go through ``call``."""
        values = list(inputs)
        for operator, *arguments in self.steps:
            values.append(call(operator, *[values[a.number] if isinstance(a, Value) else a for a in arguments]))
        return tuple(values[k] for k in self.outputs) if self.outputs else values[-1]


PARTS = tuple(
    part.__name__
    for part in (
        NoGrad, EnableGrad, SetGrad, InferenceMode, Anomaly, DualLevel, SavedTensorsHooks, Hook, Rule, Value, Program,
    )
)  # fmt: skip

CALLS: dict[str, str] = {
    # autograd
    "backward": "(tensor or list, gradients=None, retain_graph=None, create_graph=False, inputs=None) adds to .grad",
    "gradients": "(outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=False, allow_unused=None, "
    "materialize_grads=False, is_grads_batched=False) -> tuple: a tensor or None per input",
    "grad": "(tensor) -> its .grad, None where there is none",
    "set_grad": "(tensor, value) assigns .grad; value is a tensor or None",
    "set_requires_grad": "(tensor, value) assigns the flag",
    "is_leaf": "(tensor) -> bool",
    "retain_grad": "(tensor) has .grad filled although it is no leaf",
    "retains_grad": "(tensor) -> bool",
    "output_nr": "(tensor) -> int: which output of its node it is",
    "is_grad_enabled": "() -> bool",
    "is_inference_mode_enabled": "() -> bool",
    "is_inference": "(tensor) -> bool",
    "enter": "(Context) -> the entered context",
    "leave": "(entered context)",
    "decorated": "(Context, operator, *args, **kwargs) -> the call's answer, made by a function decorated with it",
    "under": "(Context, operator, *args, **kwargs) -> the call's answer, made within the context",
    "variable": "(tensor) -> what the name Variable makes of it",
    "functional": "(name, Program, inputs, v=None, create_graph=False) -> what vjp, jvp, jacobian, hessian, vhp or hvp "
    "of the program gives: tensors in nested tuples, one per output and input",
    "backward_in_threads": "(tensors) one thread for each tensor's backward, all started before any is waited for",
    "sent": "(tensor) -> the tensor as another process receives it (with the capability shm)",
    # autograd.graph
    "grad_fn": "(tensor) -> the node that made it, None for a leaf",
    "node_name": "(node) -> str",
    "apply_node": "(node, *gradients) -> tuple: what the node gives for these, a tensor or None per argument",
    "next_functions": "(node) -> tuple of (node or None, int)",
    "next_node": "(node, edge) -> the node that the edge leads to, or None",
    "same_node": "(node, node) -> bool",
    "saved_names": "(node) -> tuple: the names of what it saved, in order of the alphabet, without '_saved_'",
    "saved": "(node, name) -> what is saved there: a tensor, None, a number ...",
    "node_variable": "(node) -> the leaf that a gradient accumulator adds to",
    "watch_tensor": "(tensor) -> a function that says whether the tensor object still lives, without keeping it alive",
    # autograd.hooks
    "register_hook": "(tensor, Hook) -> handle",
    "register_post_accumulate_grad_hook": "(leaf, Hook) -> handle",
    "register_node_prehook": "(node, Hook) -> handle",
    "register_node_hook": "(node, Hook) -> handle",
    "register_multi_grad_hook": "(tensors, Hook) -> handle: called once in a pass, with the gradients of all",
    "remove_hook": "(handle)",
    "autograd_log": "() -> tuple: the entries of the log, in order, which is empty afterwards",
    # autograd.func
    "define_function": "(Rule) -> function",
    "apply_function": "(function, *tensors) -> what its forward gives",
    # autograd.fwd
    "make_dual": "(tensor, tangent) -> dual tensor, within a DualLevel",
    "unpack_dual": "(tensor) -> (primal, tangent or None)",
}
"""Operator name -> its arguments and answer. ``requires_grad_``, ``requires_grad``, ``detach`` and ``detach_`` are
called as other operators are."""

STATEFUL = frozenset(
    """backward set_grad set_requires_grad retain_grad enter leave register_hook register_post_accumulate_grad_hook
    register_node_prehook register_node_hook register_multi_grad_hook remove_hook backward_in_threads""".split()
)
"""Calls that change what no variable of the suite holds."""


@contextmanager
def entered(call: Callable[..., Any], *contexts: Context) -> Iterator[None]:
    """The contexts, entered in order for a ``with`` block; ``call`` is a backend's or a session's."""
    if not contexts:
        yield
        return
    inside = call("enter", contexts[0])
    try:
        with entered(call, *contexts[1:]):
            yield
    finally:
        call("leave", inside)
