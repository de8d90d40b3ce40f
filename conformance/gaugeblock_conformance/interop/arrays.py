"""Arrays of NumPy's that tests share with a backend, as expressions that snippets repeat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from ..backend import Array, Unsupported
from ..session import Handle, Session

DTYPES = tuple("float32 int64 uint8 bool float64 int32 int16 int8 float16 complex64 complex128".split())


@dataclass(frozen=True)
class ArrayCase:
    """A view of an array: its dtype, the sizes of the whole array, the order of its dims, and the slice of each dim."""

    dtype: str
    sizes: tuple[int, ...]
    order: tuple[int, ...]
    slices: tuple[str, ...]

    @property
    def expression(self) -> str:
        """The view, of which NumPy's own rules say the strides."""
        count = 1
        for size in self.sizes:
            count *= size
        text = f"np.arange({count}).astype({self.dtype!r})"
        text += f".reshape({self.sizes})" if len(self.sizes) != 1 else ""
        text += f".transpose({self.order})" if self.order != tuple(range(len(self.sizes))) else ""
        return text + (f"[{', '.join(self.slices)}]" if any(part != ":" for part in self.slices) else "")


_SLICES = st.sampled_from((":", ":", "1:", "::2", "1::2", ":0"))


@st.composite
def array_cases(draw: st.DrawFn, dtypes: tuple[str, ...] = DTYPES) -> ArrayCase:
    """Views with non-negative strides: permuted, gapped, with an offset, empty and zero-dimensional ones."""
    sizes = tuple(draw(st.lists(st.integers(1, 4), max_size=3)))
    order = tuple(draw(st.permutations(range(len(sizes)))))
    slices = tuple(draw(_SLICES) for _ in sizes)
    return ArrayCase(draw(st.sampled_from(dtypes)), sizes, order, slices)


def expect_at(s: Session, x: Handle, array: Array, offset: int = 0) -> None:
    """Expect the first element of ``x`` at the address of the array's, or ``offset`` bytes behind it."""
    got = s.observe("data_ptr", x) - array.ctypes.data
    address = s.dialect.observe("data_ptr", x.name)
    name = s.name_of(array)
    s.expect(got, offset, f"the address of {s.origin(x)} less the array's", f"{address} - {name}.ctypes.data",
             [x, Handle(None, name)])  # fmt: skip


def expect_elsewhere(s: Session, x: Handle, array: Array) -> None:
    """Expect ``x`` to have other memory than the array: what is written to the array does not reach it."""
    before = s.read(x).copy()
    s.execute("{0}[...] = {0} == 0", array)
    s.expect_values(x, before)


def expect_warning(s: Session, operator: str, given: Any) -> None:
    """Expect the call to give a warning, which the backend may give once in a process."""
    if s.call("warnings_of", operator, given):
        return
    lines = ["import warnings", "with warnings.catch_warnings(record=True) as got:",
             "    warnings.simplefilter('always')", f"    {s.text(operator, given)}", "assert got, got"]  # fmt: skip
    message = f"{operator} gives no warning for memory that may not be written"
    raise s.failure(message, "a warning", "none", lines, {s.name_of(given)})


def need_lazy(s: Session, x: Handle, query: str) -> None:
    """End the example, as unsupported, where ``query`` (is_conj, is_neg) denies that this holds in name only."""
    if s.call(query, x) is not True:
        raise Unsupported(query, "conjugates and their parts have their own elements in memory")


def expect_gone(s: Session, alive: Any, what: str, last: str) -> None:
    """Expect what the weak reference ``alive`` is of to be gone with the variable ``last``, which was deleted."""
    if alive() is None:
        return
    name = s.name_of(alive)
    message = f"{what} stays when no tensor is over it"
    raise s.failure(message, "gone", "alive", [f"assert {name}() is None"], {name, last})


def need_host_memory(s: Session) -> None:
    """Raise Unsupported where the backend's device is not a cpu: what the test asks holds for the host's memory."""
    if not s.on_cpu:
        raise Unsupported("__dlpack__", f"memory of {s.backend.device} is not the host's")
