"""Arrays of NumPy's as tensors: memory shared, layout translated, everything else refused."""

from __future__ import annotations

import sys

from hypothesis import strategies as st

from ..case import default_strides, extent
from ..failure import NoReproducer
from ..forall import forall
from ..requirement import requirement
from ..session import Session
from .arrays import DTYPES, ArrayCase, array_cases, expect_at, expect_gone, expect_warning

OTHER_ORDER = ">" if sys.byteorder == "little" else "<"
STRANGE = ("object", "U3", "S3", "M8[s]", "m8[s]", "longdouble", "clongdouble", "V4", [("a", "i4"), ("b", "f4")])
NO_ARRAYS = ("np.float32(3)", "np.bool_(True)", "np.int64(7)", "[1.0, 2.0]", "3.0", "None", "bytearray(4)", "'text'")


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


@requirement("interop/from-numpy-translates-strides")
def test_every_other_column(s: Session) -> None:
    array = s.bind("np.arange(12.0).reshape(3, 4)[1:, ::2]")
    x = s.call("from_numpy", array)
    s.expect_values(x, [[4.0, 6.0], [8.0, 10.0]], dtype="float64")
    s.expect_geometry(x, (2, 2), (4, 2), 0)
    s.expect_nbytes(x, 56)
    expect_at(s, x, array)


@requirement("interop/from-numpy-translates-strides")
@forall(case=array_cases())
def test_strides_of_any_view(s: Session, case: ArrayCase) -> None:
    array = s.bind(case.expression)
    x = s.call("from_numpy", array)
    strides = tuple(step // array.itemsize for step in array.strides)
    s.expect_geometry(x, array.shape, strides, 0)
    s.expect_dtype(x, case.dtype)
    s.expect_nbytes(x, (extent(array.shape, strides) if array.size else 0) * array.itemsize)
    if array.size:
        expect_at(s, x, array)
    s.expect_values(x, array)


@requirement("interop/broadcast-arrays-have-stride-zero")
def test_one_row_as_two(s: Session) -> None:
    x = s.call("from_numpy", s.bind("np.lib.stride_tricks.as_strided(np.arange(3), (2, 3), (0, 8))"))
    s.expect_strides(x, (0, 1))
    s.expect_values(x, [[0, 1, 2], [0, 1, 2]], dtype="int64")


@requirement("interop/broadcast-arrays-have-stride-zero")
@forall(sizes=st.lists(st.integers(1, 3), min_size=1, max_size=3).map(tuple), data=st.data(),
        dtype=st.sampled_from(DTYPES))  # fmt: skip
def test_dims_that_are_repeated(s: Session, sizes: tuple[int, ...], data: st.DataObject, dtype: str) -> None:
    repeated = data.draw(st.sets(st.integers(0, len(sizes) - 1), min_size=1))
    steps = tuple(0 if k in repeated else step for k, step in enumerate(default_strides(sizes)))
    base = s.bind(f"np.arange({max(extent(sizes, steps), 1)}).astype({dtype!r})")
    strides = tuple(step * base.itemsize for step in steps)
    array = s.bind(f"np.lib.stride_tricks.as_strided({{}}, {sizes}, {strides})", base)
    x = s.call("from_numpy", array)
    s.expect_strides(x, steps)
    s.expect_values(x, array)


@requirement("interop/zero-dimensional-arrays-are-taken")
@forall(dtype=st.sampled_from(DTYPES))
def test_array_of_no_dims(s: Session, dtype: str) -> None:
    array = s.bind(f"np.ones((), {dtype!r})")
    x = s.call("from_numpy", array)
    s.expect_shape(x, ())
    s.expect_values(x, array)
    s.execute("{}[()] = 0", array)
    s.expect_values(x, array)


@requirement("interop/only-arrays-are-taken")
def test_objects_that_are_no_arrays(s: Session) -> None:
    s.table(NO_ARRAYS, _check_no_array)


def _check_no_array(s: Session, expression: str) -> None:
    s.expect_raises(TypeError, "from_numpy", s.bind(expression))


@requirement("interop/arrays-of-strange-dtypes-raise")
def test_dtypes_of_no_tensor(s: Session) -> None:
    s.table([(f"np.zeros({sizes}, {kind!r})",) for kind in STRANGE for sizes in (3, (), (0, 2))], _check_strange)


def _check_strange(s: Session, expression: str) -> None:
    s.expect_raises(TypeError, "from_numpy", s.bind(expression))


@requirement("interop/reversed-arrays-raise")
def test_reversed_once(s: Session) -> None:
    for expression in ("np.arange(3)[::-1]", "np.arange(1)[::-1]", "np.zeros((2, 3))[:, ::-1]",
                       "np.zeros((2, 3), 'int8')[::-1]", "np.zeros((1, 2, 2))[::-1, ::-1]"):  # fmt: skip
        s.expect_raises(ValueError, "from_numpy", s.bind(expression))


@requirement("interop/reversed-arrays-raise")
@forall(case=array_cases(), data=st.data())
def test_reversed_in_any_dim(s: Session, case: ArrayCase, data: st.DataObject) -> None:
    turned = tuple(data.draw(st.sampled_from(("::-1", "::-2", "1::-1", ":"))) for _ in case.slices)
    array = s.bind(f"{ArrayCase(case.dtype, case.sizes, case.order, turned).expression}")
    if any(step < 0 for step in array.strides):
        s.expect_raises(ValueError, "from_numpy", array)
    else:
        s.expect_values(s.call("from_numpy", array), array)


@requirement("interop/strides-between-elements-raise")
def test_field_of_records(s: Session) -> None:
    s.expect_raises(ValueError, "from_numpy", s.bind("np.zeros(3, [('a', 'i4'), ('b', 'i1')])['a']"))
    s.expect_raises(ValueError, "from_numpy", s.bind("np.zeros(1, [('a', 'i4'), ('b', 'i1')])['a']"))
    x = s.call("from_numpy", s.bind("np.ones(3, [('a', 'i4'), ('b', 'i2', 4)])['a']"))
    s.expect_values(x, [1, 1, 1], dtype="int32")


@requirement("interop/strides-between-elements-raise")
@forall(dtype=st.sampled_from(("int16", "float32", "int64", "complex64", "uint8")), step=st.integers(1, 20),
        count=st.integers(2, 4))  # fmt: skip
def test_any_step_in_bytes(s: Session, dtype: str, step: int, count: int) -> None:
    array = s.bind(f"np.ndarray({count}, {dtype!r}, bytearray({20 * count + 16}), 0, ({step},))")
    if step % array.itemsize:
        s.expect_raises(ValueError, "from_numpy", array)
    else:
        s.expect_values(s.call("from_numpy", array), array)


@requirement("interop/swapped-bytes-raise")
def test_other_byte_order(s: Session) -> None:
    for kind in ("i2", "i4", "i8", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"):
        s.expect_raises(ValueError, "from_numpy", s.bind(f"np.zeros(3, '{OTHER_ORDER}{kind}')"))
    x = s.call("from_numpy", s.bind(f"np.ones(3, '{OTHER_ORDER}u1')"))
    s.expect_values(x, [1, 1, 1], dtype="uint8")


@requirement("interop/read-only-arrays-warn")
def test_array_that_may_not_be_written(s: Session) -> None:
    array = s.bind("np.arange(3)")
    x = s.call("from_numpy", array)
    s.execute("{}.flags.writeable = False", array)
    y = s.call("from_numpy", array)
    s.expect_values(y, [0, 1, 2], dtype="int64")
    if "storage" in s.capabilities:
        expect_at(s, y, array)
    expect_warning(s, "from_numpy", array)
    s.expect_values(x, [0, 1, 2], dtype="int64")


@requirement("interop/read-only-arrays-warn")
def test_writeable_array_gives_no_warning(s: Session) -> None:
    texts = s.call("warnings_of", "from_numpy", s.bind("np.arange(3)"))
    s.expect(texts, (), "warnings for an array that may be written", NoReproducer("warnings are no values"))


@requirement("interop/tensor-keeps-its-array", needs=("views",))
@forall(case=array_cases(), view=st.booleans(), order=st.booleans())
def test_array_goes_with_the_last_view(s: Session, case: ArrayCase, view: bool, order: bool) -> None:
    array = s.bind(case.expression)
    want = array.copy()
    alive = s.bind("__import__('weakref').ref({})", array)
    x = s.call("from_numpy", array)
    y = s.call("detach", x) if view else x
    s.forget(array)
    del array
    kept = x if order else y
    first, last = (y.name if order else x.name), kept.name
    if view:
        s.forget(first)
    del x, y
    s.expect_values(kept, want)
    s.expect_python("{}() is not None", True, "whether the array is there while a tensor is over it", alive)
    s.forget(last)
    del kept
    expect_gone(s, alive, "the array", last)


@requirement("interop/writes-from-outside-leave-the-version")
@forall(case=array_cases())
def test_version_after_a_write_of_numpy(s: Session, case: ArrayCase) -> None:
    array = s.bind(case.expression)
    x = s.call("from_numpy", array)
    before = s.backend.version_of(x.raw)  # type: ignore[attr-defined]
    s.execute("{}[...] = 1", array)
    s.expect_version(x, before)
    s.expect_values(x, array)
