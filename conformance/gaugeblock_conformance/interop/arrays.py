"""Arrays of NumPy's that tests share with a backend, as expressions that snippets repeat."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

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


def address_in_snippet(s: Session, x: Handle) -> str:
    """An expression for the address of a tensor's first element."""
    return s.dialect.observe("data_ptr", x.name)
