"""Kernels that draw random numbers by counters: Philox4x32-10 (Salmon et al. 2011).

    kernel(out_ptr, low, span, last, state, n)    "uniform": low + u * span, at most last
    kernel(out_ptr, mean, std, state, n)          "normal", by Box and Muller
    kernel(out_ptr, mean, std, state, n)          "log_normal", e to the power of such
    kernel(out_ptr, rate, state, n)               "exponential", above 0
    kernel(out_ptr, median, sigma, state, n)      "cauchy"
    kernel(out_ptr, log, state, n)                "geometric", from 1 on, by log(1 - chance)
    kernel(out_ptr, chance, state, n)             "bernoulli", 1 or 0, by 53 bits
    kernel(out_ptr, low, span, state, n)          "integers" in [low, low + span), span below 2**32
    kernel(out_ptr, state, n)                     "places", each in [0, k] for the place k
    kernel(out_ptr, rate, state, n)               "poisson"
    kernel(out_ptr, trials, chance, state, n)     "binomial"

Some numbers may be given element by element, by the address of as many of the results' dtype; what they may not be is
refused by an error. `state` is the address
of a seed and of a count of calls, which goes up. Each number follows from seed, call and its place alone, whatever
vectors and threads the machine has: `LANES` counters give four groups of so many words, which follow each other.

    shuffle(out_ptr, n)    makes such places a permutation of the first n integers (Durstenfeld 1964)
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from math import pi
from typing import NamedTuple

from ..core.dtype import DType
from .code import MEMCPY, NAME, PLAIN, Code, Declarations, row_module
from .common import SHARE_FLAT, declaration
from .compiler import Builtin, compiler
from .conversion import storage_type
from .discrete_distributions import binomial, poisson
from .entry import EntryWriter
from .exponential import exp
from .expression import F32, F64, INT, UINT, Expr, ScalarType, constant, guard, select
from .functions import cast, ceil, sqrt
from .isa import Level, current_level
from .logarithm import log
from .lower import Emitter
from .pointwise_entry import Signature
from .trigonometry import cosine_of, sine_of

LANES = 16
ROUNDS = 10
LOW_WORD = (1 << 32) - 1
IN_MEMORY = str.maketrans("", "", "mp")
"""Takes the kinds of numbers away that are no arguments: they lie in memory, or follow from the place."""
MULTIPLIERS = 0xD2511F53, 0xCD9E8D57
KEY_STEPS = 0x9E3779B9, 0xBB67AE85
Numbers = list[Expr]
"""The random words of one number, a list of lanes for each group."""
Draw = Callable[[Expr], list[Expr]]
"""Gives four words for the number of a round."""
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


def _uniform(draw: Draw, numbers: list[Numbers], type: ScalarType) -> list[Expr]:
    words = draw(constant(0, WORD))
    low, span, last = (one[0] for one in numbers)
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


def _normal(draw: Draw, numbers: list[Numbers], type: ScalarType) -> list[Expr]:
    """Pairs r cos t and r sin t, with r**2 / -2 the logarithm of a number in (0, 1]."""
    words = draw(constant(0, WORD))
    short = type is F32
    radii = _above_zero(words[::2] if short else words[:2], type)
    found = []
    for radius, turn in zip(radii, _turns(words[1::2] if short else words[2:], type), strict=True):
        size = sqrt(log(radius) * -2.0)
        found += [size * one for one in turn]
    return [one * std + mean for one, mean, std in zip(found, *numbers, strict=True)]


def _exponential(draw: Draw, numbers: list[Numbers], type: ScalarType) -> list[Expr]:
    """-log of a number in (0, 1] and, for 1, half of the spacing there, so that no result is 0."""
    words = draw(constant(0, WORD))
    least = 2.0 ** (-24 if type is F32 else -53)
    found = [-log(one) for one in _above_zero(words, type)]
    return [select(one > least, one, constant(least, type)) / numbers[0][0] for one in found]


def _cauchy(draw: Draw, numbers: list[Numbers], type: ScalarType) -> list[Expr]:
    words = draw(constant(0, WORD))
    median, sigma = (one[0] for one in numbers)
    return [sine / cosine * sigma + median for cosine, sine in _turns(words, type)]


def _geometric(draw: Draw, numbers: list[Numbers], type: ScalarType) -> list[Expr]:
    words = draw(constant(0, WORD))
    found = [log(one) / numbers[0][0] for one in _above_zero(words, F64)]
    return [cast(select(one > 0.0, ceil(one), constant(1.0, F64)), type) for one in found]


def _integers(draw: Draw, numbers: list[Numbers], type: ScalarType) -> list[Expr]:
    """low + (x * span >> 64), of 64 random bits x."""
    words = draw(constant(0, WORD))
    low, span = numbers[0][0], numbers[1][0] & LOW_WORD
    found = [low + _below(span, *pair) for pair in zip(words[::2], words[1::2], strict=True)]
    return [cast(cast(one, INT[64]), type) for one in found]


def _below(span: Expr, high: Expr, low: Expr) -> Expr:
    """x * span >> 64 for a number x of two words."""
    return (high * span + (low * span >> 32)) >> 32


def _places(draw: Draw, numbers: list[Numbers], type: ScalarType) -> list[Expr]:
    words = draw(constant(0, WORD))
    pairs = zip(numbers[0], words[::2], words[1::2], strict=True)
    return [cast(_below(place + 1, *pair), type) for place, *pair in pairs]


def _bernoulli(draw: Draw, numbers: list[Numbers], type: ScalarType) -> list[Expr]:
    words = draw(constant(0, WORD))
    tests = [unit < chance for unit, chance in zip(_units(words, F64), *numbers, strict=True)]
    return [select(test, constant(1, type), constant(0, type)) for test in tests]


def _pair(draw: Draw) -> Draw:
    """Return two uniform numbers for each round."""
    return lambda turn: _units(draw(turn), F64)


def _poisson(draw: Draw, numbers: list[Numbers], type: ScalarType) -> list[Expr]:
    return [cast(poisson(_pair(draw), numbers[0][0]), type)]


def _binomial(draw: Draw, numbers: list[Numbers], type: ScalarType) -> list[Expr]:
    return [cast(binomial(_pair(draw), *(one[0] for one in numbers)), type)]


class Kind(NamedTuple):
    """A formula of words, the kinds of its numbers ("p" for the place of each), the type that these have, if not that
    of the results, and what is refused of the last one that is given element by element. A formula may take all words
    `singly`, for one number."""

    formula: Callable[[Draw, list[Numbers], ScalarType], list[Expr]]
    numbers: str
    type: ScalarType | None = None
    refused: Callable[[Expr], Expr] | None = None
    singly: bool = False

    def rows(self, type: ScalarType) -> int:
        """Return how many numbers the formula makes of the words of a counter."""
        return 1 if self.singly else 4 if (self.type or type) is F32 else 2


KINDS = {
    "uniform": Kind(_uniform, "ddd"), "normal": Kind(_normal, "dd", None, lambda std: ~(std >= 0.0)),
    "log_normal": Kind(lambda *given: [*map(exp, _normal(*given))], "dd"),
    "exponential": Kind(_exponential, "d"), "cauchy": Kind(_cauchy, "dd"), "geometric": Kind(_geometric, "d", F64),
    "integers": Kind(_integers, "ii", WORD), "places": Kind(_places, "p", WORD),
    "bernoulli": Kind(_bernoulli, "d", F64, lambda chance: ~((chance >= 0.0) & (chance <= 1.0))),
    "poisson": Kind(_poisson, "d", F64, lambda rate: ~(rate >= 0.0), singly=True),
    "binomial": Kind(_binomial, "dd", F64, singly=True),
}  # fmt: skip


@functools.cache
def random_kernel(name: str, dtype: DType, memory: str = "") -> Builtin:
    """Return the builtin for float32, float64 or, of "integers", "geometric" and "bernoulli", any integer and bool;
    memoised. `memory` has an "m" for each number that is given element by element, another letter for each one that is
    not."""
    level, kinds = current_level(), KINDS[name].numbers
    kinds = "".join("m" if given == "m" else kind for kind, given in zip(kinds, memory or kinds, strict=True))
    signature = Signature(1, kinds.replace("p", ""))
    row = compiler().load(f"random {name} {dtype.name} {kinds} {level.name}", lambda: _text(name, dtype, kinds, level))
    return compiler().builtin("random", _drawing_address(signature), [row, *[dtype.itemsize] * signature.memory])


@functools.cache
def shuffle_kernel() -> Builtin:
    """Return the builtin that makes a permutation of places; memoised."""
    return compiler().builtin("shuffle", compiler().load("shuffle", _shuffle_text), [])


def _shuffle_text() -> str:
    """Places of int64, from the first on: what lies at a place moves to the end, and its number there. One thread."""
    entry = EntryWriter(NAME, "shuffle")
    out, n = entry.integer(0), entry.integer(1)
    entry.check()
    entry.run(f"call i1 @shuffled(ptr {entry.register(f'inttoptr i64 {out} to ptr')}, i64 {n})", n)
    code = Code()
    with code.loop(0, "%n") as k:
        last = code.slot("%out", k)
        place = code.slot("%out", code.load("i64", last))
        code.store("i64", code.load("i64", place), last)
        code.store("i64", k, place)
    shuffled = code.function("define internal i1 @shuffled(ptr %out, i64 %n)", "  ret i1 false")
    return "\n".join([shuffled, entry.text("eq", 2), ""])


@functools.cache
def _drawing_address(signature: Signature) -> int:
    return compiler().load(f"drawing {signature}", lambda: _drawing_entry(signature))


def _drawing_entry(signature: Signature) -> str:
    """Return the entry point: the row function gets the address of the first element, the seed, and the number of the
    call before the other numbers. A part that a thread writes knows by the first how far it has come."""
    entry = EntryWriter(NAME, "random kernel")
    count = signature.operands
    pointers = entry.register(f"alloca [{signature.memory} x ptr]")
    numbers = entry.register(f"alloca [{3 + signature.slots} x i64]")
    places, slots = 0, 3
    for index, kind in enumerate("m" + signature.kinds):
        if kind == "m":
            address = entry.integer(index)
            entry.put("i64", address, pointers, places)
            places += 1
            if index == 0:
                entry.put("i64", address, numbers, 0)
        else:
            ((type, value),) = entry.number(index, kind)
            entry.put(type, value, numbers, slots)
            slots += 1
    state, n = entry.integer(count), entry.integer(count + 1)
    entry.check()
    entry.proceed(n)
    words = entry.register(f"inttoptr i64 {state} to ptr")
    entry.put("i64", entry.load("i64", words), numbers, 1)
    calls = entry.register(f"atomicrmw add ptr {entry.slot(words, 1)}, i64 1 monotonic, align 8")
    entry.put("i64", calls, numbers, 2)
    base = entry.descriptor()
    row, itemsizes = entry.load("ptr", base), entry.slot(base, 1)
    call = f"ptr {pointers}, ptr {numbers}, i64 {n}, ptr {itemsizes}"
    shared = f"call i1 @{SHARE_FLAT}(ptr {row}, {call}, i64 {signature.memory})"
    entry.run(f"call i1 {row}({call})", n, shared)
    return "\n".join([PLAIN, declaration(SHARE_FLAT), entry.text("eq", count + 2), ""])


def _text(name: str, dtype: DType, kinds: str, level: Level) -> str:
    code = Emitter(1, "x", Declarations(level.vector_bytes))
    own, type = KINDS[name], storage_type(dtype)
    taken_type, rows = own.type or type, own.rows(type)
    group, nbytes = LANES * rows, dtype.itemsize
    code.declarations["@llvm.memcpy.p0.p0.i64"] = MEMCPY
    code.declarations["@llvm.memset.p0.i64"] = "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)"
    fault = code.variable("i1", "false", 1)
    buffers = [code.register(f"alloca [{group * nbytes} x i8], align 64") for _ in range(1 + kinds.count("m"))]
    for buffer in buffers[1:]:
        code.line(f"call void @llvm.memset.p0.i64(ptr {buffer}, i8 0, i64 {group * nbytes}, i1 false)")
    arrays = [code.load("ptr", code.slot("%pointers", k)) for k in range(len(buffers))]
    base = code.load("i64", "%numbers")
    gone = code.register(f"sub i64 {code.register(f'ptrtoint ptr {arrays[0]} to i64')}, {base}")
    begin = code.register(f"sdiv exact i64 {gone}, {nbytes}")
    end = code.register(f"add i64 {begin}, %n")
    given = [code.load("i64", code.slot("%numbers", k)) for k in (1, 2)]
    parts = [part for word in given for part in _halves(code, word)]
    numbers = []
    for slot, kind in enumerate(kinds.translate(IN_MEMORY), start=3):
        number = code.load("i64" if kind == "i" else "double", code.slot("%numbers", slot))
        numbers.append(code.register(f"fptrunc double {number} to float") if taken_type is F32 else number)
    with code.loop(code.register(f"and i64 {begin}, {-group}"), end, group) as place:
        block = code.register(f"udiv i64 {place}, {rows}")
        until = code.register(f"add i64 {place}, {group}")
        tests = code.register(f"icmp sge i64 {place}, {begin}"), code.register(f"icmp sle i64 {until}, {end}")
        whole = code.register(f"and i1 {tests[0]}, {tests[1]}")
        behind = code.register(f"sub i64 {begin}, {place}")
        first = code.register(f"call i64 @llvm.smax.i64(i64 {behind}, i64 0)")
        last = code.minimum(end, until)
        count = code.register(f"sub i64 {last}, {code.register(f'add i64 {place}, {first}')}")
        size = code.register(f"mul i64 {count}, {nbytes}")
        part = code.register(f"xor i1 {whole}, true")
        direct = [code.at(array, code.register(f"sub i64 {place}, {begin}"), nbytes) for array in arrays]
        target, *sources = [
            code.register(f"select i1 {whole}, ptr {one}, ptr {buffer}")
            for one, buffer in zip(direct, buffers, strict=True)
        ]

        def copy(to: str, source: str) -> None:
            to, source = (code.at(one, first, nbytes) for one in (to, source))
            code.line(f"call void @llvm.memcpy.p0.p0.i64(ptr {to}, ptr {source}, i64 {size}, i1 false)")

        if sources:
            with code.when(part):
                for one, buffer in zip(direct[1:], buffers[1:], strict=True):
                    copy(buffer, one)
        low, high = _halves(code, block)
        with code.scope(LANES):
            counter = _counted(code, low, 0)
            words = [Expr("argument", WORD) for _ in range(6)]
            code.bind_all(words, [counter, *(code.splat(one, WORD) for one in (high, *parts[2:], *parts[:2]))])

            def draw(turn: Expr) -> list[Expr]:
                return philox([*words[:3], words[3] | (turn << 20)], words[4:])

            taken: list[Numbers] = []
            left, behind_each = iter(numbers), iter(sources)
            for kind in kinds:
                if kind == "m":
                    exprs, source = [Expr("argument", type) for _ in range(rows)], next(behind_each)
                    places = [code.move(source, row * LANES * nbytes) for row in range(rows)]
                    code.bind_all(exprs, [code.load(code.type(type), place, nbytes) for place in places])
                    exprs = [cast(one, taken_type) for one in exprs]
                elif kind == "p":
                    exprs = [Expr("argument", WORD) for _ in range(rows)]
                    code.bind_all(exprs, [_counted(code, place, row * LANES) for row in range(rows)])
                else:
                    exprs = [Expr("argument", taken_type)]
                    code.bind_all(exprs, [code.splat(next(left), taken_type)])
                    exprs *= rows
                taken.append(exprs)
            if own.refused is not None and kinds[-1] == "m":
                taken[-1] = [guard(one, own.refused(one)) for one in taken[-1]]
            values = code.emit(own.formula(draw, taken, type))
            for row, value in enumerate(values):
                code.store(code.type(type), value, code.move(target, row * LANES * nbytes), nbytes)
            if (failed := code.any_fault()) is not None:
                code.store("i1", code.register(f"or i1 {failed}, {code.load('i1', fault, 1)}"), fault, 1)
        with code.when(part):
            copy(direct[0], buffers[0])
    code.declarations["@llvm.smax.i64"] = "declare i64 @llvm.smax.i64(i64, i64)"
    return row_module(code, code.declarations, level.attributes, code.load("i1", fault, 1))


def _counted(code: Emitter, first: str, more: int) -> str:
    """first + more, and so on up, as many as there are lanes."""
    lanes = ", ".join(f"i64 {more + k}" for k in range(LANES))
    return code.register(f"add {code.type(WORD)} {code.splat(first, WORD)}, <{lanes}>")


def _halves(code: Emitter, word: str) -> tuple[str, str]:
    """The lower and the higher 32 bits of a word, each as an i64."""
    return code.register(f"and i64 {word}, {LOW_WORD}"), code.register(f"lshr i64 {word}, 32")
