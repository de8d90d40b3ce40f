"""A kernel of max pooling over windows at random distances: the largest elements of images, and their places.

    kernel(result_ptr, places_ptr, in_ptr, shares_ptr, four numbers for each dim, step of the shares, 1, images,
           byte strides of the operands) -> None

The numbers of a dim are the size of the image, the windows along it, the elements of one, and the bytes from one
element to the next. Windows begin in steps of one mean length, the first at 0 and the last at the end; the share of an
image along a dim, a number below 1, says where in a step the places are rounded. Of equal elements the first is the
largest, of NaN the last. Results are row-major behind the images.
"""

from __future__ import annotations

import functools

from ..core.dtype import DType, int64
from .code import Declarations, row_module
from .compiler import Builtin, compiler
from .conversion import SCALAR_TYPES, rounded
from .expression import INT, Expr, select
from .functions import cast, isnan
from .isa import Level, current_level
from .loops import load_value, store_value
from .lower import Emitter
from .pointwise import rows_builtin
from .pointwise_entry import Signature


@functools.cache
def fractional_pooling_kernel(dtype: DType, order: tuple[int, ...]) -> Builtin:
    """Return the builtin for images of a float dtype, of which `order` has the share of each dim; memoised."""
    level = current_level()
    row = compiler().load(f"fractional {dtype.name} {order} {level.name}", lambda: _Writer(dtype, order, level).text())
    signature = Signature(2, "mm" + "i" * (4 * len(order) + 1))
    operands = dtype, int64, dtype, dtype
    return rows_builtin("fractional_max_pool", signature, row, [one.itemsize for one in operands], 0)


class _Writer:
    """Writes the module of a kernel."""

    def __init__(self, dtype: DType, order: tuple[int, ...], level: Level) -> None:
        self.dtype, self.type, self.size, self.level = dtype, SCALAR_TYPES[dtype], dtype.itemsize, level
        self.order = order
        self.declarations = Declarations(level.vector_bytes)
        self.code = code = Emitter(1, "x", self.declarations)
        self.pointers = [code.load("ptr", code.slot("%pointers", k)) for k in range(4)]
        self.strides = [code.load("i64", code.slot("%strides", k)) for k in range(4)]
        numbers = [code.load("i64", code.slot("%numbers", k)) for k in range(4 * len(order) + 1)]
        self.sizes, self.counts, self.widths, self.steps = (numbers[k:-1:4] for k in range(4))
        self.share_step = numbers[-1]

    def text(self) -> str:
        """LLVM IR of the module; the row function is called @NAME."""
        code = self.code
        with code.loop(0, "%n") as image:
            operands = zip(self.pointers, self.strides, strict=True)
            result, places, source, shares = (code.at(pointer, image, stride) for pointer, stride in operands)
            self.target, self.shares = (result, places), shares
            self._along(0, source, "0", "0")
        return row_module(code, self.declarations, self.level.attributes)

    def _bound(self, register: str) -> Expr:
        expr = Expr("argument", INT[64])
        self.code.bind(expr, register)
        return expr

    def _value(self, place: str) -> Expr:
        value = load_value(self.code, self.dtype, place, self.level)
        assert isinstance(value, Expr)
        return value

    def _rounded(self, expr: Expr) -> Expr:
        """Return a number as the dtype can hold it."""
        value = rounded(expr, self.dtype, self.level.half_hardware)
        assert isinstance(value, Expr)
        return value

    def _along(self, dim: int, source: str, place: str, window: str) -> None:
        """Write the windows along a dim and those behind it, given the place in the image and the number of the window
        along those before."""
        code = self.code
        if dim == len(self.order):
            self._largest(source, place, window)
            return
        share = self._value(code.at(self.shares, self.order[dim], self.share_step))
        count, last = self._bound(self.counts[dim]), self._bound(self.sizes[dim]) - self._bound(self.widths[dim])
        length = self._rounded(self._rounded(cast(last, self.type)) / self._rounded(cast(count - 1, self.type)))
        begun = cast(self._rounded(share * length), INT[64])
        with code.loop(0, self.counts[dim]) as one:
            index = self._bound(one)
            steps = self._rounded(self._rounded(cast(index, self.type)) + share)
            start = cast(self._rounded(steps * length), INT[64]) - begun
            (begin,) = code.emit([select(index == count - 1, last, start)])
            there = code.register(f"add i64 {code.register(f'mul i64 {place}, {self.sizes[dim]}')}, {begin}")
            number = code.register(f"add i64 {code.register(f'mul i64 {window}, {self.counts[dim]}')}, {one}")
            self._along(dim + 1, code.at(source, begin, self.steps[dim]), there, number)

    def _largest(self, source: str, place: str, window: str) -> None:
        """Write the largest element of a window and its place."""
        code, (result, places) = self.code, self.target
        (first,) = code.emit([self._value(source)])
        found, at = self._scanned(0, source, place, [first, place])
        best = Expr("argument", self.type)
        code.bind(best, found)
        store_value(code, self.dtype, code.at(result, window, self.size), best, self.level)
        code.store("i64", at, code.slot(places, window))

    def _scanned(self, dim: int, source: str, place: str, state: list[str]) -> list[str]:
        """Return the largest of the elements along a dim and those behind it and of what was found before, and its
        place."""
        code = self.code
        if dim == len(self.order):
            value, best = self._value(source), Expr("argument", self.type)
            code.bind(best, state[0])
            better, element = code.emit([(value > best) | isnan(value), value])
            found = code.register(f"select i1 {better}, {self.type.ir} {element}, {self.type.ir} {state[0]}")
            return [found, code.register(f"select i1 {better}, i64 {place}, i64 {state[1]}")]
        types = self.type.ir, "i64"
        behind = functools.reduce(lambda a, b: code.register(f"mul i64 {a}, {b}"), self.sizes[dim + 1 :], "1")
        with code.carry(0, self.widths[dim], 1, [*zip(types, state, strict=True)]) as loop:
            there = code.register(f"add i64 {place}, {code.register(f'mul i64 {loop.index}, {behind}')}")
            loop.following = self._scanned(dim + 1, code.at(source, loop.index, self.steps[dim]), there, loop.values)
        return loop.results
