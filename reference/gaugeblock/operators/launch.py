"""Running a compiled kernel over an iteration space: one contiguous run, or nested strides."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Protocol

from ..core.observe import observed
from ..kernels.compiler import Builtin

TILED_FROM = 8
"""Elements of a row from which bringing strided operands together pays."""


LONG = 32
"""Elements of the second dim from which it takes the place of a first one that is too short."""


def _swapped(values: tuple[int, ...]) -> tuple[int, ...]:
    """The first two values in the other order."""
    first, second, *others = values
    return (second, first, *others)


class Kernel(Protocol):
    """A compiled loop over any iteration space: pointwise, or of the same calling convention."""

    @property
    def contiguous(self) -> Builtin: ...

    @property
    def strided(self) -> Builtin: ...

    @property
    def results(self) -> Sequence[Any]: ...

    def tiled(self, apart: tuple[bool, ...]) -> Builtin: ...


class Launch:
    """A kernel with its shape and byte strides (innermost first, outputs first).

    `slots` are the positions among the call's values (outputs first) that are addresses, in the order of `strides`.
    """

    __slots__ = ("apart", "contiguous", "count", "kernel", "shape", "slots", "steps", "strides", "tail")

    def __init__(
        self,
        kernel: Kernel,
        shape: tuple[int, ...],
        strides: Sequence[tuple[int, ...]],
        itemsizes: Sequence[int],
        slots: Sequence[int],
    ) -> None:
        self.kernel = kernel
        self.count = prod(shape)
        self.contiguous = self.count == 1 or (
            len(shape) <= 1 and all(steps == (size,) for steps, size in zip(strides, itemsizes, strict=True))
        )
        self.shape = shape or (1,)
        self.strides = [steps or (0,) for steps in strides]
        if self.shape[0] < TILED_FROM and len(self.shape) > 1 and self.shape[1] >= LONG:
            self.shape = _swapped(self.shape)
            self.strides = [_swapped(operand) for operand in self.strides]
        self.slots = tuple(slots)
        self.steps = tuple(itemsizes)
        self.apart: tuple[bool, ...] | None = None
        if self.shape[0] >= TILED_FROM:
            outputs = len(kernel.results)
            apart = tuple(
                operand[0] != size and (operand[0] != 0 or place < outputs)
                for place, (operand, size) in enumerate(zip(self.strides, itemsizes, strict=True))
            )
            self.apart = apart if any(apart) else None
        self.tail = (len(self.shape), *self.shape, *(step for steps in self.strides for step in steps))
        observed("loop", self)

    def run(self, values: list[Any]) -> None:
        """Run over everything; `values` are addresses and numbers, outputs first."""
        if self.contiguous:
            self.kernel.contiguous(*values, self.count)
        else:
            self.strided()(*values, *self.tail)

    def strided(self) -> Callable[..., None]:
        """The builtin for these strides: over rows as they lie, or over tiles where a row's elements lie apart."""
        return self.kernel.strided if self.apart is None else self.kernel.tiled(self.apart)

    def builtin(self) -> Callable[..., None]:
        """What a fast path calls with addresses, numbers and then the count or the tail."""
        return self.kernel.contiguous if self.contiguous else self.strided()

    def call(self) -> tuple[Callable[..., None], tuple[int, ...]]:
        """The builtin, and its arguments behind the addresses and numbers."""
        return self.builtin(), (self.count,) if self.contiguous else self.tail

    def counted(self) -> Callable[..., None]:
        """As `builtin`, always called with the count last."""
        call = self.builtin()
        if self.contiguous:
            return call
        tail = self.tail

        def run_strided(*values: Any) -> None:
            call(*values[:-1], *tail)

        return run_strided


def nothing(*values: Any) -> None:
    """Do nothing: the kernel over no elements."""


class EmptyLaunch(Launch):
    """The launch over no elements."""

    __slots__ = ()

    def __init__(self) -> None:
        self.count = 0
        self.contiguous = True
        self.shape, self.strides, self.slots, self.steps, self.apart, self.tail = (0,), [], (), (), None, ()

    def run(self, values: list[Any]) -> None:
        """Do nothing."""

    def strided(self) -> Callable[..., None]:
        """Return the kernel that does nothing."""
        return nothing

    def builtin(self) -> Callable[..., None]:
        """Return the kernel that does nothing."""
        return nothing

    def counted(self) -> Callable[..., None]:
        """Return the kernel that does nothing."""
        return nothing


NO_ELEMENTS = EmptyLaunch()
