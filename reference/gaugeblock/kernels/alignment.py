"""Kernels of connectionist temporal classification: how likely sequences of labels are, whatever their alignment.

    likelihoods(losses_ptr, alphas_ptr, scratch_ptr, log_probs_ptr, targets_ptr, lengths_ptr, numbers..., 1, batch,
                byte strides...) -> None
    gradient(gradient_ptr, scratch_ptr, log_probs_ptr, targets_ptr, lengths_ptr, losses_ptr, alphas_ptr, grad_ptr,
             numbers..., zero_infinity, 1, batch, byte strides...) -> None

The states of a sequence are its labels with blanks before, between and behind them. Alpha is the logarithm of the
likelihood of being in a state at a time, with all that came before; beta is that with all that follows. The lengths are
for each sequence those of its input and of its labels, and the bytes at which these begin. The numbers are: classes,
blank, the bytes from one time, class and label to the next, states in a row of alphas, elements of an array of scratch
memory, of which there are ARRAYS; of the gradient also the bytes from one time and class to the next. A label that
there is not makes the call fail, as a guard does.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from ..core.dtype import DType, int64
from .code import MEMCPY, Declarations, row_module
from .compiler import Builtin, compiler
from .conversion import SCALAR_TYPES
from .exponential import exp
from .expression import BOOL, Expr, select
from .functions import maximum
from .isa import Level, current_level
from .logarithm import log
from .lower import Emitter
from .pointwise import rows_builtin
from .pointwise_entry import Signature

ARRAYS = 5
"""Arrays of scratch memory for a sequence: two of likelihoods, scores, labels, and which states may be jumped to."""
BEFORE = 2
"""States that are not there in front of the first one."""
BEHIND = 64 + BEFORE
"""Elements of an array beyond its states: for those before them, and for the rest of a vector."""
NUMBERS = 7


def likelihoods_kernel(dtype: DType, target: DType) -> Builtin:
    """Return the builtin of losses and alphas for float32 or float64 and labels of int32 or int64; memoised."""
    return _builtin("likelihoods", dtype, target)


def gradient_kernel(dtype: DType, target: DType) -> Builtin:
    """Return the builtin of the gradient, which is 0 at first, by the logarithms of probabilities; memoised."""
    return _builtin("gradient", dtype, target)


@functools.cache
def _builtin(name: str, dtype: DType, target: DType) -> Builtin:
    level = current_level()
    description = f"alignment {name} {dtype.name} {target.name} {level.name}"
    row = compiler().load(description, lambda: getattr(_Writer(dtype, target, level, name), name)())
    read = [dtype, target, int64]
    operands = [dtype, dtype, dtype, *read] if name == "likelihoods" else [dtype, dtype, *read, dtype, dtype, dtype]
    results = 3 if name == "likelihoods" else 2
    numbers = NUMBERS + (3 if name == "gradient" else 0)
    signature = Signature(results, "m" * (len(operands) - results) + "i" * numbers)
    return rows_builtin(name, signature, row, [one.itemsize for one in operands], 0)


class _Writer:
    """Writes the module of a kernel."""

    def __init__(self, dtype: DType, target: DType, level: Level, name: str) -> None:
        self.type, self.size, self.target, self.level = SCALAR_TYPES[dtype], dtype.itemsize, target, level
        self.width = max(1, level.vector_bytes // self.size)
        self.declarations = Declarations(level.vector_bytes)
        self.declarations["memcpy"] = MEMCPY
        self.code = code = Emitter(1, "x", self.declarations)
        many = 6 if name == "likelihoods" else 8
        self.operands = [
            (code.load("ptr", code.slot("%pointers", k)), code.load("i64", code.slot("%strides", k)))
            for k in range(many)
        ]
        numbers = [code.load("i64", code.slot("%numbers", k)) for k in range(NUMBERS + (3 if many == 8 else 0))]
        self.classes, self.blank, self.time_step, self.class_step, self.label_step, self.states, self.room = numbers[:7]
        self.others = numbers[7:]
        self.nothing = self._emitted(Expr("constant", self.type, (), float("-inf")))

    def _emitted(self, expr: Expr) -> str:
        return self.code.emit([expr])[0]

    def _bound(self, register: str) -> Expr:
        expr = Expr("argument", self.type)
        self.code.bind(expr, register)
        return expr

    def _at(self, array: str, index: str) -> str:
        return self.code.at(array, index, self.size)

    def _load(self, array: str, index: str) -> Expr:
        """Return the elements of an array from an index on, as many as a vector has."""
        return self._bound(self.code.load(self.code.type(self.type), self._at(array, index), self.size))

    def _store(self, expr: Expr, array: str, index: str) -> None:
        self.code.store(self.code.type(self.type), self._emitted(expr), self._at(array, index), self.size)

    def _sequence(self, operands: Sequence[str], wrong: str) -> str:
        """Take up the lengths of a sequence, and fill the arrays of its states; return whether the call fails."""
        code = self.code
        scratch, log_probs, targets, lengths = operands
        self.times, self.length, begin = (code.load("i64", code.slot(lengths, k)) for k in range(3))
        self.log_probs, targets = log_probs, code.move(targets, begin)
        self.count = code.register(f"add i64 {code.register(f'shl i64 {self.length}, 1')}, 1")
        nbytes = code.register(f"mul i64 {self.room}, 8")
        arrays = [code.at(scratch, k, nbytes) for k in range(ARRAYS)]
        self.first, self.second, self.scores, self.labels, self.jumps = arrays
        with code.scope(self.width):
            fills = {array: self._emitted(Expr("constant", self.type, (), float("-inf"))) for array in arrays[:3]}
            fills[self.jumps] = self._emitted(Expr("constant", self.type, (), 0.0))
            with code.loop(0, self.room, self.width) as k:
                for array, value in fills.items():
                    code.store(code.type(self.type), value, self._at(array, k), self.size)
        one = self._emitted(Expr("constant", self.type, (), 1.0))
        with code.carry(0, self.length, 1, [("i64", "-1"), ("i1", wrong)]) as loop:
            place = code.at(targets, loop.index, self.label_step)
            label = code.load(f"i{8 * self.target.itemsize}", place, self.target.itemsize)
            label = label if self.target is int64 else code.register(f"sext i32 {label} to i64")
            inside = code.register(f"icmp ult i64 {label}, {self.classes}")
            label = code.register(f"select i1 {inside}, i64 {label}, i64 0")
            state = code.register(f"shl i64 {loop.index}, 1")
            code.store("i64", self.blank, code.slot(self.labels, state))
            state = code.register(f"add i64 {state}, 1")
            code.store("i64", label, code.slot(self.labels, state))
            # A label may follow the one before without a blank between them, unless they are the same.
            jumps = code.register(f"icmp ne i64 {label}, {loop.values[0]}")
            jumps = code.register(f"and i1 {jumps}, {code.register(f'icmp ne i64 {loop.index}, 0')}")
            with code.when(jumps):
                code.store(self.type.ir, one, self._at(self.jumps, state), self.size)
            wrong = code.register(f"or i1 {loop.values[1]}, {code.register(f'xor i1 {inside}, true')}")
            loop.following = [label, wrong]
        code.store("i64", self.blank, code.slot(self.labels, code.register(f"shl i64 {self.length}, 1")))
        return loop.results[1]

    def _read_scores(self, time: str) -> None:
        """Store the logarithm of the probability of each state at a time."""
        code = self.code
        row = code.at(self.log_probs, time, self.time_step)
        with code.loop(0, self.count) as state:
            place = code.at(row, code.load("i64", code.slot(self.labels, state)), self.class_step)
            code.store(self.type.ir, code.load(self.type.ir, place, self.size), self._at(self.scores, state), self.size)

    def _sum(self, *terms: Expr) -> Expr:
        """Return the logarithm of the sum of e to the power of each term."""
        largest = functools.reduce(maximum, terms)
        shift = select(largest == float("-inf"), 0.0, largest)
        return log(functools.reduce(lambda a, b: a + b, [exp(term - shift) for term in terms])) + shift

    def _step(self, before: str, after: str, moves: tuple[int, int, int], jump: int) -> None:
        """Store the likelihoods that follow from those of three states each, `moves` elements further on, the last one
        only where the state `jump` further on may be jumped to."""
        code = self.code
        with code.scope(self.width), code.loop(0, self.count, self.width) as state:

            def place(move: int) -> str:
                return code.register(f"add i64 {state}, {move}")

            own, next, last = (self._load(before, place(move)) for move in moves)
            jumps = self._load(self.jumps, place(jump))
            last = select(jumps != 0.0, last, float("-inf"))
            self._store(self._sum(own, next, last) + self._load(self.scores, state), after, place(BEFORE))

    def _swapped(self, time: str) -> tuple[str, str]:
        """Return the arrays of likelihoods that are read and written in a round."""
        code = self.code
        odd = code.register(f"trunc i64 {time} to i1")
        pairs = (self.first, self.second), (self.second, self.first)
        read, written = (code.register(f"select i1 {odd}, ptr {a}, ptr {b}") for a, b in pairs)
        return read, written

    def _begin(self, states: tuple[str, str]) -> None:
        """Store the likelihoods of the two states that a sequence may begin or end with; the second needs a label."""
        code = self.code
        for state in states:
            score = code.load(self.type.ir, self._at(self.scores, state), self.size)
            if state is states[1]:
                labelled = code.register(f"icmp ne i64 {self.length}, 0")
                score = code.register(f"select i1 {labelled}, {self.type.ir} {score}, {self.type.ir} {self.nothing}")
            at = code.register(f"add i64 {state}, {BEFORE}")
            code.store(self.type.ir, score, self._at(self.first, at), self.size)

    def likelihoods(self) -> str:
        """LLVM IR of the kernel of losses and alphas; the row function is called @NAME."""
        code = self.code
        with code.carry(0, "%n", 1, [("i1", "false")]) as loop:
            losses, alphas, *rest = (code.at(pointer, loop.index, stride) for pointer, stride in self.operands)
            wrong = self._sequence(rest, loop.values[0])
            nbytes = code.register(f"mul i64 {self.count}, {self.size}")
            row = code.register(f"mul i64 {self.states}, {self.size}")

            def keep(array: str, time: str) -> None:
                given = f"ptr {code.at(alphas, time, row)}, ptr {code.move(array, BEFORE * self.size)}, i64 {nbytes}"
                code.line(f"call void @llvm.memcpy.p0.p0.i64({given}, i1 false)")

            some = code.register(f"icmp ne i64 {self.times}, 0")
            with code.when(some):
                self._read_scores("0")
                self._begin(("0", "1"))
                keep(self.first, "0")
            with code.loop(1, self.times) as time:
                before, after = self._swapped(time)
                self._read_scores(time)
                self._step(before, after, (2, 1, 0), 0)
                keep(after, time)
            last, _ = self._swapped(self.times)
            ends = [self._load(last, code.register(f"add i64 {self.count}, {k}")) for k in (1, 0)]
            loss = -self._sum(*ends)
            empty = Expr("argument", BOOL)
            code.bind(empty, code.register(f"icmp eq i64 {code.register(f'or i64 {self.times}, {self.length}')}, 0"))
            code.store(self.type.ir, self._emitted(select(empty, 0.0, loss)), losses, self.size)
            loop.following = [wrong]
        return row_module(code, self.declarations, self.level.attributes, loop.results[0])

    def gradient(self) -> str:
        """LLVM IR of the kernel of the gradient; the row function is called @NAME."""
        code, size = self.code, self.size
        time_step, class_step, forgiven = self.others
        with code.carry(0, "%n", 1, [("i1", "false")]) as loop:
            places = [code.at(pointer, loop.index, stride) for pointer, stride in self.operands]
            gradient, *rest = places[:5]
            losses, alphas, grad = places[5:]
            wrong = self._sequence(rest, loop.values[0])
            nbytes = code.register(f"mul i64 {self.count}, {size}")
            row = code.register(f"mul i64 {self.states}, {size}")
            loss, share, zero = self._load(losses, "0"), self._load(grad, "0"), Expr("argument", BOOL)
            impossible = loss == float("inf")
            code.bind(zero, code.register(f"icmp ne i64 {forgiven}, 0"))
            missing = select(zero, Expr("constant", self.type, (), 0.0), float("nan"))
            factors = code.emit([select(impossible, 0.0, loss), -select(impossible, missing, share)])
            last = code.register(f"sub i64 {self.count}, 1")
            ends = last, code.register(f"sub i64 {last}, 1")
            beyond = [code.register(f"add i64 {self.count}, {BEFORE + k}") for k in range(2)]
            final = code.register(f"sub i64 {self.times}, 1")
            with code.loop(0, self.times) as round:
                time = code.register(f"sub i64 {final}, {round}")
                before, after = self._swapped(round)
                self._read_scores(time)
                begins = code.register(f"icmp eq i64 {round}, 0")
                with code.when(begins):
                    self._begin(ends)
                with code.when(code.register(f"xor i1 {begins}, true")):
                    self._step(before, after, (2, 3, 4), 2)
                    for place in beyond:
                        code.store(self.type.ir, self.nothing, self._at(after, place), size)
                there = code.move(before, BEFORE * size)
                given = f"ptr {there}, ptr {code.at(alphas, time, row)}, i64 {nbytes}"
                code.line(f"call void @llvm.memcpy.p0.p0.i64({given}, i1 false)")
                self._shares(there, code.move(after, BEFORE * size), factors)
                row_of_time = code.at(gradient, time, time_step)
                with code.loop(0, self.count) as state:
                    place = code.at(row_of_time, code.load("i64", code.slot(self.labels, state)), class_step)
                    self._store(self._load(place, "0") + self._load(there, state), place, "0")
            loop.following = [wrong]
        return row_module(code, self.declarations, self.level.attributes, loop.results[0])

    def _shares(self, alphas: str, betas: str, factors: Sequence[str]) -> None:
        """Store in place of alphas what each state adds to the gradient of its label, given what the likelihood of the
        sequence is multiplied by, as a logarithm, and what that is."""
        code = self.code
        with code.scope(self.width):
            loss, factor = (self._bound(code.splat(one, self.type)) for one in factors)
            with code.loop(0, self.count, self.width) as state:
                both = self._load(alphas, state) + self._load(betas, state)
                share = exp(both - self._load(self.scores, state) + loss)
                self._store(select(both == float("-inf"), 0.0, share) * factor, alphas, state)
