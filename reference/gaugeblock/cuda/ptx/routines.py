"""Scalar routines that kernels call: those that a CPU takes from C's library, written as formulas of lanes.

Sine, cosine and tangent of large float64 numbers take as many bits of 2/pi as they need (Payne and Hanek 1983).
x = m 2**q with a whole m of 53 bits. Of m 2**q 2/pi only the part below 4 matters: it comes from 192 bits of 2/pi, from
where their products with m 2**q are no multiples of 4 any more. What is cut off is below 2**-125 quarter turns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...kernels.declarations import Declarations
from ...kernels.double_word import exact_product, ordered_sum
from ...kernels.expression import F32, F64, UINT, Lane, LaneType, constant, select
from ...kernels.functions import bits_of, convert_lane, fabs, lookup, mul_add
from ...kernels.log_gamma import lgamma
from ...kernels.lower import Emitter
from ...kernels.runtime import ROUTINES
from ...kernels.trigonometry import HALF_PI, Reduced, cosine_of, sine_of, tangent_of
from .grid_kernel import Target

# 2/pi in 1344 bits after the point.
_TWO_PER_PI = int(
    "A2F9836E4E441529FC2757D1F534DDC0DB6295993C439041FE5163ABDEBBC561B7246E3A424DD2E006492EEA09D1921CFE1DEB1CB129A73E"
    "E88235F52EBB4484E99C7026B45F7E413991D639835339F49C845F8BBDF9283B1FF897FFDE05980FEF2F118B5A0A6D1F6D367ECF27CB09B7"
    "4F463F669E5FEA2D7527BAC7EBE5F17B3D0739F78A5292EA6BFB5FB11F8D5D0856033046FC7B6BABF0CFBC209AF4361DA9E391615EE61B08",
    16,
)
_BITS = 1344
_LIMB = 32
_MASK = (1 << _LIMB) - 1
_PADDING = 64
"""Zeros before the first bit, so that the window never begins before the table."""
_LIMBS: tuple[float, ...] = (
    *(0.0,) * (_PADDING // _LIMB),
    *(float(_TWO_PER_PI >> (_BITS - _LIMB - start) & _MASK) for start in range(0, _BITS, _LIMB)),
    *(0.0,) * (64 - (_PADDING + _BITS) // _LIMB),
)
_WINDOW = 6
_WORD = UINT[64]


def _window(field: Lane) -> list[Lane]:
    """The limbs of 2/pi for a biased exponent, lowest first."""
    start = field - (1075 - _PADDING + 2)
    limb, shift = start >> 5, start & 31
    read = [convert_lane(lookup(_LIMBS, limb + k, F64), _WORD) for k in range(_WINDOW + 1)]
    limbs = [((read[k] << shift) | (read[k + 1] >> (_LIMB - shift))) & _MASK for k in range(_WINDOW)]
    return limbs[::-1]


def _product(whole: Lane, window: list[Lane]) -> list[Lane]:
    """The limbs of whole * window modulo 2**192, lowest first."""
    low, high = whole & _MASK, whole >> _LIMB
    limbs: list[Lane] = []
    waiting: list[Lane] = []
    for place, limb in enumerate(window):
        products = [low * limb] + ([high * window[place - 1]] if place else [])
        total = waiting[0] if waiting else constant(0, _WORD)
        for term in [*waiting[1:], *(product & _MASK for product in products)]:
            total = total + term
        limbs.append(total & _MASK)
        waiting = [total >> _LIMB, *(product >> _LIMB for product in products)]
    return limbs


def reduced(x: Lane) -> Reduced:
    """(r, low, k) with x = k pi/2 + r + low, for |x| >= 2**17; r is NaN for infinities and NaN."""
    bits = bits_of(fabs(x))
    whole = (bits & ((1 << 52) - 1)) | (1 << 52)
    limbs = _product(whole, _window(bits >> 52))
    top, middle = (limbs[5] << _LIMB) | limbs[4], (limbs[3] << _LIMB) | limbs[2]
    quarters = top >> 62
    high, low = (top << 2) | (middle >> 62), (middle << 2) | (limbs[1] >> 30)
    above = high >= 1 << 63
    quarters = select(above, quarters + 1, quarters)
    turned = constant(0, _WORD) - low
    high = select(above, ~high + select(turned == 0, constant(1, _WORD), 0), high)
    low = select(above, turned, low)
    pieces = [
        convert_lane(piece, F64) * 2.0 ** (-_LIMB * (k + 1))
        for k, piece in enumerate((high >> _LIMB, high & _MASK, low >> _LIMB, low & _MASK))
    ]
    first, lost = ordered_sum(pieces[0], pieces[1])
    last, missing = ordered_sum(pieces[2], pieces[3])
    first, rest = ordered_sum(first, last)
    fraction, tail = ordered_sum(first, rest + lost + missing)
    product, error = exact_product(fraction, constant(HALF_PI[F64][0], F64))
    r, rest = ordered_sum(product, mul_add(fraction, constant(HALF_PI[F64][1], F64), tail * HALF_PI[F64][0]) + error)
    negative = x < 0.0
    back = above ^ negative
    r = select(fabs(x) < float("inf"), select(back, -r, r), float("nan"))
    return r, select(back, -rest, rest), select(negative, constant(0, _WORD) - quarters, quarters)


def of_large(function: Callable[[Reduced], Lane]) -> Callable[[Lane], Lane]:
    """A function of large numbers, for float64, or for float32 by way of it."""
    return lambda x: convert_lane(function(reduced(convert_lane(x, F64))), x.type)


LARGE: dict[str, Callable[[Lane], Lane]] = {
    "sin": of_large(sine_of),
    "cos": of_large(cosine_of),
    "tan": of_large(tangent_of),
}
"""Functions of |x| >= 2**17."""


PREFIX = "@gb_grid_"
_TYPES = {"float": F32, "double": F64}
FORMULAS: dict[str, Callable[..., Lane]] = {
    **LARGE,
    **{f"gb_single_{name}": function for name, function in LARGE.items()},
    "lgamma": lgamma,
    "gb_extended_lgamma": lgamma,
}
"""Functions of real lanes by the names of the routines that they stand for."""


class GridDeclarations(Declarations):
    """Declarations of a module for a grid target: it has everything that it calls, and tables in device memory."""

    def __init__(self, target: Target) -> None:
        super().__init__()
        self.space = target.space

    def routine(self, name: str, type: str, arguments: Sequence[str]) -> str:
        """Define a scalar function; its name in the module. Raises ValueError for a routine that grids do not have."""
        inside = PREFIX + name
        if inside in self:
            return inside
        if name in ROUTINES:
            return super().routine(name, type, arguments)
        if name not in FORMULAS:
            raise ValueError(f"ptx: the routine {name!r} has no form for a grid")
        self[inside] = ""
        self[inside] = self._defined(inside, name, type, [_TYPES[argument] for argument in arguments])
        return inside

    def _defined(self, inside: str, name: str, type: str, types: Sequence[LaneType]) -> str:
        emitter = Emitter(1, "y", self)
        lanes = [Lane("argument", kind) for kind in types]
        for place, lane in enumerate(lanes):
            emitter.bind(lane, f"%a{place}")
        head = ", ".join(f"{lane.type.ir} %a{place}" for place, lane in enumerate(lanes))
        (result,) = emitter.emit([FORMULAS[name](*lanes)])
        lines = [f"define internal {type} {inside}({head}) #0 {{", "entry:", *emitter.lines, f"  ret {type} {result}"]
        return "\n".join([*lines, "}"])
