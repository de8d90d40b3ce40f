"""Pointwise kernels: a formula specialised for operand dtypes, compiled when first called.

    kernel.contiguous(out_ptr..., in_ptr_or_number..., n) -> None
    kernel.strided(out_ptr..., in_ptr_or_number..., ndim, sizes..., byte strides operand by operand...) -> None

Sizes and strides stand innermost first; outputs first, then inputs in memory (numbers have no strides). Addresses are
ints. Both raise RuntimeError("ZeroDivisionError") for integer division by zero, TypeError for wrong arguments and
OverflowError for ints below -2**63 or from 2**64 on; both release the interpreter lock above 32768 elements.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from ..core.dtype import DType
from .body import Body, Formula, record
from .code import NAME
from .compiler import Builtin, compiler
from .declarations import Declarations
from .isa import Level, current_level
from .loops import RowWriter
from .operand import Immediate, Raw, operand_kinds
from .packing import gather, scatter
from .pieces import row_text
from .pointwise_entry import Signature, contiguous_entry, strided_entry
from .rows_driver import rows_driver
from .tiles import MAX_OPERANDS, tiled_driver


class PointwiseKernel:
    """A compiled loop family; the attributes `contiguous` and `strided` are builtins made on first use."""

    __slots__ = (
        "_descriptor", "_tiled", "compute", "contiguous", "formula", "level", "name", "operands", "results", "strided",
        "width",
    )  # fmt: skip

    contiguous: Builtin
    strided: Builtin
    width: int

    def __init__(
        self,
        name: str,
        formula: Formula,
        operands: tuple[DType | Raw | Immediate, ...],
        compute: DType,
        results: tuple[DType, ...],
        level: Level,
    ) -> None:
        self.name = name
        self.formula = formula
        self.operands = operands
        self.compute = compute
        self.results = results
        self.level = level

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
        declarations = Declarations(self.level.vector_bytes)
        row = row_text(RowWriter(body, declarations), NAME)
        return f"{row}\n{declarations.text(self.level.attributes)}"

    def __getattr__(self, attribute: str) -> Any:
        if attribute in ("width", "_descriptor", "_tiled"):
            body = self.body()
            self.width = body.width
            row = compiler().load(self.text(body))
            self._descriptor = [row, *(operand.itemsize for operand in body.memory)]
            self._tiled: dict[tuple[bool, ...], Builtin] = {}
        elif attribute == "contiguous":
            self.contiguous = compiler().builtin(self.name, contiguous_address(self._signature()), self._descriptor)
        elif attribute == "strided":
            signature = self._signature()
            descriptor = [*self._descriptor, rows_driver(signature.memory), 0]
            self.strided = compiler().builtin(self.name, strided_address(signature), descriptor)
        else:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {attribute!r}")
        return object.__getattribute__(self, attribute)

    def _signature(self) -> Signature:
        kinds = operand_kinds(self.operands)
        return Signature(len(self.results), "".join(kinds))

    def tiled(self, apart: tuple[bool, ...]) -> Builtin:
        """As `strided`, with the operands in memory marked in `apart` going through buffers tile by tile."""
        if self.width == 1 or len(apart) > MAX_OPERANDS:
            return self.strided
        found = self._tiled.get(apart)
        if found is None:
            outputs, level = len(self.results), self.level
            transfers = [
                (scatter if place < outputs else gather)(itemsize, level) if through else 0
                for place, (itemsize, through) in enumerate(zip(self._descriptor[1:], apart, strict=True))
            ]
            descriptor = [*self._descriptor, tiled_driver(level), 0, *transfers]
            found = compiler().builtin(self.name, strided_address(self._signature()), descriptor)
            self._tiled[apart] = found
        return found


@functools.cache
def contiguous_address(signature: Signature) -> int:
    """Address of the contiguous entry point for a signature."""
    return compiler().load(contiguous_entry(signature))


@functools.cache
def strided_address(signature: Signature) -> int:
    """Address of the strided entry point for a signature."""
    return compiler().load(strided_entry(signature))


_KERNELS: dict[tuple[object, ...], PointwiseKernel] = {}


def pointwise_kernel(
    name: str,
    formula: Formula,
    operands: Sequence[DType | Raw | Immediate],
    compute: DType,
    results: Sequence[DType],
) -> PointwiseKernel:
    """The kernel of a formula for operand dtypes (memory or Immediate), compute dtype and result dtypes; memoised."""
    level = current_level()
    key = (formula, *operands, None, compute, *results, level.name)
    kernel = _KERNELS.get(key)
    if kernel is None:
        kernel = PointwiseKernel(name, formula, tuple(operands), compute, tuple(results), level)
        kernel = _KERNELS.setdefault(key, kernel)
    return kernel
