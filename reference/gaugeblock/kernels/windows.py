"""Whole windows: formulas with every place of the window as an operand, and a kernel for small convolutions.

    kernel(out_ptr, input_ptr, weight_ptr, bias_ptr, number..., 1)

The convolution computes every output by loops over its window, padding included, summed in float64. All operands are
contiguous, with three spatial dims. The numbers, in order: batch, groups, output and input channels of a group; sizes
of the output, of the input and of the window; stride, padding and dilation, three each; and whether there is a bias.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from contextlib import ExitStack

from ..core.dtype import DType, float32
from .code import Code, Declarations, row_module
from .compiler import Builtin, compiler
from .expression import Expr, select
from .functions import cast, isnan, maximum, mul_add
from .isa import Level, current_level
from .pointwise import PointwiseKernel, contiguous_address, pointwise_kernel
from .pointwise_entry import Signature


@functools.cache
def _sum_of_products(count: int) -> Callable[..., Expr]:
    def total(*exprs: Expr) -> Expr:
        """The first `count` expressions times the others, added up."""
        found = exprs[0] * exprs[count]
        for x, weight in zip(exprs[1:count], exprs[count + 1 :], strict=True):
            found = mul_add(x, weight, found) if x.type.is_float else found + x * weight
        return found

    return total


def total(*exprs: Expr) -> Expr:
    """The sum of the expressions."""
    return functools.reduce(operator.add, exprs)


def largest(*exprs: Expr) -> Expr:
    """The largest expression; NaN wins."""
    return functools.reduce(maximum, exprs)


@functools.cache
def first_largest(begin: int, end: int, *, placed: bool) -> Callable[..., tuple[Expr, Expr]]:
    """(the largest of a window's elements `begin` to `end`, its place); of equal ones the first, of NaN the last.

    Its arguments: the result of the elements before `begin`, if there are any; the elements; if they are `placed`, the
    place of each, which is added; where the window begins; the step from one element to the next.
    """
    count, before = end - begin, 2 if begin else 0

    def first_largest(*exprs: Expr) -> tuple[Expr, Expr]:
        *given, start, step = exprs
        best, at = given[0], cast(given[1], start.type) if begin else start
        at = at + given[count] if placed and not begin else at
        for k in range(0 if begin else 1, count):
            expr, place = given[before + k], start + step * (begin + k)
            place = place + given[before + count + k] if placed else place
            if placed:
                better = _comes_before(expr, place, best, at)
            else:
                better = (expr > best) | isnan(expr) if expr.type.is_float else expr > best
            best, at = select(better, expr, best), select(better, place, at)
        return best, at

    return first_largest


def _comes_before(expr: Expr, place: Expr, best: Expr, at: Expr) -> Expr:
    tied = (expr == best) & (place < at)
    if not expr.type.is_float:
        return (expr > best) | tied
    return (expr > best) | tied | (isnan(expr) & (~isnan(best) | (place > at)))


def at_padding(lowest: Expr, *begins: Expr) -> tuple[Expr, Expr]:
    """(the lowest value, the sum of where a window begins along each dim)."""
    return lowest, total(*begins)


def quotient(value: Expr, *divisors: Expr) -> Expr:
    """The value divided by the product of the divisors; an int is divided as float64 and cut off."""
    product = functools.reduce(operator.mul, divisors)
    found = cast(value, product.type) / product
    return cast(found, value.type)


def products_kernel(count: int, dtype: DType, compute: DType, result: DType | None = None) -> PointwiseKernel:
    """The sum of `count` products: the windows' elements first, then the weights, in the dtype computed in for another
    `result`."""
    weights = dtype if result is None else compute
    kinds = [*[dtype] * count, *[weights] * count]
    return pointwise_kernel("window sum", _sum_of_products(count), kinds, compute, (result or dtype,))


NUMBERS = 4 + 6 * 3 + 1


@functools.cache
def convolution_kernel(dtype: DType) -> Builtin:
    """The builtin for float32 or float64; memoised."""
    level = current_level()
    row = compiler().load(f"convolution {dtype.name} {level.name}", lambda: _text(dtype, level))
    address = contiguous_address(Signature(1, "mmm" + "i" * NUMBERS))
    return compiler().builtin("convolution", address, [row, *(dtype.itemsize,) * 4])


def _text(dtype: DType, level: Level) -> str:
    code, type, size = Code(), "float" if dtype is float32 else "double", dtype.itemsize
    out, source, weight, bias = (code.load("ptr", code.slot("%pointers", k)) for k in range(4))
    numbers = [code.load("i64", code.slot("%numbers", k)) for k in range(NUMBERS)]
    batch, groups, outputs, inputs = numbers[:4]
    outer, inner, window, stride, padding, dilation = (numbers[k : k + 3] for k in range(4, 22, 3))
    biased = code.register(f"icmp ne i64 {numbers[-1]}, 0")
    total, place, zero = (code.register(f"alloca {kind}") for kind in ("double", "i64", type))
    code.store("i64", 0, place)
    code.store(type, "0.0", zero, size)

    def wide(pointer: str) -> str:
        value = code.load(type, pointer, size)
        return value if type == "double" else code.register(f"fpext float {value} to double")

    def joined(major: str, count: str, minor: str) -> str:
        return code.register(f"add i64 {code.register(f'mul i64 {major}, {count}')}, {minor}")

    with ExitStack() as loops:
        b, g, o, *at = (loops.enter_context(code.loop(0, end)) for end in (batch, groups, outputs, *outer))
        channel = joined(g, outputs, o)
        code.store("double", "0.0", total)
        with code.when(biased):
            code.store("double", wide(code.at(bias, channel, size)), total)
        with code.loop(0, inputs) as c, ExitStack() as window_loops:
            element, factor, inside = joined(joined(b, groups, g), inputs, c), joined(channel, inputs, c), "true"
            for d in range(3):
                k = window_loops.enter_context(code.loop(0, window[d]))
                begin = code.register(f"sub i64 {code.register(f'mul i64 {at[d]}, {stride[d]}')}, {padding[d]}")
                here = joined(k, dilation[d], begin)
                within = code.register(f"icmp ult i64 {here}, {inner[d]}")
                inside = code.register(f"and i1 {inside}, {within}")
                element, factor = joined(element, inner[d], here), joined(factor, window[d], k)
            taken = code.register(f"select i1 {inside}, ptr {code.at(source, element, size)}, ptr {zero}")
            values = wide(taken), wide(code.at(weight, factor, size))
            product = code.register(f"fmul double {values[0]}, {values[1]}")
            code.store("double", code.register(f"fadd double {code.load('double', total)}, {product}"), total)
        value, index = code.load("double", total), code.load("i64", place)
        if type == "float":
            value = code.register(f"fptrunc double {value} to float")
        code.store(type, value, code.at(out, index, size), size)
        code.store("i64", code.register(f"add i64 {index}, 1"), place)
    return row_module(code, Declarations(), level.attributes)
