"""Kernels that draw random numbers by counters: Philox4x32-10 (Salmon et al. 2011).

    kernel(out_ptr, base, seed, call, low, span, last, n)    "uniform": low + u * span, at most last
    kernel(out_ptr, base, seed, call, mean, std, n)          "normal", by Box and Muller
    kernel(out_ptr, base, seed, call, mean, std, n)          "log_normal", e to the power of such
    kernel(out_ptr, base, seed, call, rate, n)               "exponential", above 0
    kernel(out_ptr, base, seed, call, median, sigma, n)      "cauchy"
    kernel(out_ptr, base, seed, call, log, n)                "geometric", from 1 on, by log(1 - chance)
    kernel(out_ptr, base, seed, call, chance, n)             "bernoulli", 1 or 0, by 53 bits
    kernel(out_ptr, base, seed, call, low, span, n)          "integers" in [low, low + span), span below 2**32

Each number follows from seed, call and its place alone, whatever vectors and threads the machine has: `LANES` counters
give four groups of so many words, which follow each other. `base` is the address of the first element, as in `ranges`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from math import pi
from typing import NamedTuple

from ..core.dtype import DType
from .code import MEMCPY, Declarations, row_module
from .compiler import Builtin, compiler
from .conversion import SCALAR_TYPES
from .exponential import exp
from .expression import F32, F64, INT, UINT, Expr, ScalarType, constant, select
from .functions import cast, ceil, sqrt
from .isa import Level, current_level
from .logarithm import log
from .lower import Emitter
from .pointwise import contiguous_address
from .pointwise_entry import Signature
from .trigonometry import cosine_of, sine_of

LANES = 16
ROUNDS = 10
LOW_WORD = (1 << 32) - 1
MULTIPLIERS = 0xD2511F53, 0xCD9E8D57
KEY_STEPS = 0x9E3779B9, 0xBB67AE85
WORD = UINT[64]
"""A lane of 32 bits in 64, since the products have as many."""


def philox(counter: list[Expr], key: list[Expr]) -> list[Expr]:
    """Return the four words of random bits of a counter of four words and a key of two."""
    a, b, c, d = counter
    left, right = key
    for _ in range(ROUNDS):
        first, second = a * MULTIPLIERS[0], c * MULTIPLIERS[1]
        a, b, c, d = (second >> 32) ^ b ^ left, second & LOW_WORD, (first >> 32) ^ d ^ right, first & LOW_WORD
        left, right = (left + KEY_STEPS[0]) & LOW_WORD, (right + KEY_STEPS[1]) & LOW_WORD
    return [a, b, c, d]


def _number(word: Expr, bits: int, type: ScalarType) -> Expr:
    """The highest `bits` of a word, fewer than 32, as a number."""
    return cast(cast(word >> (32 - bits), INT[32]), type)


def _units(words: list[Expr], type: ScalarType) -> list[Expr]:
    """Multiples of the spacing below 1 that are uniform in [0, 1): of a word, for float64 of two."""
    if type is F32:
        return [_number(word, 24, F32) * 2.0**-24 for word in words]
    pairs = zip(words[::2], words[1::2], strict=True)
    return [(_number(a, 27, F64) * 2.0**26 + _number(b, 26, F64)) * 2.0**-53 for a, b in pairs]


def _uniform(words: list[Expr], numbers: list[Expr], type: ScalarType) -> list[Expr]:
    low, span, last = numbers
    moved = [unit * span + low for unit in _units(words, type)]
    return [select(one < last, one, last) for one in moved]


def _above_zero(words: list[Expr], type: ScalarType) -> list[Expr]:
    """Numbers that are uniform in (0, 1]: of 32 bits, for float64 of 53."""
    if type is F64:
        return [1.0 - one for one in _units(words, F64)]
    above = [_number(w, 16, F32) * 2.0**16 + (cast(cast(w & 0xFFFF, INT[32]), F32) + 1.0) for w in words]
    return [one * 2.0**-32 for one in above]


def _turns(words: list[Expr], type: ScalarType) -> list[tuple[Expr, Expr]]:
    """The cosines and sines of uniform angles. The lowest bits of a word, which its fraction leaves, say in which
    quarter the angle lies."""
    found = []
    for turn, word in zip(_units(words, type), words if type is F32 else words[1::2], strict=True):
        angle = (turn - 0.5) * (pi / 2), constant(0, type), cast(word, UINT[type.bits])
        found.append((cosine_of(angle), sine_of(angle)))
    return found


def _normal(words: list[Expr], numbers: list[Expr], type: ScalarType) -> list[Expr]:
    """Pairs r cos t and r sin t, with r**2 / -2 the logarithm of a number in (0, 1]."""
    mean, std = numbers
    short = type is F32
    radii = _above_zero(words[::2] if short else words[:2], type)
    found = []
    for radius, turn in zip(radii, _turns(words[1::2] if short else words[2:], type), strict=True):
        size = sqrt(log(radius) * -2.0) * std
        found += [size * one + mean for one in turn]
    return found


def _exponential(words: list[Expr], numbers: list[Expr], type: ScalarType) -> list[Expr]:
    """-log of a number in (0, 1] and, for 1, half of the spacing there, so that no result is 0."""
    least = 2.0 ** (-24 if type is F32 else -53)
    found = [-log(one) for one in _above_zero(words, type)]
    return [select(one > least, one, constant(least, type)) / numbers[0] for one in found]


def _cauchy(words: list[Expr], numbers: list[Expr], type: ScalarType) -> list[Expr]:
    median, sigma = numbers
    return [sine / cosine * sigma + median for cosine, sine in _turns(words, type)]


def _geometric(words: list[Expr], numbers: list[Expr], type: ScalarType) -> list[Expr]:
    found = [log(one) / numbers[0] for one in _above_zero(words, F64)]
    return [cast(select(one > 0.0, ceil(one), constant(1.0, F64)), type) for one in found]


def _integers(words: list[Expr], numbers: list[Expr], type: ScalarType) -> list[Expr]:
    """low + (x * span >> 64), of 64 random bits x."""
    low, span = numbers[0], numbers[1] & LOW_WORD
    found = [low + ((a * span + (b * span >> 32)) >> 32) for a, b in zip(words[::2], words[1::2], strict=True)]
    return [cast(cast(one, INT[64]), type) for one in found]


def _bernoulli(words: list[Expr], numbers: list[Expr], type: ScalarType) -> list[Expr]:
    (chance,) = numbers
    return [select(unit < chance, constant(1, type), constant(0, type)) for unit in _units(words, F64)]


class Kind(NamedTuple):
    """A formula of words, the kinds of its numbers, and the type that these have, if not that of the results."""

    formula: Callable[[list[Expr], list[Expr], ScalarType], list[Expr]]
    numbers: str
    type: ScalarType | None = None


KINDS = {
    "uniform": Kind(_uniform, "ddd"), "normal": Kind(_normal, "dd"),
    "log_normal": Kind(lambda *given: [*map(exp, _normal(*given))], "dd"),
    "exponential": Kind(_exponential, "d"), "cauchy": Kind(_cauchy, "dd"), "geometric": Kind(_geometric, "d", F64),
    "integers": Kind(_integers, "ii", WORD), "bernoulli": Kind(_bernoulli, "d", F64),
}  # fmt: skip


@functools.cache
def random_kernel(name: str, dtype: DType) -> Builtin:
    """The builtin for float32, float64 or, of "integers", any integer; memoised."""
    level = current_level()
    signature = Signature(1, "iii" + KINDS[name].numbers)
    row = compiler().load(f"random {name} {dtype.name} {level.name}", lambda: _text(name, dtype, level))
    return compiler().builtin("random", contiguous_address(signature), [row, dtype.itemsize])


def _text(name: str, dtype: DType, level: Level) -> str:
    code = Emitter(1, "x", Declarations(level.vector_bytes))
    formula, kinds, own = KINDS[name]
    type = SCALAR_TYPES[dtype]
    taken_type = own or type
    group = LANES * (4 if taken_type is F32 else 2)
    nbytes = dtype.itemsize
    code.declarations["@llvm.memcpy.p0.p0.i64"] = MEMCPY
    kept = code.register(f"alloca [{group * nbytes} x i8], align 64")
    out, base = code.load("ptr", "%pointers"), code.load("i64", "%numbers")
    gone = code.register(f"sub i64 {code.register(f'ptrtoint ptr {out} to i64')}, {base}")
    begin = code.register(f"sdiv exact i64 {gone}, {nbytes}")
    end = code.register(f"add i64 {begin}, %n")
    given = [code.load("i64", code.slot("%numbers", k)) for k in (1, 2)]
    parts = [part for word in given for part in _halves(code, word)]
    numbers = []
    for slot, kind in enumerate(kinds, start=3):
        number = code.load("i64" if kind == "i" else "double", code.slot("%numbers", slot))
        numbers.append(code.register(f"fptrunc double {number} to float") if taken_type is F32 else number)
    with code.loop(code.register(f"and i64 {begin}, {-group}"), end, group) as place:
        block = code.register(f"udiv i64 {place}, {group // LANES}")
        until = code.register(f"add i64 {place}, {group}")
        tests = code.register(f"icmp sge i64 {place}, {begin}"), code.register(f"icmp sle i64 {until}, {end}")
        whole = code.register(f"and i1 {tests[0]}, {tests[1]}")
        direct = code.at(out, code.register(f"sub i64 {place}, {begin}"), nbytes)
        target = code.register(f"select i1 {whole}, ptr {direct}, ptr {kept}")
        low, high = _halves(code, block)
        with code.scope(LANES):
            lanes = ", ".join(f"i64 {k}" for k in range(LANES))
            counter = code.register(f"or {code.type(WORD)} {code.splat(low, WORD)}, <{lanes}>")
            names = [counter, *(code.splat(one, WORD) for one in (high, *parts[2:], *parts[:2]))]
            words = [Expr("argument", WORD) for _ in names]
            taken = [Expr("argument", taken_type) for _ in numbers]
            code.bind_all(words, names)
            code.bind_all(taken, [code.splat(number, taken_type) for number in numbers])
            values = code.emit(formula(philox(words[:4], words[4:]), taken, type))
            for row, value in enumerate(values):
                code.store(code.type(type), value, code.move(target, row * LANES * nbytes), nbytes)
        with code.when(code.register(f"xor i1 {whole}, true")):
            behind = code.register(f"sub i64 {begin}, {place}")
            first = code.register(f"call i64 @llvm.smax.i64(i64 {behind}, i64 0)")
            last = code.minimum(end, until)
            count = code.register(f"sub i64 {last}, {code.register(f'add i64 {place}, {first}')}")
            to, source = code.at(direct, first, nbytes), code.at(kept, first, nbytes)
            size = code.register(f"mul i64 {count}, {nbytes}")
            code.line(f"call void @llvm.memcpy.p0.p0.i64(ptr {to}, ptr {source}, i64 {size}, i1 false)")
    code.declarations["@llvm.smax.i64"] = "declare i64 @llvm.smax.i64(i64, i64)"
    return row_module(code, code.declarations, level.attributes)


def _halves(code: Emitter, word: str) -> tuple[str, str]:
    """The lower and the higher 32 bits of a word, each as an i64."""
    return code.register(f"and i64 {word}, {LOW_WORD}"), code.register(f"lshr i64 {word}, 32")
