"""Running a kernel over whole rows: all other dims are walked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from ..core.away import long_call
from ..iteration.dimensions import coalesce_dimensions, iteration_strides
from ..kernels.compiler import Builtin
from ..tensor.tensor_meta import TensorMeta

STEPS = 64
"""Steps of work that an element of a row takes, about; the loops look for signals between two rows only."""


class RowKernel(Protocol):
    """A kernel whose dimension 0 is a row that it takes as a whole."""

    @property
    def strided(self) -> Builtin: ...


class RowLaunch:
    """A row kernel with its shape and byte strides, the row first."""

    __slots__ = ("kernel", "tail")

    def __init__(self, kernel: RowKernel, shape: tuple[int, ...], strides: Sequence[tuple[int, ...]]) -> None:
        self.kernel = kernel
        self.tail = (len(shape), *shape, *(step for steps in strides for step in steps))

    def builtin(self) -> Callable[..., None]:
        """What takes the addresses and the tail."""
        return long_call(STEPS * self.tail[1], self.kernel.strided)

    def run(self, addresses: list[int], numbers: Sequence[Any] = ()) -> None:
        """Run over all rows; `addresses` of the operands in memory, outputs first."""
        self.builtin()(*addresses, *numbers, *self.tail)


def row_launch(kernel: RowKernel, operands: Sequence[TensorMeta], row: int) -> RowLaunch:
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
