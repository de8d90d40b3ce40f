"""LAPACK's routines from the library that NumPy has loaded, called without NumPy in between.

    kernel(address..., number..., count, step..., work) -> None

The word of a routine has a letter for each argument: "m" for memory, "i" for an integer, "c" for a character. A call
gives the addresses of the memory in the routine's order, then its integers and the codes of its characters, how many
matrices there are, for each address the bytes from one matrix to the next, and about how many steps the work takes.
Matrices are column-major. Integers in memory are of the dtype `integer`.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

from ..core.dtype import DType, complex64, complex128, float32, float64, int32, int64
from .code import NAME, Code
from .common import LEAVE_TO_BLAS, declaration
from .compiler import Builtin, compiler
from .entry import EntryWriter
from .parallel import address_of, blas_library, openblas

WIDE = 1 << 18
"""Steps of work from which OpenBLAS's buffers are written first."""
LETTERS = {float32: "s", float64: "d", complex64: "c", complex128: "z"}
ROUTINES = {
    "gesdd": "ciimimmimimimm", "syevd": "ccimimmimim",
    "geev": "ccimimmmimimim", "gelsy": "iiimimimmmmim", "geqrf": "iimimmim", "getrf": "iimimm", "getrs": "ciimimmim",
    "orgqr": "iiimimmim", "ormqr": "cciiimimmimim", "laswp": "imiiimi",
    "potrf": "cimim", "potrs": "ciimimim", "trsm": "cccciimmimi",
}  # fmt: skip
"""Routine, that of the triangular system of BLAS among them, -> the word of its arguments."""
_SYMBOLS = (("scipy_{}_64_", int64), ("{}_64_", int64), ("scipy_{}_", int32), ("{}_", int32))
_UNITARY = {"orgqr": "ungqr", "ormqr": "unmqr", "syevd": "heevd"}
"""Routine for real matrices -> that for complex ones, where it has another name."""
_OF_COMPLEX = {
    "geev": "ccimimmimimimm", "gelsy": "iiimimimmmmimm", "gesdd": "ciimimmimimimmm", "syevd": "ccimimmimimim",
}  # fmt: skip
"""Routine -> the word for complex matrices, where that is another one."""


class Lapack(NamedTuple):
    """A routine for a dtype: its builtin, and the dtype of integers in memory."""

    call: Builtin
    integer: DType

    def tail(self, numbers: tuple[int | str, ...], count: int, steps: tuple[int, ...], work: int) -> tuple[int, ...]:
        """Return the arguments behind the addresses; characters are given as such."""
        codes = [ord(one) if isinstance(one, str) else one for one in numbers]
        return (*codes, count, *steps, work)


@functools.cache
def lapack(routine: str, dtype: DType) -> Lapack | None:
    """Return a routine for float32, float64 or the complex dtypes of these; None if NumPy's library lacks it."""
    library = blas_library()
    word = (_OF_COMPLEX if dtype.is_complex and routine in _OF_COMPLEX else ROUTINES)[routine]
    name = LETTERS[dtype] + (_UNITARY.get(routine, routine) if dtype.is_complex else routine)
    for pattern, integer in _SYMBOLS if library is not None else ():
        function = getattr(library, pattern.format(name), None)
        if function is not None:
            addresses = [address_of(function), *openblas()]
            return Lapack(compiler().builtin(routine, _entry(word), addresses), integer)
    return None


@functools.cache
def _entry(word: str) -> int:
    """Return the address of the entry point for the routines with such arguments."""
    return compiler().load(f"lapack {word}", lambda: _text(word))


def _text(word: str) -> str:
    """LLVM IR of the entry point for the routines with such arguments, and of the loop over matrices."""
    entry = EntryWriter("lapack", "LAPACK's routine")
    memory, numbers = word.count("m"), len(word) - word.count("m")
    pointers, values, steps = [entry.register(f"alloca [{size} x i64]") for size in (memory, max(numbers, 1), memory)]
    for place in range(memory):
        entry.put("i64", entry.integer(place), pointers, place)
        entry.put("i64", entry.integer(memory + numbers + 1 + place), steps, place)
    for place in range(numbers):
        entry.put("i64", entry.integer(memory + place), values, place)
    count, work = entry.integer(memory + numbers), entry.integer(2 * memory + numbers + 1)
    entry.check()
    given = f"ptr {entry.descriptor()}, ptr {pointers}, ptr {values}, ptr {steps}, i64 {count}, i64 {work}"
    entry.run(f"call i1 @each({given})", work)
    text = entry.text("eq", 2 * memory + numbers + 2)
    code = Code()
    function = code.load("ptr", "%library")
    wide = code.register(f"icmp sge i64 %work, {WIDE}")
    code.line(f"call void @{LEAVE_TO_BLAS}(ptr %library, i1 {wide})")
    with code.loop(0, "%count") as k:
        arguments, places = [], {"m": 0, "n": 0}
        for letter in word:
            kind = "m" if letter == "m" else "n"
            place, places[kind] = places[kind], places[kind] + 1
            if kind == "n":
                arguments.append(f"ptr {code.slot('%values', place)}")
                continue
            pointer = code.load("ptr", code.slot("%pointers", place))
            arguments.append(f"ptr {code.at(pointer, k, code.load('i64', code.slot('%steps', place)))}")
        lengths = ["i64 1"] * word.count("c")
        code.line(f"call void {function}({', '.join([*arguments, *lengths])})")
    head = "define internal i1 @each(ptr %library, ptr %pointers, ptr %values, ptr %steps, i64 %count, i64 %work)"
    each = code.function(head, "  ret i1 false")
    return "\n".join([declaration(LEAVE_TO_BLAS), each, text, ""]).replace("@lapack", f"@{NAME}")
