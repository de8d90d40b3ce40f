"""Sampling: the elements of an image that the places of a grid read, and the kernel that adds them up."""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any, NamedTuple

from ..core.dtype import DType
from .code import Declarations, row_module
from .compiler import Builtin, compiler
from .conversion import SCALAR_TYPES
from .division import fmod
from .expression import BOOL, F64, INT, Expr, ScalarType, constant, select
from .functions import cast, fabs, floor, is_even, minimum, rint
from .isa import Level, current_level
from .loops import gather_value, lanes_apart, scatter_value
from .lower import Emitter
from .pointwise import rows_builtin
from .pointwise_entry import Signature

BILINEAR, NEAREST, BICUBIC = range(3)
ZEROS, BORDER, REFLECTION = range(3)
CUBIC = -0.75
"""The parameter of the cubic convolution kernel."""


class Sampling(NamedTuple):
    """The options of grid_sample for images with `dims` spatial dims. With `align`, -1 and 1 are the centers of the
    corner elements, else the outer edges of the image."""

    mode: int
    padding: int
    align: bool
    dims: int

    @property
    def corners(self) -> int:
        """Return how many elements a place reads."""
        return int((2, 1, 4)[self.mode] ** self.dims)


def cubic_weights(share: Any) -> tuple[Any, Any, Any, Any]:
    """Return what the four neighbours count of a place that lies `share` behind the second."""
    near, rest = cubic_near(share, CUBIC), 1 - share
    return cubic_far(share + 1, CUBIC), near, cubic_near(rest, CUBIC), cubic_far(rest + 1, CUBIC)


def cubic_near(x: Any, a: float) -> Any:
    """Return the cubic kernel with parameter `a` at a distance up to 1."""
    return ((a + 2) * x - (a + 3)) * x * x + 1


def cubic_far(x: Any, a: float) -> Any:
    """Return the cubic kernel with parameter `a` at a distance from 1 to 2."""
    return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a


def _inside(place: Expr, size: Expr, how: Sampling) -> Expr:
    """Return a place moved into the image, where NaN is the first place."""
    if how.padding == REFLECTION:
        low, span = (0.0, size - 1.0) if how.align else (-0.5, size)
        off = fabs(place - low)
        extra = fmod(off, span)
        moved = select(is_even(floor(off / span)), extra + low, span - extra + low)
        place = select(span == 0.0, 0.0, moved)
    if how.padding == ZEROS:
        return place
    return minimum(select(place > 0.0, place, 0.0), size - 1.0)


def _taps(share: Expr, size: Expr, how: Sampling) -> list[tuple[Expr, Expr]]:
    """Return the whole places that a number from -1 to 1 names along a dim, and how much of each is read."""
    place = (share + 1.0) / 2.0 * (size - 1.0) if how.align else ((share + 1.0) * size - 1.0) / 2.0
    if how.mode == BICUBIC:
        low = floor(place)
        weights = cubic_weights(place - low)
        return [(_inside(low + (k - 1.0), size, how), weight) for k, weight in enumerate(weights)]
    place = _inside(place, size, how)
    if how.mode == NEAREST:
        return [(rint(place), constant(1.0, place.type))]
    low = floor(place)
    return [(low, 1.0 - (place - low)), (low + 1.0, place - low)]


def _corners(shares: Sequence[Expr], sizes: Sequence[Expr], how: Sampling) -> Iterator[tuple[Expr, list[Expr], Expr]]:
    """Yield of each element that is read whether it is within the image, its place along each dim, and its weight."""
    along = [_taps(share, size, how) for share, size in zip(shares, sizes, strict=True)]
    for taps in product(*along):
        known, weight = constant(True, BOOL), taps[0][1]
        for (place, _), size in zip(taps, sizes, strict=True):
            known = known & (place >= 0.0) & (place < size)
        for _, factor in taps[1:]:
            weight = weight * factor
        yield known, [place for place, _ in taps], weight


@functools.cache
def sampling_kernel(how: Sampling, dtype: DType, wide: bool) -> Builtin:
    """Return the builtin that samples images of a float dtype; memoised. `wide` are those of 2**31 bytes and more.

    It takes the addresses of result, image and grid, the sizes of the image, the bytes from one place to the next along
    each dim of it, the channels, the bytes from one to the next in the result and in the image, and from one number of
    a place to the next. The dims of a call are those of the places.
    """
    level = current_level()
    description = f"sampling {tuple(how)} {dtype.name} {wide} {level.name}"
    row = compiler().load(description, lambda: _Writer(how, dtype, wide, level).text())
    signature = Signature(1, "mm" + "d" * how.dims + "i" * (how.dims + 4))
    return rows_builtin("grid_sampler", signature, row, [dtype.itemsize] * 3, 0)


class _Writer:
    """Writes the module of a kernel."""

    def __init__(self, how: Sampling, dtype: DType, wide: bool, level: Level) -> None:
        self.how, self.dtype, self.level = how, dtype, level
        self.place = INT[64] if wide else INT[32]
        self.declarations = Declarations(level.vector_bytes)
        self.code = code = Emitter(1, "x", self.declarations)
        self.width = max(1, level.vector_bytes * 8 // SCALAR_TYPES[dtype].bits)
        self.pointers = [code.load("ptr", code.slot("%pointers", k)) for k in range(3)]
        self.strides = [code.load("i64", code.slot("%strides", k)) for k in range(3)]
        dims = how.dims
        self.sizes = [code.load("double", code.slot("%numbers", k)) for k in range(dims)]
        self.steps = [code.load("i64", code.slot("%numbers", dims + k)) for k in range(dims)]
        names = [code.load("i64", code.slot("%numbers", 2 * dims + k)) for k in range(4)]
        self.channels, self.result_step, self.image_step, self.number_step = names

    def text(self) -> str:
        """LLVM IR of the module; the row function is called @NAME."""
        code = self.code
        stop = code.register(f"and i64 %n, {-self.width}") if self.width > 1 else "0"
        for width, begin, end in ((self.width, "0", stop), (1, stop, "%n"))[self.width == 1 :]:
            with code.scope(width), code.loop(begin, end, width) as k:
                self._sample(k)
        return row_module(code, self.declarations, self.level.attributes)

    def _sample(self, first: str) -> None:
        """Write the places of a vector, from the first one on, in all channels."""
        code, (result, image, grid) = self.code, self.pointers
        operands = zip((result, image, grid), self.strides, strict=True)
        starts = [code.at(pointer, first, step) for pointer, step in operands]
        lanes = [lanes_apart(code, step) for step in self.strides]
        shares = []
        for d in range(self.how.dims):  # a place's last number counts along the first dim
            numbers = code.at(starts[2], self.how.dims - 1 - d, self.number_step)
            shares.append(gather_value(code, self.dtype, numbers, lanes[2], self.level))
        sizes = [self._bound(size, F64) for size in self.sizes]
        found = list(_corners(shares, [cast(size, shares[0].type) for size in sizes], self.how))
        steps = [self._bound(self._narrow(step), self.place) for step in self.steps]
        apart = Expr("argument", INT[64])
        code.bind(apart, lanes[1])
        reads = []
        for known, places, weight in found:
            moves = [cast(place, self.place) * step for place, step in zip(places, steps, strict=True)]
            place = functools.reduce(operator.add, moves)
            reads += [known, cast(select(known, place, 0), INT[64]) + apart, weight]
        names = code.emit(reads)
        with code.loop(0, self.channels) as channel:
            source = code.at(starts[1], channel, self.image_step)
            total = constant(0.0, shares[0].type)
            for (_, _, weight), inside, offset in zip(found, names[::3], names[1::3], strict=True):
                total = total + gather_value(code, self.dtype, source, offset, self.level, inside) * weight
            target = code.at(starts[0], channel, self.result_step)
            scatter_value(code, self.dtype, target, self.strides[0], total, self.level)

    def _narrow(self, step: str) -> str:
        return step if self.place is INT[64] else self.code.register(f"trunc i64 {step} to i32")

    def _bound(self, register: str, type: ScalarType) -> Expr:
        """Return the expression of a scalar register in all lanes."""
        expr = Expr("argument", type)
        self.code.bind(expr, self.code.splat(register, type))
        return expr
