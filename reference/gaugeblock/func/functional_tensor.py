"""Tensors of functionalize: what is written to one, or to a view of it, becomes a new value of what they share.

A `Root` holds the value of a whole storage. A tensor is the root's value, seen through view operators (`steps`); one
that is written to hands the new value back through their inverses, and the other views compute theirs anew when they
are read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ..core.device import meta_device
from ..dispatch.dispatcher import REGISTRY, call
from ..dispatch.keys import FUNCTIONALITY_BIT
from ..dispatch.overrides import _disabled_torch_function_impl
from ..dispatch.state import OVERRIDING
from ..memory.storage import dataless_storage
from ..tensor.tensor import Tensor, new_like, tensor_object
from ..tensor.tensor_meta import meta_of

FUNCTIONALIZE = FUNCTIONALITY_BIT["Functionalize"]


class Root:
    """The value of a storage, and how often it was written to. With `copies` views are read by operators that copy."""

    __slots__ = ("copies", "generation", "value")

    def __init__(self, value: Tensor, copies: bool) -> None:
        self.value = value
        self.copies = copies
        self.generation = 0


class Step(NamedTuple):
    """A view operator by name and its arguments after the tensor."""

    name: str
    args: tuple[Any, ...]

    def read(self, value: Any, copies: bool, sizes: tuple[int, ...]) -> Any:
        """Return the view of a value, which has these sizes."""
        if not copies:
            return call(REGISTRY.find(self.name), value, *self.args)
        if self.name in RESHAPING:
            return call(REGISTRY.find("view_copy"), value, sizes)
        base, _, overload = self.name.partition(".")
        copy = REGISTRY.operators.get(f"{base}_copy.{overload}" if overload else f"{base}_copy")
        if copy is not None:
            return call(copy, value, *self.args)
        return call(REGISTRY.find(self.name), value, *self.args).clone()

    def written(self, value: Any, part: Any) -> Any:
        """Return a value with other elements where the view lies. RuntimeError for a view without an inverse."""
        inverse = INVERSES.get(self.name)
        if inverse is None:
            raise RuntimeError(
                f"functionalize: a view by {self.name} was written to, and there is no operator that puts it back; "
                f"clone() it first"
            )
        return inverse(value, part, *self.args)


def _scatter(name: str, *rest: Any) -> Callable[..., Any]:
    """Return an inverse: operator `name` with the arguments of the view."""
    return lambda value, part, *args: call(REGISTRY.find(name), value, part, *args, *rest)


def _back(value: Any, part: Any, *args: Any) -> Any:
    return call(REGISTRY.find("view_copy"), part, tuple(value.shape))


def _copied(name: str) -> Callable[..., Any]:
    return lambda value, part, *args: call(REGISTRY.find(name), part, *args)


def _permuted(value: Any, part: Any, dims: tuple[int, ...]) -> Any:
    places = [dim % value.ndim for dim in dims]
    return call(REGISTRY.find("permute_copy"), part, tuple([places.index(dim) for dim in range(value.ndim)]))


RESHAPING = frozenset(
    """view reshape flatten.using_ints unflatten.int view_as reshape_as ravel squeeze squeeze.dim squeeze.dims unsqueeze
    contiguous""".split()
)
"""Views that keep the order of all elements."""
INVERSES: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(RESHAPING, _back),
    "transpose.int": _copied("transpose_copy.int"), "t": _copied("t_copy"),
    "permute": _permuted,
    "adjoint": lambda value, part: part.adjoint().clone(),
    "select.int": _scatter("select_scatter"), "slice.Tensor": _scatter("slice_scatter"),
    "diagonal": _scatter("diagonal_scatter"), "as_strided": _scatter("as_strided_scatter"),
    "view.dtype": lambda value, part, dtype: call(REGISTRY.find("view_copy.dtype"), part, value.dtype),
    "view_as_real": lambda value, part: call(REGISTRY.find("view_as_complex_copy"), part),
    "view_as_complex": lambda value, part: call(REGISTRY.find("view_as_real_copy"), part),
    "real": lambda value, part: call(REGISTRY.find("complex"), part, value.imag) if value.is_complex() else part,
    "imag": lambda value, part: call(REGISTRY.find("complex"), value.real, part),
    "conj": lambda value, part: part.conj_physical(),
    **dict.fromkeys("detach alias to.dtype positive resolve_conj resolve_neg".split(), lambda value, part, *args: part),
}  # fmt: skip
"""View operator -> the value of the whole with another part in the place of the view."""


def shadow_of(value: Tensor) -> Tensor:
    """Return a tensor without data of the sizes, strides and dtype of a value."""
    meta = value.meta
    return new_like(meta_of(meta.sizes, meta.strides, meta.dtype, meta_device))


class FunctionalTensor(Tensor):
    """A value that changes without anything being written. `shadow` is what the tensor would be, without data: it says
    what is a view, and of which strides."""

    __slots__ = ("_generation", "_value", "root", "shadow", "steps")
    class_keys = FUNCTIONALIZE
    __torch_function__: Any = classmethod(_disabled_torch_function_impl)
    root: Root
    shadow: Tensor
    steps: tuple[tuple[Step, tuple[int, ...]], ...]
    _value: Tensor
    _generation: int

    @property
    def value(self) -> Tensor:
        """What the tensor holds now."""
        root = self.root
        if self._generation != root.generation:
            value = root.value
            for step, sizes in self.steps:
                value = step.read(value, root.copies, sizes)
            self._value, self._generation = value, root.generation
        return self._value

    def write(self, value: Tensor) -> None:
        """Let the tensor, and all that share its storage, hold a new value."""
        root = self.root
        wholes = [root.value]
        for step, sizes in self.steps[:-1]:
            wholes.append(step.read(wholes[-1], root.copies, sizes))
        part = value
        for (step, _), whole in zip(reversed(self.steps), reversed(wholes), strict=self.steps != ()):
            part = step.written(whole, part)
        root.value = part
        root.generation += 1
        self._value, self._generation = value, root.generation

    def become(self, other: FunctionalTensor) -> None:
        """Let the tensor be another one from now on: its view of the storage changes."""
        self._meta, self.root, self.shadow, self.steps = other._meta, other.root, other.shadow, other.steps
        self._value, self._generation = other._value, other._generation

    def __repr__(self) -> str:
        return f"FunctionalTensor({self.value!r})"

    pointer = property(lambda self: self.value.pointer)

    def tolist(self) -> Any:
        """Return nested lists of the numbers."""
        return self.value.tolist()  # type: ignore[attr-defined]

    def numpy(self, *, force: bool = False) -> Any:
        """Return an array of the numbers."""
        return self.value.numpy(force=force)  # type: ignore[attr-defined]

    requires_grad = property(lambda self: self.value.requires_grad)


OVERRIDING.pop()  # this subclass overrides nothing


def functional(root: Root, value: Tensor, shadow: Tensor, steps: tuple[tuple[Step, tuple[int, ...]], ...] = ()) -> Any:
    """Return a tensor that holds a value now."""
    meta = shadow.meta
    own = meta_of(meta.sizes, meta.strides, value.meta.dtype, value.meta.device)
    made = tensor_object(FunctionalTensor, own, dataless_storage(own.nbytes, own.device), shadow.offset)
    made.root, made.shadow, made.steps = root, shadow, steps
    made._value, made._generation = value, root.generation
    return made


def fresh(value: Tensor, copies: bool) -> Any:
    """Return a tensor over a storage of its own."""
    return functional(Root(value, copies), value, shadow_of(value))
