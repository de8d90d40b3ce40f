"""Running a compiled kernel over an iteration space: one contiguous run, nested strides, or shares of it on threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Protocol

from ..iteration.split import GRAIN_SIZE
from ..kernels.compiler import Builtin
from ..kernels.parallel import get_num_threads, parallel_for

PARALLEL_FROM = 8 * GRAIN_SIZE
"""Elements from which threads are worth waking: that costs as much as some hundred thousand additions."""

TILED_FROM = 8
"""Elements of a row from which bringing strided operands together pays."""


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

    def run(self, values: list[Any]) -> None:
        """Run over everything; `values` are addresses and numbers, outputs first."""
        if self.count > PARALLEL_FROM and get_num_threads() > 1:
            self._run_parallel(values)
        elif self.contiguous:
            self.kernel.contiguous(*values, self.count)
        else:
            self.strided()(*values, *self.tail)

    def strided(self) -> Callable[..., None]:
        """The builtin for these strides: over rows as they lie, or over tiles where a row's elements lie apart."""
        return self.kernel.strided if self.apart is None else self.kernel.tiled(self.apart)

    def builtin(self) -> Callable[..., None]:
        """What a fast path calls with addresses, numbers and then the count or the tail: a compiled builtin, or for
        spaces worth sharing a function that looks at the number of threads first."""
        call = self.kernel.contiguous if self.contiguous else self.strided()
        if self.count <= PARALLEL_FROM:
            return call
        extra = 1 if self.contiguous else len(self.tail)

        def run_large(*values: Any) -> None:
            if get_num_threads() > 1:
                self._run_parallel(list(values[:-extra]))
            else:
                call(*values)

        return run_large

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

    def _run_parallel(self, values: list[Any]) -> None:
        if self.contiguous:
            call = self.kernel.contiguous

            def run_flat(begin: int, end: int) -> None:
                call(*self._moved(values, self.steps, begin), end - begin)

            parallel_for(self.count, GRAIN_SIZE, run_flat)
            return
        dim = max(range(len(self.shape)), key=lambda d: (self.shape[d] >= get_num_threads(), d, self.shape[d]))
        rest = max(self.count // self.shape[dim], 1)
        strided = self.strided()
        steps = tuple(operand[dim] for operand in self.strides)
        head, flat = self.shape[:dim], tuple(step for operand in self.strides for step in operand)

        def run_box(begin: int, end: int) -> None:
            sizes = (*head, end - begin, *self.shape[dim + 1 :])
            strided(*self._moved(values, steps, begin), len(sizes), *sizes, *flat)

        parallel_for(self.shape[dim], max(GRAIN_SIZE // rest, 1), run_box)

    def _moved(self, values: list[Any], steps: tuple[int, ...], begin: int) -> list[Any]:
        moved = list(values)
        for slot, step in zip(self.slots, steps, strict=True):
            moved[slot] += begin * step
        return moved
