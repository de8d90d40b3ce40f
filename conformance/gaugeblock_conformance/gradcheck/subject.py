"""The backend, function and inputs under check: tensors told from other arguments, and inputs made anew elsewhere."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..backend import Array, Backend, MissingCapability

Function = Callable[..., Any]


@dataclass(frozen=True)
class Input:
    """An input that requires grad: its place among the arguments, and where its elements lie."""

    place: int
    array: Array
    strides: tuple[int, ...]
    storage: int

    @property
    def is_complex(self) -> bool:
        return self.array.dtype.kind == "c"

    @property
    def steps(self) -> tuple[complex, ...]:
        """The directions that an element moves in: along the real axis, and for complex ones along the imaginary."""
        return (1.0, 1j) if self.is_complex else (1.0,)


class Subject:
    """A function of ``arguments`` (tensors of ``backend`` and anything else) that is to be differentiated.

    ``unrecorded`` gives the same results, which need not be differentiable, sooner.

    Raises:
        MissingCapability: the backend has no autograd.
        ValueError: no argument is a tensor that requires grad.
        RuntimeError: elements of one share memory, so that they cannot be moved one by one.
    """

    def __init__(
        self, backend: Backend, function: Function, arguments: Sequence[Any], unrecorded: Function | None = None
    ) -> None:
        if "autograd" not in backend.capabilities:
            raise MissingCapability("autograd")
        self.backend = backend
        self.function = function
        self.unrecorded = function if unrecorded is None else unrecorded
        self.arguments = tuple(arguments)
        self._kind = type(backend.from_numpy(np.zeros(1)))
        self._strided = {"strided", "as_strided"} <= set(backend.capabilities)
        self.inputs = [
            self._input(place, value) for place, value in enumerate(self.arguments) if self.requires_grad(value)
        ]
        if not self.inputs:
            raise ValueError("gradcheck: inputs: at least one must be a tensor that requires grad; none does")
        for one in self.inputs:
            if one.array.dtype not in (np.float64, np.complex128):
                text = f"gradcheck: input {one.place} is {one.array.dtype}, not double precision, and likely to fail"
                warnings.warn(text, UserWarning, stacklevel=4)

    def is_tensor(self, value: Any) -> bool:
        return isinstance(value, self._kind)

    def requires_grad(self, value: Any) -> bool:
        return self.is_tensor(value) and bool(self.backend.call("requires_grad", value))

    def values(self, tensor: Any) -> Array:
        """The elements in double precision, apart from the tensor's memory."""
        array = self.backend.to_numpy(tensor)
        return np.array(array, dtype=np.complex128 if array.dtype.kind == "c" else np.float64)

    def run(self, arguments: Sequence[Any] | None = None) -> tuple[Any, ...]:
        """The function's results as a tuple."""
        return _results(self.function(*(self.arguments if arguments is None else arguments)))

    def evaluate(self, arguments: Sequence[Any], places: Sequence[int]) -> list[Array]:
        """The elements of some of the function's results for other arguments, in double precision."""
        results = _results(self.unrecorded(*arguments))
        return [self.values(results[place]) for place in places]

    def with_input(self, one: Input, array: Array) -> list[Any]:
        """The arguments, ``one`` with the elements ``array``."""
        moved = list(self.arguments)
        moved[one.place] = self._made(one, array)
        return moved

    def with_values(self, arrays: Sequence[Array]) -> list[Any]:
        """The arguments with new inputs of these elements, one array per input."""
        made = list(self.arguments)
        for one, array in zip(self.inputs, arrays, strict=True):
            made[one.place] = self._made(one, array)
        return made

    def gradients(
        self, outputs: Sequence[Any], seeds: Sequence[Any], arguments: Sequence[Any] | None = None, **flags: Any
    ) -> tuple[Any, ...]:
        """Of ``outputs`` with incoming gradients ``seeds``, by each input; None where there is none."""
        held = self.arguments if arguments is None else arguments
        wanted = [held[one.place] for one in self.inputs]
        flags = {"retain_graph": True, "allow_unused": True, **flags}
        found: tuple[Any, ...] = self.backend.call("gradients", list(outputs), wanted, list(seeds), **flags)
        return found

    def _input(self, place: int, tensor: Any) -> Input:
        array = np.array(self.backend.to_numpy(tensor))
        if not self._strided:
            return Input(place, array, (), array.size)
        strides = tuple(self.backend.strides(tensor))
        reach = [(size, step) for size, step in zip(array.shape, strides, strict=True) if size > 1]
        cells = np.zeros((), np.int64)
        for size, step in reach:
            cells = np.add.outer(cells, np.arange(size) * step)
        if array.size and len(np.unique(cells)) < array.size:
            raise RuntimeError(
                f"gradcheck: input {place} of sizes {array.shape} and strides {strides} has elements that share "
                "memory; each must have its own: call contiguous() on it first"
            )
        return Input(place, array, strides, int(cells.max()) + 1 if array.size else 0)

    def _made(self, one: Input, array: Array) -> Any:
        """A leaf with the elements ``array``, laid out as the input is."""
        array = np.array(array, one.array.dtype, order="C").reshape(one.array.shape)
        packed = tuple(math.prod(array.shape[k + 1 :]) for k in range(array.ndim))
        if not self._strided or not array.size or packed == one.strides:
            return self.backend.from_numpy(array, requires_grad=True)
        storage = np.zeros(one.storage, array.dtype)
        steps = tuple(array.itemsize * step for step in one.strides)
        np.lib.stride_tricks.as_strided(storage, array.shape, steps)[...] = array
        base = self.backend.from_numpy(storage)
        return self.backend.call("requires_grad_", self.backend.call("as_strided", base, array.shape, one.strides, 0))


def _results(result: Any) -> tuple[Any, ...]:
    return tuple(result) if isinstance(result, list | tuple) else (result,)
