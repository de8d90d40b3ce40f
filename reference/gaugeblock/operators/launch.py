"""Running a compiled kernel, or a formula by name, over an iteration space: one contiguous run, or nested strides."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from math import prod
from typing import Any, Protocol

from ..core.device import cpu
from ..core.dtype import DType
from ..core.observe import OBSERVATION
from ..core.promotion import promote_types
from ..iteration.dimensions import broadcast_shapes, iteration_strides, loop_dimensions
from ..kernels.body import Formula
from ..kernels.compiler import Builtin
from ..kernels.conversion import Immediate, Raw
from ..kernels.pointwise import Operand, PointwiseKernel, named_kernel, pointwise_kernel
from ..tensor.tensor import Tensor
from ..tensor.tensor_meta import TensorMeta, remember
from ..tensor.versions import bump_version

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
        if OBSERVATION.watcher is not None:
            OBSERVATION.watcher("loop", self)

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


Ints = tuple[int, ...]


def element_launch(
    formula: str,
    out: TensorMeta,
    inputs: Sequence[TensorMeta | Immediate],
    compute: DType,
    more: Sequence[TensorMeta] = (),
) -> Launch | None:
    """The launch that writes `formula` of the inputs, broadcast, to `out`; None when there is nothing to write.

    Further results of the formula go to `more`, of the same sizes. Dims that `out` repeats (stride 0) are written once.
    """
    if out.numel == 0:
        return None
    shape = tuple([1 if step == 0 else size for size, step in zip(out.sizes, out.strides, strict=True)])
    outputs = [out, *more]
    memory = [*outputs, *(value for value in inputs if not isinstance(value, Immediate))]
    strides = [iteration_strides(g.sizes, g.strides, out.sizes, g.dtype.itemsize) for g in memory]
    merged, steps = loop_dimensions(shape, strides)
    operands = [v if isinstance(v, Immediate) else v.dtype for v in inputs]
    places = [place for place, value in enumerate(inputs, len(outputs)) if not isinstance(value, Immediate)]
    slots = [*range(len(outputs)), *places]
    kernel = formula_kernel(formula, operands, compute, *(one.dtype for one in outputs))
    return Launch(kernel, merged, steps, [g.dtype.itemsize for g in memory], slots)


def formula_kernel(
    name: str, operands: Sequence[DType | Immediate], compute: DType, *results: DType
) -> PointwiseKernel:
    """The kernel of a formula from the tables; one that was declared outside has a name with a namespace."""
    if "::" in name:
        formula, kinds = _found(name, operands)
        return pointwise_kernel(name, formula, kinds, compute, results)
    return named_kernel(name, lambda: _found(name, operands), operands, compute, results)


def _found(name: str, operands: Sequence[DType | Immediate]) -> tuple[Formula, tuple[Operand, ...]]:
    """Return a formula and its operands; those that it wants unconverted are handed over so."""
    from .formulas import FORMULAS

    formula = FORMULAS[name]
    kinds = [_unconverted(one) if index in formula.raw else one for index, one in enumerate(operands)]
    return formula.function, tuple(kinds)


def _unconverted(operand: DType | Immediate) -> Raw | Immediate:
    return Raw(operand) if isinstance(operand, DType) else Immediate(operand.dtype, raw=True)


def map_into(out: Tensor, formula: Formula, *inputs: Tensor, compute: DType | None = None) -> Tensor:
    """Write ``formula(*inputs)``, element by element, to `out`, and return it.

    The inputs broadcast to out's sizes and are converted to `compute` (their promoted dtype if not given), the results
    to out's dtype. The formula is called once per combination of dtypes, with expressions, to be recorded.
    Raises RuntimeError for sizes that do not broadcast to out's, for no input, and for tensors without data.
    """
    if not inputs:
        raise RuntimeError("map_into(): expected at least one input")
    key = (formula, compute, *[tensor.meta for tensor in inputs])
    plans = out.meta.plans
    launch: Launch | None = plans.get(key)
    if launch is None:
        launch = remember(plans, key, _launch(out.meta, formula, [t.meta for t in inputs], compute))
    bump_version(out)
    if out.meta.numel:
        launch.run([out.pointer, *[tensor.pointer for tensor in inputs]])
    return out


def _launch(out: TensorMeta, formula: Formula, inputs: list[TensorMeta], compute: DType | None) -> Launch:
    operands = [out, *inputs]
    for meta in operands:
        if meta.device is not cpu or meta.lazy:
            raise RuntimeError(
                f"map_into(): expected tensors whose memory holds their values, got one on {meta.device}"
                f"{', lazily conjugate or negative' if meta.lazy else ''}"
            )
    if broadcast_shapes([meta.sizes for meta in operands]) != out.sizes:
        raise RuntimeError(f"map_into(): the inputs do not broadcast to the output's sizes {list(out.sizes)}")
    common = compute or reduce(promote_types, [meta.dtype for meta in inputs])
    strides = [iteration_strides(g.sizes, g.strides, out.sizes, g.dtype.itemsize) for g in operands]
    shape, steps = loop_dimensions(out.sizes, strides)
    name: Any = getattr(formula, "__name__", "formula")
    kernel = pointwise_kernel(name, formula, [g.dtype for g in inputs], common, (out.dtype,))
    return Launch(kernel, shape, steps, [g.dtype.itemsize for g in operands], range(len(operands)))
