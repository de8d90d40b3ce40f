"""Kernels of losses over classes: the likelihood of one class of each sample, and margins between classes.

    likelihood(result_ptr, weight_sum_ptr, sums_ptr, in_ptr, target_ptr, weight_ptr, ignored, classes, step,
               weight step, ndim, sizes..., strides...) -> None
    margins(result_ptr, in_ptr, target_ptr, power, margin, weight_ptr, classes, step, weight step, 1, samples,
            strides...) -> None
    label_margins(result_ptr, marks_ptr, in_ptr, target_ptr, classes, step, label step, 1, samples, strides...) -> None

The dims of a call are those of the samples; a step is the bytes from one class to the next. Without weights there is no
such operand, and sums are there only where a reduction is over several rows. A call fails, as one of a guard does, for
a class that there is not, and a power other than 1 and 2.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from ..core.dtype import DType, float64, int64, uint8
from .code import Carried, Declarations, row_module
from .compiler import Builtin, compiler
from .conversion import SCALAR_TYPES
from .expression import BOOL, F64, INT, Expr, ScalarType, constant, select
from .functions import cast
from .isa import Level, current_level
from .loops import load_value, store_value
from .lower import Emitter
from .pointwise import rows_builtin
from .pointwise_entry import Signature
from .sharing import MAX_DIMS

ABREAST = 4
"""Samples whose terms are added to sums of their own, so that no addition waits for the one before."""
NONE, MEAN, SUM = range(3)


@functools.cache
def likelihood_kernel(dtype: DType, target: DType, weighted: bool, reduction: int, several: bool) -> Builtin:
    """Return the builtin of minus the weighted element at the class of each sample, as it is or reduced; memoised.

    The targets are int64 or uint8. A reduction over `several` rows has two float64 sums of all of them, 0 at first.
    """
    level = current_level()
    description = f"likelihood {dtype.name} {target.name} {weighted} {reduction} {several} {level.name}"
    row = compiler().load(description, lambda: _Likelihood(dtype, target, weighted, reduction, several, level).text())
    results = [dtype, dtype, *([float64] if several else [])]
    operands = [*results, dtype, target, *([dtype] if weighted else [])]
    signature = Signature(len(results), "m" * (len(operands) - len(results)) + "iiii")
    # The sums are those of all rows, so no dim is shared out among threads.
    return rows_builtin("likelihood", signature, row, [one.itemsize for one in operands], MAX_DIMS)


class _Likelihood:
    """Writes the module of the likelihood."""

    def __init__(
        self, dtype: DType, target: DType, weighted: bool, reduction: int, several: bool, level: Level
    ) -> None:
        self.dtype, self.target, self.weighted, self.level = dtype, target, weighted, level
        self.reduction, self.several = reduction, several
        self.declarations = Declarations(level.vector_bytes)
        self.code = code = Emitter(1, "x", self.declarations)
        many = 4 + several + weighted
        self.pointers = [code.load("ptr", code.slot("%pointers", k)) for k in range(many)]
        self.strides = [code.load("i64", code.slot("%strides", k)) for k in range(many)]
        self.ignored, self.classes, *self.steps = (code.load("i64", code.slot("%numbers", k)) for k in range(4))
        self.inputs = 2 + several

    def text(self) -> str:
        """LLVM IR of the module; the row function is called @NAME."""
        code = self.code
        if self.reduction == NONE:
            with code.carry(0, "%n", 1, [("i1", "false")]) as loop:
                term, _, wrong = self._term(loop.index)
                self._store(0, loop.index, term)
                loop.following = [code.register(f"or i1 {loop.values[0]}, {wrong}")]
            self._store(1, "0", "0.0")
            return row_module(code, self.declarations, self.level.attributes, loop.results[0])
        stop = code.register(f"and i64 %n, {-ABREAST}")
        state = [*[("double", "0.0")] * 2 * ABREAST, ("i1", "false")]
        with code.carry(0, stop, ABREAST, state) as loop:
            self._add(loop, ABREAST)
        *sums, wrong = loop.results
        begin = [("double", self._sum(sums[:ABREAST])), ("double", self._sum(sums[ABREAST:])), ("i1", wrong)]
        with code.carry(stop, "%n", 1, begin) as loop:
            self._add(loop, 1)
        *totals, wrong = loop.results
        if self.several:
            places = [code.slot(self.pointers[2], k) for k in range(2)]
            totals = [self._sum([code.load("double", at), one]) for at, one in zip(places, totals, strict=True)]
            for at, total in zip(places, totals, strict=True):
                code.store("double", total, at)
        result = totals[0] if self.reduction == SUM else code.register(f"fdiv double {totals[0]}, {totals[1]}")
        self._store(0, "0", result)
        self._store(1, "0", totals[1])
        return row_module(code, self.declarations, self.level.attributes, wrong)

    def _add(self, loop: Carried, many: int) -> None:
        """Add the terms of so many samples, and their weights, each to a sum of its own."""
        code, wrong = self.code, loop.values[-1]
        terms, weights = [], []
        for k in range(many):
            term, weight, fault = self._term(code.register(f"add i64 {loop.index}, {k}"))
            terms.append(code.register(f"fadd double {loop.values[k]}, {term}"))
            weights.append(code.register(f"fadd double {loop.values[many + k]}, {weight}"))
            wrong = code.register(f"or i1 {wrong}, {fault}")
        loop.following = [*terms, *weights, wrong]

    def _sum(self, values: list[str]) -> str:
        return functools.reduce(lambda a, b: self.code.register(f"fadd double {a}, {b}"), values)

    def _store(self, place: int, index: str, value: str) -> None:
        code, expr = self.code, Expr("argument", F64)
        code.bind(expr, value)
        store_value(code, self.dtype, code.at(self.pointers[place], index, self.strides[place]), expr, self.level)

    def _term(self, index: str) -> tuple[str, str, str]:
        """Return the term of a sample and its weight, 0 where it is ignored, and the i1 that there is no such class."""
        code, (source, target) = self.code, self.pointers[self.inputs : self.inputs + 2]
        steps = self.strides[self.inputs : self.inputs + 2]
        place = code.load(f"i{8 * self.target.itemsize}", code.at(target, index, steps[1]), self.target.itemsize)
        place = code.register(f"zext i8 {place} to i64") if self.target is uint8 else place
        kept = code.register(f"icmp ne i64 {place}, {self.ignored}")
        inside = code.register(f"icmp ult i64 {place}, {self.classes}")
        wrong = code.register(f"and i1 {kept}, {code.register(f'xor i1 {inside}, true')}")
        place = code.register(f"select i1 {inside}, i64 {place}, i64 0")
        weight = "1.0"
        if self.weighted:
            weight = self._load(code.at(self.pointers[-1], place, self.steps[1]))
        term = self._load(code.at(code.at(source, index, steps[0]), place, self.steps[0]))
        if self.weighted:
            term = code.register(f"fmul double {term}, {weight}")
        term = code.register(f"fneg double {term}")
        found = [code.register(f"select i1 {kept}, double {one}, double 0.0") for one in (term, weight)]
        return found[0], found[1], wrong

    def _load(self, place: str) -> str:
        value = load_value(self.code, self.dtype, place, self.level)
        assert isinstance(value, Expr)
        return self.code.emit([cast(value, F64)])[0]


class _Margins:
    """Writes loops over samples, and over the classes of each, by vectors where these are adjacent."""

    def __init__(self, dtype: DType, reduction: int, level: Level, many: int, numbers: int) -> None:
        self.dtype, self.type, self.reduction, self.level = dtype, SCALAR_TYPES[dtype], reduction, level
        self.declarations = Declarations(level.vector_bytes)
        self.code = code = Emitter(1, "x", self.declarations)
        self.width = max(1, level.vector_bytes // 16)
        self.pointers = [code.load("ptr", code.slot("%pointers", k)) for k in range(many)]
        self.strides = [code.load("i64", code.slot("%strides", k)) for k in range(many)]
        self.classes, *self.steps = (code.load("i64", code.slot("%numbers", numbers + k)) for k in range(3))

    def converted(self, register: str, source: ScalarType, target: ScalarType) -> str:
        """Return a scalar register of one type as another one."""
        expr = Expr("argument", source)
        self.code.bind(expr, register)
        return self.code.emit([cast(expr, target)])[0]

    def value(self, place: str, type: ScalarType | None = None) -> str:
        """Return an element, as it is or as another type."""
        found = self.code.load(self.type.ir, place, self.dtype.itemsize)
        return self.converted(found, self.type, type or self.type)

    def text(self, sample: Callable[[list[str], str], tuple[str, str]], wrong: str = "false") -> str:
        """LLVM IR of the module. `sample` writes what is done with the places of a sample in the operands, and returns
        the sum of its margins and whether the call fails, given whether it has before."""
        code = self.code
        classes = self.converted(self.classes, INT[64], F64)
        with code.carry(0, "%n", 1, [("i1", wrong), ("double", "0.0")]) as loop:
            pairs = zip(self.pointers, self.strides, strict=True)
            places = [code.at(pointer, loop.index, stride) for pointer, stride in pairs]
            total, wrong = sample(places, loop.values[0])
            if self.reduction == NONE:
                self._store(places[0], code.register(f"fdiv double {total}, {classes}"))
            loop.following = [wrong, code.register(f"fadd double {loop.values[1]}, {total}")]
        wrong, total = loop.results
        if self.reduction == MEAN:
            classes = code.register(f"fmul double {classes}, {self.converted('%n', INT[64], F64)}")
        if self.reduction != NONE:
            self._store(self.pointers[0], code.register(f"fdiv double {total}, {classes}"))
        return row_module(code, self.declarations, self.level.attributes, wrong)

    def _store(self, place: str, loss: str) -> None:
        self.code.store(self.type.ir, self.converted(loss, F64, self.type), place, self.dtype.itemsize)

    def sum(
        self, source: str, room: str, kept: Callable[[_Lanes], Expr], powered: Callable[[Expr], Expr], before: str
    ) -> str:
        """Return the sum, added to the one `before`, of what `powered` makes of max(0, room + element) for the classes
        of which `kept` says so."""
        code, classes, step, width = self.code, self.classes, self.steps[0], self.width
        adjacent = code.register(f"icmp eq i64 {step}, {self.dtype.itemsize}")
        alone = code.register(f"select i1 {adjacent}, i64 {classes}, i64 0")
        stop = code.register(f"and i64 {alone}, {-width}")
        spans = [(width, "0", stop, False), (width, stop, alone, True)] if width > 1 else []
        for lanes, first, last, masked in [*spans, (1, alone if spans else "0", classes, False)]:
            with code.scope(lanes):
                bound, begun = Expr("argument", self.type), Expr("argument", F64)
                code.bind(bound, code.splat(room, self.type))
                (zero,) = code.emit([constant(0.0, F64)])
                with code.carry(first, last, lanes, [(code.type(F64), zero if lanes > 1 else before)]) as loop:
                    here = _Lanes(self, loop.index, masked=masked)
                    margin = bound + here.load(source, step)
                    margin = cast(select(margin <= 0.0, 0.0, margin), F64)
                    code.bind(begun, loop.values[0])
                    counted = kept(here) & here.there if masked else kept(here)
                    loop.following = code.emit([begun + select(counted, powered(margin), 0.0)])
            (found,) = loop.results
            if lanes > 1:
                name = f"@llvm.vector.reduce.fadd.v{lanes}f64"
                self.declarations[name] = f"declare double {name}(double, <{lanes} x double>)"
                found = code.register(f"call reassoc double {name}(double {before}, <{lanes} x double> {found})")
            before = found
        return before


class _Lanes:
    """The classes, or the one, of a round of a loop; a `masked` one may begin so many that some are not there."""

    def __init__(self, writer: _Margins, index: str, *, masked: bool) -> None:
        self.writer, self.index, self.masked = writer, index, masked
        self.code = writer.code

    def each(self, register: str) -> Expr:
        """Return an i64 for all of them."""
        expr = Expr("argument", INT[64])
        self.code.bind(expr, self.code.splat(register, expr.type))
        return expr

    @property
    def places(self) -> Expr:
        """Their places among the classes."""
        if self.code.width == 1:
            return self.each(self.index)
        lanes = Expr("argument", INT[64])
        self.code.bind(lanes, f"<{', '.join(f'i64 {lane}' for lane in range(self.code.width))}>")
        return self.each(self.index) + lanes

    @property
    def there(self) -> Expr:
        """Return whether they are there."""
        return self.places < self.each(self.writer.classes)

    def load(self, pointer: str, step: str | int) -> Expr:
        """Return the elements, 0 for what is not there."""
        code, type = self.code, self.writer.type
        place, found = code.at(pointer, self.index, step), Expr("argument", type)
        vector, align = code.type(type), type.bits // 8
        if not self.masked:
            code.bind(found, code.load(vector, place, align))
            return found
        (mask,) = code.emit([self.there])
        name, truth = f"@llvm.masked.load.v{code.width}f{type.bits}.p0", f"<{code.width} x i1>"
        self.writer.declarations[name] = f"declare {vector} {name}(ptr, i32 immarg, {truth}, {vector})"
        given = f"ptr {place}, i32 {align}, {truth} {mask}, {vector} zeroinitializer"
        code.bind(found, code.register(f"call {vector} {name}({given})"))
        return found


@functools.cache
def margins_kernel(dtype: DType, weighted: bool, reduction: int) -> Builtin:
    """Return the builtin of the mean margins of float32 or float64 samples, as they are or reduced; memoised."""
    level = current_level()
    description = f"margins {dtype.name} {weighted} {reduction} {level.name}"
    row = compiler().load(description, lambda: _margins_text(dtype, weighted, reduction, level))
    operands = [dtype, dtype, int64, *([dtype] if weighted else [])]
    signature = Signature(1, f"mmdd{'m' if weighted else ''}iii")
    return rows_builtin("margins", signature, row, [one.itemsize for one in operands], MAX_DIMS)


def _margins_text(dtype: DType, weighted: bool, reduction: int, level: Level) -> str:
    writer = _Margins(dtype, reduction, level, 3 + weighted, 2)
    code = writer.code
    power, margin = (code.load("double", code.slot("%numbers", k)) for k in range(2))
    one, two = (code.register(f"fcmp oeq double {power}, {number}.0") for number in (1, 2))
    margin = writer.converted(margin, F64, writer.type)
    squared = Expr("argument", BOOL)

    def powered(margin: Expr) -> Expr:
        code.bind(squared, code.splat(two, BOOL))
        return select(squared, margin * margin, margin)

    def sample(places: list[str], wrong: str) -> tuple[str, str]:
        _, source, target, *_ = places
        own = code.load("i64", target)
        inside = code.register(f"icmp ult i64 {own}, {writer.classes}")
        own = code.register(f"select i1 {inside}, i64 {own}, i64 0")
        value = writer.value(code.at(source, own, writer.steps[0]))
        room = code.register(f"fsub {writer.type.ir} {margin}, {value}")
        total = writer.sum(source, room, lambda lanes: lanes.places != lanes.each(own), powered, "0.0")
        if weighted:
            weight = writer.value(code.at(writer.pointers[3], own, writer.steps[1]), F64)
            total = code.register(f"fmul double {total}, {weight}")
        return total, code.register(f"or i1 {wrong}, {code.register(f'xor i1 {inside}, true')}")

    return writer.text(sample, code.register(f"xor i1 {code.register(f'or i1 {one}, {two}')}, true"))


@functools.cache
def label_margins_kernel(dtype: DType, reduction: int) -> Builtin:
    """Return the builtin of the mean margins between labels and other classes of float32 or float64 samples, as they
    are or reduced, and of the marks of the labels; memoised."""
    level = current_level()
    description = f"label margins {dtype.name} {reduction} {level.name}"
    row = compiler().load(description, lambda: _label_margins_text(dtype, reduction, level))
    return rows_builtin("label margins", Signature(2, "mmiii"), row, [*[dtype.itemsize] * 3, 8], MAX_DIMS)


def _label_margins_text(dtype: DType, reduction: int, level: Level) -> str:
    writer = _Margins(dtype, reduction, level, 4, 0)
    code, type, classes = writer.code, writer.type, writer.classes
    (one,) = code.emit([constant(1.0, type)])
    size = code.register(f"mul i64 {classes}, {dtype.itemsize}")
    writer.declarations["memset"] = "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)"

    def sample(places: list[str], wrong: str) -> tuple[str, str]:
        _, marks, source, target = places
        code.line(f"call void @llvm.memset.p0.i64(ptr {marks}, i8 0, i64 {size}, i1 false)")
        # Labels end at the first -1. Those that there are not make the call fail, and count for nothing.
        with code.carry(0, classes, 1, [("i64", "0"), ("i1", "true"), ("i1", wrong)]) as labels:
            label = code.load("i64", code.at(target, labels.index, writer.steps[1]))
            inside = code.register(f"icmp ult i64 {label}, {classes}")
            known = code.register(f"or i1 {inside}, {code.register(f'icmp eq i64 {label}, -1')}")
            wrong = code.register(f"or i1 {labels.values[2]}, {code.register(f'xor i1 {known}, true')}")
            goes_on = code.register(f"and i1 {labels.values[1]}, {inside}")
            with code.when(goes_on):
                code.store(type.ir, one, code.at(marks, label, dtype.itemsize), dtype.itemsize)
            many = code.register(f"add i64 {labels.values[0]}, {code.register(f'zext i1 {goes_on} to i64')}")
            labels.following = [many, goes_on, wrong]
        many, _, wrong = labels.results
        with code.carry(0, many, 1, [("double", "0.0")]) as pairs:
            label = code.load("i64", code.at(target, pairs.index, writer.steps[1]))
            value = writer.value(code.at(source, label, writer.steps[0]))
            room = code.register(f"fsub {type.ir} {one}, {value}")
            others = _unmarked(marks, dtype.itemsize)
            pairs.following = [writer.sum(source, room, others, lambda margin: margin, pairs.values[0])]
        return pairs.results[0], wrong

    return writer.text(sample)


def _unmarked(marks: str, step: int) -> Callable[[_Lanes], Expr]:
    """Return the function that gives whether classes are no labels."""
    return lambda lanes: lanes.load(marks, step) == 0.0
