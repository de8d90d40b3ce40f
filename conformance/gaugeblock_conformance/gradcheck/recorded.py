"""Backends whose gradients belong to functions, as such whose tensors ask for gradients: calls are recorded, and played
again as a function of the inputs for the backend to differentiate."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..backend import Array, Backend, Unsupported
from ..exact import exact

VJP, JVP = "autograd.vjp", "autograd.jvp"
_CONTEXTS = frozenset({"enter", "leave"})


@dataclass(eq=False)
class Step:
    """What was computed: ``function`` of the values of ``parents`` gives the values of all results."""

    function: Callable[[Sequence[Any]], Sequence[Any]]
    parents: tuple[Recorded, ...]


@dataclass(eq=False)
class Recorded:
    """A tensor of the backend's, ``place`` among the results of the step that made it; a leaf has none."""

    value: Any
    requires_grad: bool = False
    step: Step | None = None
    place: int = 0
    tangent: Any = None


def recording(backend: Backend) -> Backend:
    """The backend itself, or where it has the capability autograd.vjp a recording one over it."""
    return Recording(backend) if VJP in backend.capabilities else backend


class Recording:
    """Answers what gradcheck asks of autograd; everything else goes to the backend."""

    def __init__(self, backend: Any) -> None:
        self.backend: Any = exact(backend.for_gradients())
        self._kind = type(self.backend.from_numpy(np.zeros(1)))
        own = {"autograd", "autograd.double"} | ({"autograd.fwd"} if JVP in backend.capabilities else set())
        self.capabilities = frozenset(backend.capabilities - {VJP, JVP} | own)
        self.name, self.version, self.device = backend.name, backend.version, backend.device
        self.dialect = getattr(self.backend, "dialect", None)

    def from_numpy(self, array: Array, requires_grad: bool = False) -> Recorded:
        return Recorded(self.backend.from_numpy(array), requires_grad)

    def to_numpy(self, tensor: Recorded) -> Array:
        array: Array = self.backend.to_numpy(tensor.value)
        return array

    def shape(self, tensor: Recorded) -> Sequence[int]:
        return tuple(self.backend.shape(tensor.value))

    def dtype(self, tensor: Recorded) -> str:
        return str(self.backend.dtype(tensor.value))

    def strides(self, tensor: Recorded) -> Sequence[int]:
        return tuple(self.backend.strides(tensor.value))

    def storage_offset(self, tensor: Recorded) -> int:
        return int(self.backend.storage_offset(tensor.value))

    def storage_id(self, tensor: Recorded) -> Any:
        return self.backend.storage_id(tensor.value)

    def storage_nbytes(self, tensor: Recorded) -> int:
        return int(self.backend.storage_nbytes(tensor.value))

    def data_ptr(self, tensor: Recorded) -> int:
        return int(self.backend.data_ptr(tensor.value))

    def call(self, operator: str, *args: Any, **kwargs: Any) -> Any:
        if operator in _CONTEXTS:
            return None
        own = getattr(self, f"_{operator}", None)
        return self._recorded(operator, args, kwargs) if own is None else own(*args, **kwargs)

    def _requires_grad(self, tensor: Recorded) -> bool:
        return tensor.requires_grad

    def _requires_grad_(self, tensor: Recorded) -> Recorded:
        tensor.requires_grad = True
        return tensor

    def _detach(self, tensor: Recorded) -> Recorded:
        return Recorded(tensor.value)

    def _gradients(
        self, outputs: Sequence[Recorded], inputs: Sequence[Recorded], grad_outputs: Sequence[Recorded],
        create_graph: bool = False, is_grads_batched: bool = False, **flags: Any,
    ) -> tuple[Recorded | None, ...]:  # fmt: skip
        if is_grads_batched:
            raise Unsupported("gradients", "incoming gradients come one by one")
        reached = _reached(outputs)
        others = [leaf for leaf in reached.values() if leaf.step is None and leaf not in inputs]
        parents = (*inputs, *grad_outputs, *others)
        count, end = len(inputs), len(inputs) + len(grad_outputs)

        def pulled(values: Sequence[Any]) -> Sequence[Any]:
            held = _named(others, values[end:])
            function = self._played(outputs, inputs, held)
            gradients: Sequence[Any] = self.backend.vjp(function, values[:count], values[count:end])
            return gradients

        step = Step(pulled, parents)
        found = pulled([parent.value for parent in parents])
        kept = create_graph and any(parent.requires_grad for parent in parents)
        return tuple(
            Recorded(value, kept, step, place) if id(one) in reached else None
            for place, (one, value) in enumerate(zip(inputs, found, strict=True))
        )

    def _make_dual(self, tensor: Recorded, tangent: Recorded) -> Recorded:
        return Recorded(tensor.value, True, tangent=tangent.value)

    def _unpack_dual(self, tensor: Recorded) -> tuple[Recorded, Recorded | None]:
        duals = [leaf for leaf in _reached([tensor]).values() if leaf.tangent is not None]
        if not duals:
            return Recorded(tensor.value), None
        function = self._played([tensor], duals, {})
        (tangent,) = self.backend.jvp(function, [d.value for d in duals], [d.tangent for d in duals])
        return Recorded(tensor.value), Recorded(tangent)

    def _recorded(self, operator: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        parents = tuple(_tensors([*args, *kwargs.values()]))

        def result(values: Sequence[Any]) -> Any:
            left = iter(values)
            positional = [_filled(argument, left) for argument in args]
            return self.backend.call(operator, *positional, **{k: _filled(v, left) for k, v in kwargs.items()})

        got = result([parent.value for parent in parents])
        step = Step(lambda values: _listed(result(values)), parents)
        moving = any(parent.requires_grad for parent in parents)

        def wrapped(value: Any, place: int) -> Any:
            if not isinstance(value, self._kind):
                return value
            floating = self.backend.dtype(value).startswith(("float", "bfloat", "complex"))
            return Recorded(value, moving and floating, step, place)

        made = [wrapped(value, place) for place, value in enumerate(_listed(got))]
        return made if isinstance(got, list) else tuple(made) if isinstance(got, tuple) else made[0]

    def _played(
        self, outputs: Sequence[Recorded], inputs: Sequence[Recorded], held: Mapping[int, Any]
    ) -> Callable[..., tuple[Any, ...]]:
        """The outputs as a function of the inputs; ``held`` are values of other leaves."""

        def function(*values: Any) -> tuple[Any, ...]:
            known = {**held, **_named(inputs, values)}
            done: dict[int, Sequence[Any]] = {}
            return tuple(_value(output, known, done) for output in outputs)

        return function


def _value(tensor: Recorded, known: Mapping[int, Any], done: dict[int, Sequence[Any]]) -> Any:
    if id(tensor) in known:
        return known[id(tensor)]
    step = tensor.step
    if step is None or not tensor.requires_grad:
        return tensor.value
    if id(step) not in done:
        done[id(step)] = step.function([_value(parent, known, done) for parent in step.parents])
    return done[id(step)][tensor.place]


def _named(tensors: Sequence[Recorded], values: Sequence[Any]) -> dict[int, Any]:
    return {id(tensor): value for tensor, value in zip(tensors, values, strict=True)}


def _reached(tensors: Sequence[Recorded]) -> dict[int, Recorded]:
    """All tensors that require grad among those that ``tensors`` were made of, by their ids."""
    found: dict[int, Recorded] = {}
    left = [tensor for tensor in tensors if tensor.requires_grad]
    while left:
        tensor = left.pop()
        if id(tensor) not in found:
            found[id(tensor)] = tensor
            left += [parent for parent in (tensor.step.parents if tensor.step else ()) if parent.requires_grad]
    return found


def _listed(result: Any) -> list[Any]:
    return list(result) if isinstance(result, list | tuple) else [result]


def _tensors(values: Sequence[Any]) -> Iterator[Recorded]:
    for value in values:
        if isinstance(value, Recorded):
            yield value
        elif isinstance(value, list | tuple):
            yield from _tensors(value)


def _filled(value: Any, left: Iterator[Any]) -> Any:
    if isinstance(value, Recorded):
        return next(left)
    if isinstance(value, list | tuple):
        return type(value)([_filled(item, left) for item in value])
    return value
