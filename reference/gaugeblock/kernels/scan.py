"""Scan kernels: running sums, products and extremes along the innermost dim given.

    kernel.strided(out_ptr..., in_ptr, ndim, sizes..., byte strides operand by operand...) -> None
    kernel.abreast(the same) -> None

as for pointwise kernels, but dimension 0 is the one that is scanned, in index order. `abreast` scans `kernel.width`
neighbours in memory at once, as the lanes of vectors; sizes and strides are those of the groups.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from ..core.dtype import DType
from .code import NAME
from .compiler import Builtin, compiler
from .conversion import from_storage, rounded, to_storage
from .declarations import Declarations
from .expression import INT, Lane
from .fold import Context, Phase, arguments
from .isa import Level, current_level
from .loops import deinterleave, interleave
from .lower import Emitter
from .operand import Memory, memory
from .pointwise import rows_driver, strided_address
from .pointwise_entry import Signature


class ScanKernel:
    """A compiled scan; the attributes `strided` and `abreast` are builtins made on first use."""

    __slots__ = ("abreast", "compute", "input", "level", "name", "phase", "results", "strided")

    strided: Builtin
    abreast: Builtin

    def __init__(
        self, name: str, phase: Phase, input: DType, compute: DType, results: tuple[DType, ...], level: Level
    ) -> None:
        self.name = name
        self.phase = phase
        self.input = input
        self.compute = compute
        self.results = results
        self.level = level

    def __repr__(self) -> str:
        return f"<scan kernel {self.name}({self.input.name})>"

    @property
    def width(self) -> int:
        """How many neighbours `abreast` takes: four vectors of 64-bit states, for steps do not wait for one another."""
        return self.level.vector_bytes // 2

    def __getattr__(self, attribute: str) -> Builtin:
        if attribute not in ("strided", "abreast"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {attribute!r}")
        width = self.width if attribute == "abreast" else 1
        dtypes = [dtype.name for dtype in (self.input, self.compute, *self.results)]
        description = f"scan {self.phase.name} {width} {dtypes} {self.level.name}"
        row = compiler().load(description, lambda: self.text(width))
        itemsizes = [dtype.itemsize for dtype in (*self.results, self.input)]
        strided = strided_address(Signature(len(self.results), "m"))
        descriptor = [row, *itemsizes, rows_driver(len(itemsizes)), 1]
        builtin = compiler().builtin(self.name, strided, descriptor)
        setattr(self, attribute, builtin)
        return builtin

    def text(self, width: int) -> str:
        """LLVM IR of the row function, named @NAME, for elements of `width` lanes."""
        half = self.level.half_hardware
        source = memory("x", self.input)
        outputs = [memory(f"o{index}", dtype) for index, dtype in enumerate(self.results)]
        element = arguments([source.storage] * source.components)
        index, count = Lane("argument", INT[64]), Lane("argument", INT[64])
        value = from_storage(element, self.input, half)
        if self.compute is not self.input:
            value = rounded(value, self.compute, half)
        identity = self.phase.identity(value)
        state = arguments([lane.type for lane in identity])
        context = Context(count, (), ())
        stepped = self.phase.step(state, value, index, context)
        finished = self.phase.finish(stepped, context)
        stored = [to_storage(v, dtype, half) for v, dtype in zip(finished, self.results, strict=True)]
        everything = (*outputs, source)
        declarations = Declarations(self.level.vector_bytes)
        emitter = Emitter(width, "s", declarations)
        start = Emitter(width, "i", declarations)
        initial = start.emit(identity)
        for slot, lane in enumerate(state):
            emitter.bind(lane, f"%state{slot}")
        emitter.bind(index, emitter.splat("%k", index.type))
        emitter.bind(count, emitter.splat("%n", count.type))
        _load(emitter, source, element)
        following = emitter.emit(stepped)
        for operand, lanes in zip(outputs, stored, strict=True):
            _store(emitter, operand, emitter.emit(lanes))
        return "\n".join(
            [
                f"define i1 @{NAME}(ptr %pointers, ptr %numbers, i64 %n, ptr %strides) #0 {{",
                "entry:",
                *_operands(everything),
                *start.lines,
                "  br label %loop",
                "loop:",
                "  %k = phi i64 [0, %entry], [%k_next, %last]",
                *(f"  %at_{o.name} = phi ptr [%{o.name}, %entry], [%next_{o.name}, %last]" for o in everything),
                *(
                    f"  %state{slot} = phi {emitter.type(lane.type)} [{first}, %entry], [{then}, %last]"
                    for slot, (lane, first, then) in enumerate(zip(state, initial, following, strict=True))
                ),
                *emitter.lines,
                "  br label %last",
                "last:",
                *(f"  %next_{o.name} = getelementptr i8, ptr %at_{o.name}, i64 %s_{o.name}" for o in everything),
                "  %k_next = add i64 %k, 1",
                "  %more = icmp slt i64 %k_next, %n",
                "  br i1 %more, label %loop, label %end",
                "end:",
                "  ret i1 false",
                "}",
                declarations.text(self.level.attributes),
            ]
        )


def _operands(operands: Sequence[Memory]) -> list[str]:
    lines = []
    for index, operand in enumerate(operands):
        name = operand.name
        lines += [
            f"  %p_{name} = getelementptr ptr, ptr %pointers, i64 {index}",
            f"  %{name} = load ptr, ptr %p_{name}",
            f"  %q_{name} = getelementptr i64, ptr %strides, i64 {index}",
            f"  %s_{name} = load i64, ptr %q_{name}",
        ]
    return lines


def _load(emitter: Emitter, operand: Memory, lanes: tuple[Lane, ...]) -> None:
    type, align = _type(emitter, operand), operand.itemsize // operand.components
    loaded = emitter.register(f"load {type}, ptr %at_{operand.name}, align {align}")
    if operand.components == 1:
        emitter.bind(lanes[0], loaded)
        return
    for part, lane in enumerate(lanes):
        emitter.bind(lane, deinterleave(emitter, loaded, type, part))


def _store(emitter: Emitter, operand: Memory, values: list[str]) -> None:
    value = values[0] if operand.components == 1 else interleave(emitter, operand.storage.ir, values)
    type, align = _type(emitter, operand), operand.itemsize // operand.components
    emitter.lines.append(f"  store {type} {value}, ptr %at_{operand.name}, align {align}")


def _type(emitter: Emitter, operand: Memory) -> str:
    """The IR type of an operand's neighbours."""
    lanes = emitter.width * operand.components
    return operand.storage.ir if lanes == 1 else f"<{lanes} x {operand.storage.ir}>"


@functools.cache
def _kernel(
    name: str, phase: Phase, input: DType, compute: DType, results: tuple[DType, ...], level: Level
) -> ScanKernel:
    return ScanKernel(name, phase, input, compute, results, level)


def scan_kernel(name: str, phase: Phase, input: DType, compute: DType, results: Sequence[DType]) -> ScanKernel:
    """The kernel of a scan: the finished state after each element is stored; memoised."""
    return _kernel(name, phase, input, compute, tuple(results), current_level())
