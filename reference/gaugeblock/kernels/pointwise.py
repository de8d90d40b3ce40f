"""Pointwise kernels: a formula specialised for operand dtypes, compiled when first called, and launched over strides.

    kernel.contiguous(out_ptr..., in_ptr_or_number..., n) -> None
    kernel.strided(out_ptr..., in_ptr_or_number..., ndim, sizes..., byte strides operand by operand...) -> None

Sizes and strides stand innermost first; outputs first, then inputs in memory (numbers have no strides). Addresses are
ints. Both raise RuntimeError("ZeroDivisionError") for integer division by zero, TypeError for wrong arguments and
OverflowError for ints below -2**63 or from 2**64 on; both release the interpreter lock above 32768 elements.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from itertools import chain
from math import prod
from typing import Any, Protocol

from ..core.dtype import DType, bool_, uint64
from ..core.tracing import TRACING
from .body import Body, Formula, record
from .bound_call import nothing
from .code import Declarations, Module
from .compiler import Builtin, compiler, made_once
from .conversion import Immediate, Raw
from .copying import MOST_BLOCK, copied_blocks, copied_row, is_copied
from .isa import Level, current_level
from .loops import RowWriter, row_text
from .pointwise_entry import Signature, contiguous_entry, rows_text, strided_entry
from .tiles import MAX_OPERANDS, tiled_driver, transfer_routine

Operand = DType | Raw | Immediate
Find = Callable[[str, tuple[Operand, ...]], tuple[Formula, tuple[Operand, ...]]]
"""Gives the formula of a name, and the operands as the formula takes them."""


def operand_kinds(operands: Sequence[DType | Raw | Immediate]) -> list[str]:
    """Return how a kernel reads its operands; beside truth values alone an int is not taken modulo 2**64."""
    dtypes = [one.dtype if isinstance(one, Immediate) else None for one in operands]
    kinds = ["m" if one is None else "u" if one is uint64 else "bidc"[one.kind] for one in dtypes]
    if all(isinstance(one, Immediate) or one is bool_ for one in operands) and "m" in kinds:
        return ["n" if kind == "i" else kind for kind in kinds]
    return kinds


class PointwiseKernel:
    """A compiled loop family; the attributes `contiguous` and `strided` are builtins made on first use.

    With `find` the formula is the one that stands for `name` in every process. It is looked up where its loop has to be
    written for the first time, with the operands as the formula takes them.
    """

    def __init__(
        self, name: str, formula: Formula | None, operands: tuple[Operand, ...], compute: DType,
        results: tuple[DType, ...], level: Level, find: Find | None = None,
    ) -> None:  # fmt: skip
        self.name = name
        self.compute = compute
        self.results = results
        self.level = level
        self.signature = Signature(len(results), "".join(operand_kinds(operands)))
        memory = [one if isinstance(one, DType) else one.dtype for one in operands if not isinstance(one, Immediate)]
        self.itemsizes = [dtype.itemsize for dtype in (*results, *memory)]
        dtypes = (one.name if isinstance(one, DType) else f"{one}" for one in (*operands, compute, *results))
        self.description = "" if find is None else f"pointwise {name} {' '.join(dtypes)} {level.name}"
        self._given = formula, operands
        self._find = find
        self._tiled: dict[tuple[bool, ...], Builtin] = {}

    @made_once
    def _taken(self) -> tuple[Any, tuple[Operand, ...]]:
        return self._given if self._find is None else self._find(self.name, self._given[1])

    @property
    def formula(self) -> Formula:
        """What is computed."""
        formula: Formula = self._taken[0]
        return formula

    @property
    def operands(self) -> tuple[Operand, ...]:
        """The operands as the formula takes them."""
        return self._taken[1]

    def __repr__(self) -> str:
        return f"<pointwise kernel {self.title}>"

    @property
    def title(self) -> str:
        """Name with dtypes, used in messages."""
        kinds = [o.name if isinstance(o, DType) else o.dtype.name for o in self.operands]
        return f"{self.name}({', '.join(kinds)})"

    def body(self) -> Body:
        """The recorded loop body."""
        return record(self.formula, self.operands, self.compute, self.results, self.level)

    def text(self, body: Body) -> str:
        """LLVM IR of the row function, named @NAME."""
        if is_copied(body):
            return copied_row(self.itemsizes[0], self.level)
        return row_text(RowWriter(body, Declarations(self.level.vector_bytes)), self.level.attributes)

    @made_once
    def _row(self) -> tuple[int, int, bool]:
        """The address of the row function, its width, and whether it only copies."""
        if not self.description:
            body = self.body()
            return compiler().load_text(self.text(body)), body.width, is_copied(body)
        (row,), facts = compiler().described(self.description, self._module)
        width, copied = map(int, facts.split())
        return row, width, bool(copied)

    def _module(self) -> Module:
        body = self.body()
        return Module(self.text(body), f"{body.width} {is_copied(body):d}")

    @property
    def width(self) -> int:
        """Elements of the row function's vectors."""
        return self._row[1]

    @property
    def copies(self) -> bool:
        """True for a kernel that copies elements unchanged; its row function can also write them in reverse order."""
        return self._row[2]

    @made_once
    def contiguous(self) -> Builtin:
        """The builtin for contiguous operands."""
        address = contiguous_address(self.signature)
        return compiler().builtin(self.name, address, [self._row[0], *self.itemsizes])

    @made_once
    def strided(self) -> Builtin:
        """The builtin for any strides."""
        vectors = self.level if self.width > 1 else None
        return rows_builtin(self.name, self.signature, self._row[0], self.itemsizes, 0, vectors)

    def tiled(self, apart: tuple[bool, ...]) -> Builtin:
        """As `strided`, with the operands in memory marked in `apart` going through buffers tile by tile."""
        if self.width == 1 or len(apart) > MAX_OPERANDS:
            return self.strided
        found = self._tiled.get(apart)
        if found is None:
            outputs, level = len(self.results), self.level
            transfers = [
                transfer_routine(itemsize, level, filling=place >= outputs) if through else 0
                for place, (itemsize, through) in enumerate(zip(self.itemsizes, apart, strict=True))
            ]
            descriptor = [self._row[0], *self.itemsizes, tiled_driver(level), 0, *transfers]
            found = compiler().builtin(self.name, strided_address(self.signature), descriptor)
            self._tiled[apart] = found
        return found


def rows_builtin(
    name: str, signature: Signature, row: int, itemsizes: Sequence[int], first: int, vectors: Level | None = None, *,
    weighted: bool = False,
) -> Builtin:  # fmt: skip
    """Return the builtin of a row function for any strides, which shares out dims from `first` on. `vectors` is the
    level of a row function of `loops` that has vectors, and takes repeated elements of stride 0. With `weighted` the
    last number says how much work an element of a row is."""
    driver = rows_driver(len(itemsizes), vectors)
    return compiler().builtin(name, strided_address(signature, weighted), [row, *itemsizes, driver, first])


@functools.cache
def blocks_builtin(nbytes: int, level: Level) -> Builtin:
    """Return the builtin that copies blocks of adjacent elements, which lie at any strides."""
    row = compiler().load(f"blocks {nbytes} {level.name}", lambda: copied_blocks(nbytes, level))
    return rows_builtin("blocks", Signature(1, "m"), row, (nbytes, nbytes), 0)


@functools.cache
def contiguous_address(signature: Signature) -> int:
    """Address of the contiguous entry point for a signature."""
    return compiler().load(f"contiguous {signature}", lambda: contiguous_entry(signature))


@functools.cache
def rows_driver(operands: int, vectors: Level | None) -> int:
    """Return the address of the driver of rows for a number of operands in memory."""
    description = f"rows {operands} {vectors.name if vectors else ''}"
    return compiler().load(description, lambda: rows_text(operands, vectors))


@functools.cache
def strided_address(signature: Signature, weighted: bool = False) -> int:
    """Address of the strided entry point for a signature."""
    return compiler().load(f"strided {signature} {weighted}", lambda: strided_entry(signature, weighted))


_kernel = functools.cache(PointwiseKernel)


def pointwise_kernel(
    name: str, formula: Formula, operands: Sequence[Operand], compute: DType, results: Sequence[DType]
) -> PointwiseKernel:
    """The kernel of a formula for operand dtypes (memory or Immediate), compute dtype and result dtypes; memoised."""
    return _kernel(name, formula, tuple(operands), compute, tuple(results), current_level())


def named_kernel(
    name: str, find: Find, operands: Sequence[Operand], compute: DType, results: Sequence[DType]
) -> PointwiseKernel:
    """The kernel of the formula that stands for `name` in every process; memoised."""
    return _kernel(name, None, tuple(operands), compute, tuple(results), current_level(), find)


TILED_FROM = 8
"""Elements of a row from which bringing strided operands together pays."""


LONG = 16
"""Elements of a dim from which it takes the place of a first one that is too short; if no dim has so many, one of three
times as many as that does."""


def _with_first(place: int, values: tuple[int, ...]) -> tuple[int, ...]:
    """Return the values with the one at a place in front of the others."""
    return (values[place], *values[:place], *values[place + 1 :])


class Kernel(Protocol):
    """A compiled loop over any iteration space: pointwise, or of the same calling convention."""

    @property
    def contiguous(self) -> Builtin: ...

    @property
    def strided(self) -> Builtin: ...

    @property
    def results(self) -> Sequence[Any]: ...

    @property
    def copies(self) -> bool: ...

    def tiled(self, apart: tuple[bool, ...]) -> Builtin: ...


class Launch:
    """A kernel with its shape and byte strides (innermost first, outputs first). `slots` are the positions among the
    call's values (outputs first) that are addresses, in the order of `strides`."""

    __slots__ = ("_call", "apart", "contiguous", "count", "kernel", "shape", "slots", "steps", "strides", "tail")

    def __init__(
        self, kernel: Kernel, shape: tuple[int, ...], strides: Sequence[tuple[int, ...]], itemsizes: Sequence[int],
        slots: Sequence[int],
    ) -> None:  # fmt: skip
        self.kernel = kernel
        self.count = prod(shape)
        self.contiguous = self.count == 1 or (
            len(shape) <= 1 and all(steps == (size,) for steps, size in zip(strides, itemsizes, strict=True))
        )
        self.shape = shape or (1,)
        self.strides = [steps or (0,) for steps in strides]
        if self.shape[0] < TILED_FROM:
            least = (LONG, 3 * self.shape[0])
            long = next((dim for many in least for dim, size in enumerate(self.shape) if size >= many), 0)
            self.shape, *self.strides = [_with_first(long, values) for values in (self.shape, *self.strides)]
        self.slots = tuple(slots)
        self.steps = tuple(itemsizes)
        self.apart: tuple[bool, ...] | None = None
        if self.shape[0] >= TILED_FROM:
            outputs = len(kernel.results)
            apart = tuple(
                operand[0] != size
                and not (operand[0] == -size and kernel.copies if place < outputs else operand[0] == 0)
                for place, (operand, size) in enumerate(zip(self.strides, itemsizes, strict=True))
            )
            self.apart = apart if any(apart) else None
        self.tail = (len(self.shape), *self.shape, *(step for steps in self.strides for step in steps))
        self._call: tuple[Callable[..., None], tuple[int, ...]] | None = None
        if TRACING.hook is not None:
            TRACING.hook("loop", self)

    def run(self, values: Sequence[Any]) -> None:
        """Run over everything; `values` are addresses and numbers, outputs first."""
        builtin, tail = self.call()
        builtin(*values, *tail)

    def call(self) -> tuple[Callable[..., None], tuple[int, ...]]:
        """Return the builtin, and its arguments behind the addresses and numbers. It runs over rows, or over tiles if
        the elements of a row are not adjacent in memory."""
        if self._call is None:
            self._call = (self.kernel.contiguous, (self.count,)) if self.contiguous else self._over_dims()
        return self._call

    def _over_dims(self) -> tuple[Callable[..., None], tuple[int, ...]]:
        if blocks := self.in_blocks():
            return blocks
        return self.kernel.strided if self.apart is None else self.kernel.tiled(self.apart), self.tail

    def in_blocks(self) -> tuple[Callable[..., None], tuple[int, ...]] | None:
        """Return the launch that copies a dim of few elements, adjacent in both operands, as one; if there is one."""
        block = next((dim for dim, size in enumerate(self.shape) if self._adjacent(dim) and size > 1), None)
        nbytes = 0 if block is None else self.shape[block] * self.steps[0]
        if block is None or nbytes > MOST_BLOCK or self.count < LONG * self.shape[block] or not self.kernel.copies:
            return None
        dims = list(zip(self.shape, *self.strides, strict=True))
        del dims[block]
        if dims[0][0] < LONG:
            longest = max(range(len(dims)), key=lambda d: dims[d][0])
            dims.insert(0, dims.pop(longest))
        return blocks_builtin(nbytes, current_level()), (len(dims), *chain.from_iterable(zip(*dims, strict=True)))

    def _adjacent(self, dim: int) -> bool:
        return all(steps[dim] == size for steps, size in zip(self.strides, self.steps, strict=True))


class _NoElements:
    contiguous = strided = staticmethod(nothing)
    results = ()
    copies = False

    def tiled(self, apart: tuple[bool, ...]) -> Builtin:
        return nothing


NO_ELEMENTS = Launch(_NoElements(), (0,), [], [], [])
"""The launch over no elements."""
