"""Reduction kernels: a reduction specialised for input, compute and result dtypes, compiled when first called.

    kernel.reduce(out_ptr..., in_ptr, number..., nkeep, nreduce, sizes (kept dims, reduced dims)...,
                  input strides (kept, reduced)..., output strides (kept dims) output by output...) -> None
    kernel.full(out_ptr..., in_ptr, number..., n) -> None: one output from n contiguous elements

Dims stand innermost first within each group, strides in bytes, addresses are ints, numbers Python floats. Any size may
be 0: no reduced elements give the value for none. Reductions with an index count elements in visiting order.
Releases the interpreter lock above 32768 elements.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

from ..core.dtype import DType
from . import reduction_phases as phases
from .code import MEMCPY, NAME, PLAIN, Code
from .common import SHARE_GRID, TRANSPOSED_REDUCTION, declaration
from .compiler import Builtin, compiler, made_once
from .entry import EntryWriter
from .isa import Level, current_level
from .reduction_loops import ReductionWriter
from .sharing import DRIVE, MAX_DIMS, along_first, context_of, each_row
from .tiles import transfer_routine


def reduction_entry(outputs: int, numbers: int) -> str:
    """IR text of the module."""
    entry = EntryWriter(NAME, "reduction kernel")
    places = entry.register(f"alloca [{outputs + 1} x ptr]")
    for index in range(outputs + 1):
        entry.put("i64", entry.integer(index), places, index)
    parameters = entry.register(f"alloca [{phases.BLOCK_BYTES} x i8], align 64")
    position = outputs + 1
    for index in range(numbers):
        for type, value in entry.number(position + index, "d"):
            entry.put(type, value, parameters, 1 + index)
    position += numbers
    kept, reduced = entry.integer(position), entry.integer(position + 1)
    position += 2
    entry.check()
    dims = entry.register(f"add i64 {kept}, {reduced}")
    twice = entry.register(f"mul i64 {dims}, 2")
    out_dims = entry.register(f"mul i64 {kept}, {outputs}")
    needed = entry.register(f"add i64 {twice}, {out_dims}")
    total = entry.register(f"add i64 {needed}, {position}")
    fits = entry.register(f"icmp eq i64 {total}, %nargs")
    small = entry.register(f"icmp ule i64 {kept}, {MAX_DIMS}")
    small_too = entry.register(f"icmp ule i64 {reduced}, {MAX_DIMS}")
    both = entry.register(f"and i1 {small}, {small_too}")
    entry.require(entry.register(f"and i1 {fits}, {both}"))
    keep_sizes, sizes, steps = (entry.register(f"alloca [{MAX_DIMS} x i64]") for _ in range(3))
    keep_strides = entry.register(f"alloca [{MAX_DIMS * (outputs + 1)} x i64]")
    entry.put("i64", "1", keep_sizes, 0)  # what no kept dim stands for
    start = str(position)
    volumes = []
    arrays = (keep_sizes, sizes, entry.slot(keep_strides, out_dims), steps, keep_strides)
    for array, amount in zip(arrays, (kept, reduced, kept, reduced, out_dims), strict=True):
        volumes.append(entry.array(start, amount, array))
        start = entry.register(f"add i64 {start}, {amount}")
    entry.check(always=True)
    entry.put("i64", volumes[1], parameters, 0)
    descriptor = entry.descriptor()
    slots = phases.PACK_SLOT, phases.ITEMSIZE_SLOT, phases.TRANSPOSE_SLOT, phases.REDUCTION_SLOT
    for place, slot in enumerate(slots, 1):
        entry.put("i64", entry.load("i64", entry.slot(descriptor, place)), parameters, slot)
    entry.proceed(volumes[0])
    amount = entry.register(f"mul i64 {volumes[0]}, {volumes[1]}")
    base = entry.register(f"load ptr, ptr {descriptor}")
    walk = context_of(entry, (f"i64 {reduced}", f"ptr {sizes}", f"ptr {steps}"))
    call = f"ptr {base}, ptr {places}, ptr {parameters}, i64 {kept}, ptr {keep_sizes}, ptr {keep_strides}, ptr {walk}, "
    call += f"ptr null, i64 {outputs}, i64 {outputs + 1}"
    shared = f"call i1 @{SHARE_GRID}(ptr @kept, {call}, i64 0, i64 {volumes[1]})"
    entry.run(f"call i1 @kept({call})", amount, shared)
    text = entry.text("sge", position)
    return "\n".join([PLAIN, declaration(SHARE_GRID), _kept(outputs), MEMCPY, text, ""])


def _kept(outputs: int) -> str:
    """@kept: rows of outputs over the first kept dim, an odometer over the others. It drives a box as those of
    pointwise kernels are driven; in place of the item sizes it is given number, sizes and strides of the reduced dims.
    """
    code = Code()
    block = code.register(f"alloca [{phases.BLOCK_BYTES} x i8], align 64")
    code.line(f"call void @llvm.memcpy.p0.p0.i64(ptr {block}, ptr %numbers, i64 {phases.SCALAR_BYTES}, i1 0)")
    steps, cursors, n = along_first(code, outputs + 1)
    step = code.load("i64", code.slot(steps, outputs))
    ndim, *walk = (code.load(type, code.slot("%itemsizes", k)) for k, type in enumerate(("i64", "ptr", "ptr")))
    with each_row(code, "%ndim", "%sizes", cursors):
        at = code.load("ptr", cursors[-1][0])
        given = f"ptr {at}, ptr %pointers, i64 {n}, i64 {step}, ptr {steps}, i64 {ndim}, ptr {walk[0]}, ptr {walk[1]}"
        code.line(f"call void %row({given}, ptr {block})")
    return code.function(f"define internal i1 @kept({DRIVE})", "  ret i1 false")


@dataclass(eq=False, repr=False)
class ReductionKernel:
    """A compiled reduction; its builtins are made on first use.

    They have one signature: `reduce` for any strides, `along` where outputs do not lie side by side in the input,
    `gathering` where nothing does, `turning` (of reduces with one result) for few elements that lie side by side.
    """

    name: str
    reduction: phases.Reduction
    input: DType
    compute: DType
    results: tuple[DType, ...]
    level: Level

    def __repr__(self) -> str:
        return f"<reduction kernel {self.name}({self.input.name})>"

    @made_once
    def reduce(self) -> Builtin:
        """The builtin for any strides."""
        return self._builtin(self._wide_row)

    @made_once
    def along(self) -> Builtin:
        """The builtin for outputs that are not adjacent in the input."""
        return self._builtin(self._row)

    @made_once
    def gathering(self) -> Builtin:
        """The builtin for an input that is contiguous in no dim."""
        return self._builtin(self._row, pack=self._packing())

    @made_once
    def turning(self) -> Builtin:
        """The builtin for few adjacent elements of each output, for a reduction with one result."""
        row = compiler().common(TRANSPOSED_REDUCTION)
        return self._builtin(row, turn=self._packing(), reduction=self._wide_row)

    def _packing(self) -> int:
        return transfer_routine(self.input.itemsize, self.level, filling=True)

    def _builtin(self, row: int, pack: int = 0, turn: int = 0, reduction: int = 0) -> Builtin:
        descriptor = [row, pack, self.input.itemsize, turn, reduction]
        return compiler().builtin(self.name, _entry(len(self.results), self.reduction.numbers), descriptor)

    @made_once
    def _row(self) -> int:
        """Address of the function for a row of outputs."""
        return self._loaded(wide=False)

    @made_once
    def _wide_row(self) -> int:
        """The same, which also reduces many adjacent outputs at once; it calls the former."""
        assert self._row
        return self._loaded(wide=True)

    def _loaded(self, *, wide: bool) -> int:
        dtypes = [dtype.name for dtype in (self.input, self.compute, *self.results)]
        description = f"reduction {self.reduction.name} {wide} {dtypes} {self.level.name}"

        def text() -> str:
            body = phases.record_reduction(self.reduction, self.input, self.compute, self.results, self.level)
            single = ReductionWriter(body, self.level).single()
            return ReductionWriter(body, self.level).several(compiler().symbol(single)) if wide else single

        return compiler().load(description, text)


@functools.cache
def _entry(outputs: int, numbers: int) -> int:
    return compiler().load(f"reduction {outputs} {numbers}", lambda: reduction_entry(outputs, numbers))


_kernel = functools.cache(ReductionKernel)


def reduction_kernel(
    name: str, reduction: phases.Reduction, input: DType, compute: DType, results: Sequence[DType]
) -> ReductionKernel:
    """The kernel of a reduction: elements are converted from `input` to `compute`, results to `results`; memoised."""
    return _kernel(name, reduction, input, compute, tuple(results), current_level())
