"""The product of two matrices: by NumPy's own BLAS without NumPy in between, or in blocks of registers.

    gemm(out_ptr, left_ptr, right_ptr, rows, columns, inner, left_order, left_step, right_order, right_step) -> None
    product(out_ptr, left_ptr, right_ptr, rows, columns, inner, left_row, left_inner, right_inner, right_column) -> None

Both write a row-major result. `gemm`, None where the BLAS's symbols are not found, takes matrices that may be
transposed: order 111 means that a matrix is row-major, 112 that its transpose is, step is the distance of rows (of the
transpose's rows) in elements.

`product`, None where the processor has no fused multiply, is for moderate sizes. Its last four arguments are the
distances, in bytes, of the elements of either matrix along its dims; one of the two of `right` is the item size. As
many columns of it as a block has are packed, in vectors, once; a block of the result then stays in registers while all
of its products are added, one after the other (Goto and van de Geijn, "Anatomy of high-performance matrix
multiplication", 2008, without its outer levels: a panel fits the caches).
"""

from __future__ import annotations

import ctypes
import functools
from typing import NamedTuple

from ..core.dtype import DType, float32
from .code import NAME, PLAIN, Code
from .compiler import Builtin, compiler
from .entry import PYTHON_API, EntryWriter
from .isa import Level, current_level
from .parallel import blas_library
from .tiles import turn_square

PLAIN_ORDER, TRANSPOSED_ORDER = 111, 112
_ROW_MAJOR = 101
_SYMBOLS = (("scipy_cblas_{}gemm64_", 64), ("cblas_{}gemm64_", 64), ("scipy_cblas_{}gemm", 32), ("cblas_{}gemm", 32))


@functools.cache
def gemm(dtype: DType) -> Builtin | None:
    """The builtin for float32 or float64."""
    letter, type = ("s", "float") if dtype is float32 else ("d", "double")
    found = _find(letter)
    if found is None:
        return None
    address, bits = found
    entry = compiler().load(f"gemm {type} {bits}", lambda: _text(type, bits))
    return compiler().builtin("gemm", entry, [address])


def _find(letter: str) -> tuple[int, int] | None:
    """Address of the C function, and the width of its integers."""
    library = blas_library()
    if library is None:
        return None
    for pattern, bits in _SYMBOLS:
        function = getattr(library, pattern.format(letter), None)
        if function is not None:
            return ctypes.cast(function, ctypes.c_void_p).value or 0, bits
    return None


def _text(type: str, bits: int) -> str:
    entry = EntryWriter("gemm", "matrix product")
    out, left, right = (entry.register(f"inttoptr i64 {entry.integer(k)} to ptr") for k in range(3))
    rows, columns, inner, left_order, left_step, right_order, right_step = (entry.integer(k) for k in range(3, 10))
    entry.check()
    function = entry.register(f"load ptr, ptr {entry.descriptor()}")
    sizes = [rows, columns, inner, left_step, right_step]
    if bits == 32:
        sizes = [entry.register(f"trunc i64 {size} to i32") for size in sizes]
    rows_, columns_, inner_, left_, right_ = (f"i{bits} {size}" for size in sizes)
    first, second = (f"i32 {entry.register(f'trunc i64 {order} to i32')}" for order in (left_order, right_order))
    given = (f"ptr {function}", first, second, rows_, columns_, inner_, f"ptr {left}", left_, f"ptr {right}", right_,
             f"ptr {out}")  # fmt: skip
    work = entry.register(f"mul i64 {entry.register(f'mul i64 {rows}, {columns}')}, {inner}")
    entry.run(f"call i1 @multiply({', '.join(given)})", work)
    text = entry.text(["  %right = icmp eq i64 %nargs, 10", "  br i1 %right, label %read, label %wrong"])
    names = "function first second rows columns inner left left_step right right_step out".split()
    types = ("ptr", "i32", "i32", *(f"i{bits}",) * 3, "ptr", f"i{bits}", "ptr", f"i{bits}", "ptr")
    parameters = ", ".join(f"{type} %{name}" for type, name in zip(types, names, strict=True))
    multiply = f"""define internal i1 @multiply({parameters}) {{
  call void %function(i32 {_ROW_MAJOR}, i32 %first, i32 %second, i{bits} %rows, i{bits} %columns, i{bits} %inner,
    {type} 1.0, ptr %left, i{bits} %left_step, ptr %right, i{bits} %right_step, {type} 0.0, ptr %out, i{bits} %columns)
  ret i1 false
}}"""
    return "\n".join([PYTHON_API, multiply, text, ""]).replace("@gemm", f"@{NAME}")


def lay(sizes: tuple[int, ...], strides: tuple[int, ...]) -> tuple[int, int] | None:
    """Order and step of a matrix, None when neither of its dims is contiguous."""
    (rows, columns), (down, along) = sizes, strides
    if (along == 1 or columns == 1) and (rows == 1 or down >= columns):
        return PLAIN_ORDER, max(columns, 1 if rows == 1 else down)
    if (down == 1 or rows == 1) and (columns == 1 or along >= rows):
        return TRANSPOSED_ORDER, max(rows, 1 if columns == 1 else along)
    return None


MOST_INNER = 1024
"""Elements that are multiplied for one of the result; the panel of the right matrix is kept on the stack."""


class Block(NamedTuple):
    """Rows and vectors of the block of the result that fits the registers."""

    rows: int
    vectors: int


BLOCKS = {"avx512": Block(8, 2), "avx2": Block(6, 2), "neon": Block(8, 2)}
"""By level; those left out have no fused multiply-add."""


@functools.cache
def _product(dtype: DType, level: Level) -> Builtin:
    type = "float" if dtype is float32 else "double"
    entry = compiler().load(f"product {type} {level.name}", lambda: _Writer(type, dtype.itemsize, level).module())
    return compiler().builtin("product", entry, [])


def blocked_product(dtype: DType) -> Builtin | None:
    """The builtin for float32 or float64; memoised."""
    level = current_level()
    return _product(dtype, level) if level.name in BLOCKS else None


class _Writer:
    """The text of one module."""

    def __init__(self, type: str, size: int, level: Level) -> None:
        self.type, self.size, self.level = type, size, level
        self.lanes = level.vector_bytes // size
        self.width = level.vector_bytes
        self.vector, self.mask = f"<{self.lanes} x {type}>", f"<{self.lanes} x i1>"
        self.block = BLOCKS[level.name]
        self.columns = self.lanes * self.block.vectors
        self.suffix = f"v{self.lanes}f{8 * size}"

    def module(self) -> str:
        """Everything: blocks of all heights and widths, the packing of panels, the walk over them, the entry."""
        heights = [self.block.rows] + [n for n in (4, 2, 1) if n < self.block.rows]
        widths = range(self.block.vectors, 0, -1)
        vector, mask = self.vector, self.mask
        parts = [self._tile(rows, vectors) for rows in heights for vectors in widths]
        parts += [
            f"declare {vector} @llvm.fma.{self.suffix}({vector}, {vector}, {vector})",
            f"declare {vector} @llvm.masked.load.{self.suffix}.p0(ptr, i32, {mask}, {vector})",
            f"declare void @llvm.masked.store.{self.suffix}.p0({vector}, ptr, i32, {mask})",
            self._pack(),
            *(self._stripe(heights, vectors) for vectors in widths),
            self._walk(),
            f"attributes #0 = {{ {self.level.attributes} }}",
            PLAIN,
            PYTHON_API,
            f"declare i1 @{NAME}_walk({', '.join(['ptr'] * 3 + ['i64'] * 7)})",
            self._entry(),
            "",
        ]
        return "\n".join(parts)

    def _masks(self, code: Code, vectors: int) -> list[str]:
        """For each vector of a line, which of its lanes stand before the end of %columns."""
        whole = f"<{self.lanes} x i64>"
        first = code.register(f"insertelement {whole} poison, i64 %columns, i32 0")
        end = code.register(f"shufflevector {whole} {first}, {whole} poison, <{self.lanes} x i32> zeroinitializer")
        found = []
        for j in range(vectors):
            lanes = ", ".join(f"i64 {j * self.lanes + k}" for k in range(self.lanes))
            found.append(code.register(f"icmp slt {whole} <{lanes}>, {end}"))
        return found

    def _tile(self, rows: int, vectors: int) -> str:
        """@tile(left, left_row, left_inner, panel, inner, out, out_row, columns): a block of the result."""
        code, type, vector = Code(), self.type, self.vector
        places = [(i, j) for i in range(rows) for j in range(vectors)]
        lines = [code.at("%left", i, "%left_row") for i in range(rows)]
        code.line("br label %more")
        code.begin("more")
        code.line("%k = phi i64 [0, %entry], [%k_next, %more]")
        code.line("%at = phi i64 [0, %entry], [%at_next, %more]")
        code.line("%row = phi ptr [%panel, %entry], [%row_next, %more]")
        for i, j in places:
            code.line(f"%sum_{i}_{j} = phi {vector} [zeroinitializer, %entry], [%next_{i}_{j}, %more]")
        right = [code.load(vector, code.move("%row", j * self.width), self.width) for j in range(vectors)]
        for i in range(rows):
            value = code.load(type, code.move(lines[i], "%at"), self.size)
            first = code.register(f"insertelement {vector} poison, {type} {value}, i32 0")
            mask = f"<{self.lanes} x i32> zeroinitializer"
            left = code.register(f"shufflevector {vector} {first}, {vector} poison, {mask}")
            for j in range(vectors):
                given = f"{vector} {left}, {vector} {right[j]}, {vector} %sum_{i}_{j}"
                code.line(f"%next_{i}_{j} = call {vector} @llvm.fma.{self.suffix}({given})")
        code.line(f"%row_next = getelementptr i8, ptr %row, i64 {self.columns * self.size}")
        code.line("%at_next = add i64 %at, %left_inner")
        code.line("%k_next = add i64 %k, 1")
        code.line("%again = icmp slt i64 %k_next, %inner")
        code.line("br i1 %again, label %more, label %done")
        code.begin("done")
        masks = self._masks(code, vectors)
        for i, j in places:
            place = code.move(code.at("%out", i, "%out_row"), j * self.width)
            given = f"{vector} %next_{i}_{j}, ptr {place}, i32 {self.size}, {self.mask} {masks[j]}"
            code.line(f"call void @llvm.masked.store.{self.suffix}.p0({given})")
        parameters = (
            "ptr %left, i64 %left_row, i64 %left_inner, ptr %panel, i64 %inner, ptr %out, i64 %out_row, i64 %columns"
        )
        return code.function(f"define internal void @tile_{rows}_{vectors}({parameters}) #0", "  ret void")

    def _pack(self) -> str:
        """@pack(panel, dst_pitch, place, inner_step, src_pitch, inner, columns): a panel; what its lines have behind
        `columns` is of no account.

        Lines are copied in vectors; columns that lie in lines are turned in squares, the last one repeated.
        """
        code, lanes, size = Code(), self.lanes, self.size
        masks = self._masks(code, self.block.vectors)
        along = code.register(f"icmp eq i64 %src_pitch, {size}")
        with code.when(along), code.loop(0, "%inner") as k:
            source, target = code.at("%place", k, "%inner_step"), code.at("%panel", k, "%dst_pitch")
            for n, mask in enumerate(masks):
                given = f"ptr {code.move(source, n * self.width)}, i32 {size}, {self.mask} {mask}"
                given += f", {self.vector} zeroinitializer"
                value = code.register(f"call {self.vector} @llvm.masked.load.{self.suffix}.p0({given})")
                code.store(self.vector, value, code.move(target, n * self.width), self.width)
        with code.when(code.register(f"xor i1 {along}, true")):
            whole_inner = code.register(f"and i64 %inner, {-lanes}")
            last = code.register("sub i64 %columns, 1")
            with code.loop(0, "%columns", lanes) as j:
                columns = [code.minimum(code.register(f"add i64 {j}, {n}"), last) for n in range(lanes)]
                lines = [code.at("%place", column, "%src_pitch") for column in columns]
                with code.loop(0, whole_inner, lanes) as k:
                    target = code.move(code.at("%panel", k, "%dst_pitch"), code.register(f"mul i64 {j}, {size}"))
                    turn_square(code, size, [code.at(line, k, size) for line in lines], target)
            with code.loop(whole_inner, "%inner") as k, code.loop(0, "%columns") as j:
                source = code.at(code.at("%place", k, size), j, "%src_pitch")
                target = code.at(code.at("%panel", k, "%dst_pitch"), j, size)
                code.store(self.type, code.load(self.type, source, size), target, size)
        parameters = (
            "ptr %panel, i64 %dst_pitch, ptr %place, i64 %inner_step, i64 %src_pitch, i64 %inner, i64 %columns"
        )
        return code.function(f"define internal void @pack({parameters}) #0", "  ret void")

    def _stripe(self, heights: list[int], vectors: int) -> str:
        """@stripe(left, left_row, left_inner, panel, inner, out, out_row, columns, rows): all rows of a panel."""
        code = Code()
        row = code.register("alloca i64")
        code.store("i64", 0, row)
        for height in heights:
            stop = code.register(f"sub i64 %rows, {height - 1}")
            with code.loop(code.load("i64", row), stop, height) as i:
                left, out = code.at("%left", i, "%left_row"), code.at("%out", i, "%out_row")
                given = f"ptr {left}, i64 %left_row, i64 %left_inner, ptr %panel, i64 %inner"
                code.line(f"call void @tile_{height}_{vectors}({given}, ptr {out}, i64 %out_row, i64 %columns)")
                code.store("i64", code.register(f"add i64 {i}, {height}"), row)
        parameters = (
            "ptr %left, i64 %left_row, i64 %left_inner, ptr %panel, i64 %inner, ptr %out, i64 %out_row, i64 %columns, "
            "i64 %rows"
        )
        return code.function(f"define internal void @stripe_{vectors}({parameters}) #0", "  ret void")

    def _walk(self) -> str:
        """@NAME_walk: panel after panel; of the last one only the vectors that have columns in them."""
        code, size, pitch = Code(), self.size, self.columns * self.size
        panel = code.register(f"alloca [{MOST_INNER * pitch} x i8], align {self.width}")
        out_row = code.register(f"mul i64 %columns, {size}")
        with code.loop(0, "%columns", self.columns) as j:
            count = code.minimum(code.register(f"sub i64 %columns, {j}"), self.columns)
            steps = "i64 %right_inner, i64 %right_column, i64 %inner"
            place, target = code.at("%right", j, "%right_column"), code.at("%out", j, size)
            code.line(f"call void @pack(ptr {panel}, i64 {pitch}, ptr {place}, {steps}, i64 {count})")
            given = f"ptr %left, i64 %left_row, i64 %left_inner, ptr {panel}, i64 %inner, ptr {target}, i64 {out_row}"
            for vectors in range(1, self.block.vectors + 1):
                least = code.register(f"icmp sgt i64 {count}, {(vectors - 1) * self.lanes}")
                most = code.register(f"icmp sle i64 {count}, {vectors * self.lanes}")
                with code.when(code.register(f"and i1 {least}, {most}")):
                    code.line(f"call void @stripe_{vectors}({given}, i64 {count}, i64 %rows)")
        types = ["ptr"] * 3 + ["i64"] * 7
        names = "out left right rows columns inner left_row left_inner right_inner right_column".split()
        parameters = ", ".join(f"{type} %{name}" for type, name in zip(types, names, strict=True))
        return code.function(f"define i1 @{NAME}_walk({parameters}) #0", "  ret i1 false")

    def _entry(self) -> str:
        entry = EntryWriter("product", "matrix product")
        pointers = [entry.register(f"inttoptr i64 {entry.integer(k)} to ptr") for k in range(3)]
        numbers = [entry.integer(k) for k in range(3, 10)]
        entry.check(always=True)
        work = entry.register(f"mul i64 {entry.register(f'mul i64 {numbers[0]}, {numbers[1]}')}, {numbers[2]}")
        given = ", ".join([f"ptr {pointer}" for pointer in pointers] + [f"i64 {number}" for number in numbers])
        entry.run(f"call i1 @{NAME}_walk({given})", work)
        text = entry.text(["  %right = icmp eq i64 %nargs, 10", "  br i1 %right, label %read, label %wrong"])
        return text.replace("@product(", f"@{NAME}(")
