"""Products of matrices and vectors by NumPy's own BLAS, without NumPy in between.

    gemm(out_ptr, left_ptr, right_ptr, rows, columns, inner, left_order, left_step, right_order, right_step, table_ptr,
         count) -> None

    gemv(out_ptr, matrix_ptr, vector_ptr, order, rows, columns, step, vector_step) -> None
    dot(out_ptr, left_ptr, right_ptr, count, left_step, right_step) -> None

The table has `count` rows: where the matrices of a batch begin, in bytes from the addresses. The result is row-major.
The operands may be transposed: order 111 means that one is row-major, 112 that its transpose is, whose rows and columns
gemv is given then; step is the distance of rows (of the transpose's rows) in elements. A builtin is None where the
BLAS's symbols are not found.
"""

from __future__ import annotations

import functools
from array import array
from collections.abc import Callable

from ..core.dtype import DType, float32, float64
from .code import NAME, Code
from .common import BLAS_PARTS, SHARE_BLAS, declaration
from .compiler import Builtin, compiler
from .entry import EntryWriter
from .parallel import address_of, blas_library, openblas
from .sharing import context_of, fields_of, part_function

PLAIN_ORDER, TRANSPOSED_ORDER = 111, 112
_ROW_MAJOR = 101
_SYMBOLS = (("scipy_cblas_{}64_", 64), ("cblas_{}64_", 64), ("scipy_cblas_{}", 32), ("cblas_{}", 32))
_TYPES = {float32: ("s", "float"), float64: ("d", "double")}
PRODUCTS_OF_PART, ELEMENTS_OF_PART = 1 << 17, 4608
"""The least multiplications of a part of a matrix product, and elements of a part of a matrix that is multiplied by a
vector. From two parts on OpenBLAS uses more than one thread."""
SLICE = 16
"""Rows or columns of a part are a multiple of these."""
DOT_PART, DOT_CALL = 1 << 16, 1 << 13
"""Elements of a part of a product of vectors, and of a call, for which OpenBLAS uses one thread."""
MOST_DOT_PARTS = 64


@functools.cache
def gemm(dtype: DType) -> Builtin | None:
    """The builtin for float32 or float64."""
    return _builtin("gemm", dtype, _matrix_text)


@functools.cache
def gemv(dtype: DType) -> Builtin | None:
    """Return the builtin of a matrix times a vector for float32 or float64."""
    return _builtin("gemv", dtype, _vector_text)


@functools.cache
def dot_product(dtype: DType) -> Builtin | None:
    """Return the builtin of the product of two vectors for float32 or float64."""
    return _builtin("dot", dtype, _dot_text)


def _builtin(name: str, dtype: DType, text: Callable[[str, int], str]) -> Builtin | None:
    letter, type = _TYPES[dtype]
    found = _find(letter + name)
    if found is None:
        return None
    address, bits = found
    entry = compiler().load(f"{name} {type} {bits}", lambda: text(type, bits))
    return compiler().builtin(name, entry, [address, *openblas()])


def _find(name: str) -> tuple[int, int] | None:
    """Address of the C function, and the width of its integers."""
    library = blas_library()
    if library is None:
        return None
    for pattern, bits in _SYMBOLS:
        function = getattr(library, pattern.format(name), None)
        if function is not None:
            return address_of(function), bits
    return None


class _Product(Code):
    """The code of the function that computes one part of a product. `of` maps the names of the context's fields to
    registers; `routine` is the function of BLAS, whose integers have `bits` bits."""

    def __init__(self, type: str, bits: int, names: str) -> None:
        super().__init__()
        self.bits = bits
        self.size = 4 if type == "float" else 8
        kinds = [_kind(name) for name in _context(names)]
        self.of = dict(zip(_context(names), fields_of(self, tuple(kinds)), strict=True))
        self.routine = self.load("ptr", self.of["library"])

    def integer(self, value: str) -> str:
        """Return an i64 as an argument of the routine."""
        return f"i{self.bits} {value if self.bits == 64 else self.register(f'trunc i64 {value} to i32')}"

    def order(self, name: str) -> str:
        """Return the order of an operand as an argument of the routine."""
        return f"i32 {self.register(f'trunc i64 {self.of[name]} to i32')}"

    def slice_of(self, size: str) -> tuple[str, str]:
        """Return the start and the length of part %k of so many rows or columns; the last parts may be empty."""
        parts = self.of["parts"]
        raised = self.register(f"add i64 {size}, {self.register(f'sub i64 {parts}, 1')}")
        even = self.register(f"udiv i64 {raised}, {parts}")
        chunk = self.register(f"and i64 {self.register(f'add i64 {even}, {SLICE - 1}')}, -{SLICE}")
        begin = self.minimum(self.register(f"mul i64 %k, {chunk}"), size)
        return begin, self.minimum(self.register(f"sub i64 {size}, {begin}"), chunk)

    def choice(self, condition: str, then: str | int, otherwise: str | int) -> str:
        """Return one of two i64 by an i1."""
        return self.register(f"select i1 {condition}, i64 {then}, i64 {otherwise}")

    def begin_of(self, pointer: str, index: str, step: str | int) -> str:
        """Return the address of an element `index` steps further on."""
        return self.at(pointer, self.register(f"mul i64 {index}, {step}"), self.size)


_POINTERS = "out left right table matrix vector library sums"


def _kind(name: str) -> str:
    return "ptr" if name in _POINTERS.split() else "i64"


def _context(names: str) -> list[str]:
    """Return the names of the fields of a part's context."""
    return ["parts", "library", *names.split()]


def _given(names: str) -> list[str]:
    """Return the parameters of @multiply, by which it fills the context after the number of parts."""
    return [f"{_kind(one)} %{one}" for one in _context(names)[1:]]


def _module(name: str, title: str, names: str, work: str, share: Callable[[Code], str], part: str) -> str:
    """Return the module of an entry point with arguments of these names. The number of steps is the product of those in
    `work`. `share` writes the code that runs the parts, whose function is `part`, and returns whether one failed."""
    entry = EntryWriter(name, title)
    values = [entry.integer(k) for k in range(len(names.split()))]
    entry.check()
    given = [f"ptr {entry.descriptor()}"]
    for one, value in zip(names.split(), values, strict=True):
        kind = _kind(one)
        given.append(f"{kind} {value if kind == 'i64' else entry.register(f'inttoptr i64 {value} to ptr')}")
    steps = _multiplied(entry, [values[names.split().index(one)] for one in work.split()])
    entry.run(f"call i1 @multiply({', '.join(given)})", steps)
    text = entry.text("eq", len(values))
    code = Code()
    failed = share(code)
    multiply = code.function(f"define internal i1 @multiply({', '.join(_given(names))})", f"  ret i1 {failed}")
    declared = [declaration(one) for one in (BLAS_PARTS, SHARE_BLAS)]
    return "\n".join([*declared, part, multiply, text, ""]).replace(f"@{name}", f"@{NAME}")


def _multiplied(code: Code, factors: list[str]) -> str:
    return functools.reduce(lambda one, other: code.register(f"mul i64 {one}, {other}"), factors)


def _shared(code: Code, names: str, work: str, grain: int) -> str:
    """Divide a product of matrices into parts with at least `grain` of its work each."""
    steps = _multiplied(code, [f"%{one}" for one in work.split()])
    parts = code.register(f"call i64 @{BLAS_PARTS}(ptr %library, i64 {steps}, i64 {grain})")
    context = context_of(code, (f"i64 {parts}", *_given(names)))
    wide = code.register(f"icmp sge i64 {steps}, {2 * grain}")
    given = f"ptr %library, ptr @part, ptr {context}, i64 {parts}, i1 {wide}"
    return code.register(f"call i1 @{SHARE_BLAS}({given})")


def _matrix_text(type: str, bits: int) -> str:
    names = "out left right rows columns inner left_order left_step right_order right_step table count"
    code = _Product(type, bits, names)
    of, parts, count = code.of, code.of["parts"], code.of["count"]
    many = code.register(f"icmp sge i64 {count}, {parts}")
    first, after = (
        code.choice(many, code.register(f"udiv i64 {code.register(f'mul i64 {k}, {count}')}, {parts}"), whole)
        for k, whole in (("%k", 0), (code.register("add i64 %k, 1"), count))
    )
    tall = code.register(f"icmp sge i64 {of['rows']}, {of['columns']}")
    begin, size = code.slice_of(code.choice(tall, of["rows"], of["columns"]))
    few, wide = (code.register(f"xor i1 {one}, true") for one in (many, tall))
    (row, rows), (column, columns) = (
        (code.choice(sliced, begin, 0), code.choice(sliced, size, of[name]))
        for name, sliced in (("rows", code.register(f"and i1 {few}, {tall}")),
                             ("columns", code.register(f"and i1 {few}, {wide}")))
    )  # fmt: skip
    plain = {one: code.register(f"icmp eq i64 {of[f'{one}_order']}, {PLAIN_ORDER}") for one in ("left", "right")}
    left = code.begin_of(of["left"], row, code.choice(plain["left"], of["left_step"], 1))
    right = code.begin_of(of["right"], column, code.choice(plain["right"], 1, of["right_step"]))
    out = code.begin_of(code.begin_of(of["out"], row, of["columns"]), column, 1)
    sizes = ", ".join(code.integer(one) for one in (rows, columns, of["inner"]))
    steps = [code.integer(of[one]) for one in ("left_step", "right_step", "columns")]
    orders = f"{code.order('left_order')}, {code.order('right_order')}"
    some = code.register(f"icmp sgt i64 {code.register(f'mul i64 {rows}, {columns}')}, 0")
    with code.when(some), code.loop(first, after) as item:
        place = code.at(of["table"], item, 24)
        offsets = [code.load("i64", code.slot(place, slot)) for slot in range(3)]
        c, a, b = (code.move(pointer, offset) for pointer, offset in zip((out, left, right), offsets, strict=True))
        code.line(
            f"call void {code.routine}(i32 {_ROW_MAJOR}, {orders}, {sizes}, {type} 1.0, ptr {a}, "
            f"{steps[0]}, ptr {b}, {steps[1]}, {type} 0.0, ptr {c}, {steps[2]})"
        )
    work, part = "rows columns inner count", part_function("part", code, "false")
    return _module("gemm", "matrix product", names, work, lambda code: _shared(code, names, work, PRODUCTS_OF_PART),
                   part)  # fmt: skip


def _vector_text(type: str, bits: int) -> str:
    names = "out matrix vector order rows columns step apart"
    code = _Product(type, bits, names)
    of = code.of
    plain = code.register(f"icmp eq i64 {of['order']}, {PLAIN_ORDER}")
    begin, size = code.slice_of(code.choice(plain, of["rows"], of["columns"]))
    matrix = code.begin_of(of["matrix"], begin, code.choice(plain, of["step"], 1))
    rows, columns = code.choice(plain, size, of["rows"]), code.choice(plain, of["columns"], size)
    sizes = f"{code.integer(rows)}, {code.integer(columns)}"
    steps, order = [code.integer(one) for one in (of["step"], of["apart"], "1")], code.order("order")
    out = code.begin_of(of["out"], begin, 1)
    with code.when(code.register(f"icmp sgt i64 {size}, 0")):
        code.line(
            f"call void {code.routine}(i32 {_ROW_MAJOR}, {order}, {sizes}, {type} 1.0, ptr {matrix}, "
            f"{steps[0]}, ptr {of['vector']}, {steps[1]}, {type} 0.0, ptr {out}, {steps[2]})"
        )
    work, part = "rows columns", part_function("part", code, "false")
    title = "product of a matrix and a vector"
    return _module("gemv", title, names, work, lambda code: _shared(code, names, work, ELEMENTS_OF_PART), part)


def _dot_text(type: str, bits: int) -> str:
    names = "out left right count left_step right_step"
    code = _Product(type, bits, f"{names} sums")
    of = code.of
    begin, size = code.slice_of(of["count"])
    after = code.register(f"add i64 {begin}, {size}")
    with code.carry(begin, after, DOT_CALL, [(type, "0.0")]) as loop:
        few = code.minimum(code.register(f"sub i64 {after}, {loop.index}"), DOT_CALL)
        operands = [code.integer(few)]
        for one in ("left", "right"):
            step = of[f"{one}_step"]
            operands += [f"ptr {code.begin_of(of[one], loop.index, step)}", code.integer(step)]
        found = code.register(f"call {type} {code.routine}({', '.join(operands)})")
        loop.following = [code.register(f"fadd {type} {loop.values[0]}, {found}")]
    code.store(type, loop.results[0], code.slot(of["sums"], "%k"))
    return _module("dot", "product of vectors", names, "count", lambda code: _dot(code, names, type),
                   part_function("part", code, "false"))  # fmt: skip


def _dot(code: Code, names: str, type: str) -> str:
    """Divide a product of vectors into parts by its number of elements, and add up the sums of the parts in order."""
    parts = code.minimum(code.register(f"udiv i64 %count, {DOT_PART}"), MOST_DOT_PARTS)
    several = code.register(f"icmp sgt i64 {parts}, 1")
    parts = code.register(f"select i1 {several}, i64 {parts}, i64 1")
    sums = code.register(f"alloca [{MOST_DOT_PARTS} x i64]")
    context = context_of(code, (f"i64 {parts}", *_given(names), f"ptr {sums}"))
    failed = code.register(f"call i1 @{SHARE_BLAS}(ptr %library, ptr @part, ptr {context}, i64 {parts}, i1 false)")
    with code.carry(0, parts, 1, [(type, "-0.0")]) as loop:
        one = code.load(type, code.slot(sums, loop.index))
        loop.following = [code.register(f"fadd {type} {loop.values[0]}, {one}")]
    code.store(type, loop.results[0], "%out", 4)
    return failed


ONE_PRODUCT = array("q", (0, 0, 0))
"""The table of a batch of one."""


def lay(sizes: tuple[int, ...], strides: tuple[int, ...]) -> tuple[int, int] | None:
    """Order and step of a matrix, None when neither of its dims is contiguous."""
    (rows, columns), (down, along) = sizes, strides
    if (along == 1 or columns == 1) and (rows == 1 or down >= columns):
        return PLAIN_ORDER, max(columns, 1 if rows == 1 else down)
    if (down == 1 or rows == 1) and (columns == 1 or along >= rows):
        return TRANSPOSED_ORDER, max(rows, 1 if columns == 1 else along)
    return None
