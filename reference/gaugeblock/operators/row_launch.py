"""Running a kernel over whole rows: all other dims are walked, and shared out among threads where there is enough."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Protocol

from ..iteration.broadcast import iteration_strides
from ..iteration.coalesce import coalesce_dimensions
from ..iteration.split import GRAIN_SIZE
from ..kernels.compiler import Builtin
from ..kernels.parallel import get_num_threads, parallel_for
from ..tensor.geometry import Geometry
from .launch import PARALLEL_FROM


class RowKernel(Protocol):
    """A kernel whose dimension 0 is a row that it takes as a whole."""

    strided: Builtin


class RowLaunch:
    """A row kernel with its shape and byte strides, the row first."""

    __slots__ = ("count", "kernel", "shape", "strides", "tail")

    def __init__(self, kernel: RowKernel, shape: tuple[int, ...], strides: Sequence[tuple[int, ...]]) -> None:
        self.kernel = kernel
        self.shape = shape
        self.strides = tuple(strides)
        self.count = prod(shape)
        self.tail = (len(shape), *shape, *(step for steps in self.strides for step in steps))

    def builtin(self) -> Callable[..., None]:
        """What takes the addresses and the tail: the compiled kernel, or for many rows a look at the threads first."""
        if self.count <= PARALLEL_FROM or len(self.shape) == 1:
            return self.kernel.strided
        places = len(self.strides)
        return lambda *values: self.run(list(values[:places]), values[places : len(values) - len(self.tail)])

    def run(self, addresses: list[int], numbers: Sequence[Any] = ()) -> None:
        """Run over all rows; `addresses` of the operands in memory, outputs first."""
        if self.count <= PARALLEL_FROM or get_num_threads() == 1 or len(self.shape) == 1:
            self.kernel.strided(*addresses, *numbers, *self.tail)
            return
        last = len(self.shape) - 1
        steps = [operand[last] for operand in self.strides]
        flat = [step for operand in self.strides for step in operand]

        def run_part(begin: int, end: int) -> None:
            moved = [address + begin * step for address, step in zip(addresses, steps, strict=True)]
            self.kernel.strided(*moved, *numbers, len(self.shape), *self.shape[:last], end - begin, *flat)

        parallel_for(self.shape[last], max(1, GRAIN_SIZE * self.shape[last] // self.count), run_part)


def row_launch(kernel: RowKernel, operands: Sequence[Geometry], row: int) -> RowLaunch:
    """The launch over operands of one shape (the first's), row-major over the dims other than `row`."""
    sizes = operands[0].sizes or (1,)
    steps = [iteration_strides(g.sizes or (1,), g.strides or (1,), sizes, g.dtype.itemsize) for g in operands]
    others = [d for d in reversed(range(len(sizes))) if d != row]
    shape, strides = coalesce_dimensions(
        tuple(sizes[d] for d in others), [tuple(operand[d] for d in others) for operand in steps]
    )
    if shape == (1,):
        shape, strides = (), tuple(() for _ in operands)
    return RowLaunch(
        kernel,
        (sizes[row], *shape),
        [(operand[row], *rest) for operand, rest in zip(steps, strides, strict=True)],
    )
