"""Arrays of NumPy's as tensors: memory shared, layout translated, everything else refused."""

from __future__ import annotations

from hypothesis import strategies as st

from ..forall import forall
from ..requirement import requirement
from ..session import Session
from .arrays import ArrayCase, array_cases


@requirement("interop/from-numpy-shares-memory")
def test_writes_to_four_numbers(s: Session) -> None:
    array = s.bind("np.arange(4)")
    x = s.call("from_numpy", array)
    s.expect_values(x, [0, 1, 2, 3], dtype="int64")
    s.execute("{}[0] = 9", array)
    s.expect_values(x, [9, 1, 2, 3], dtype="int64")


@requirement("interop/from-numpy-shares-memory", needs=("inplace",))
@forall(case=array_cases(), writes=st.lists(st.booleans(), min_size=1, max_size=4))
def test_writes_from_both_sides(s: Session, case: ArrayCase, writes: list[bool]) -> None:
    array = s.bind(case.expression)
    x = s.call("from_numpy", array)
    s.expect_values(x, array)
    for value, on_the_array in enumerate(writes, 2):
        want = array.copy()
        want[...] = value
        if on_the_array:
            s.execute(f"{{}}[...] = {value}", array)
        else:
            s.call("fill_.Scalar", x, value)
        s.expect_values(x, want)
        s.expect_python("{}.tolist()", want.tolist(), "the array after the writes", array)
