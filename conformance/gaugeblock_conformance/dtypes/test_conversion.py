"""Values through conversions: to bool, to integers, to narrower dtypes."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as hs

from .. import strategies as st
from ..backend import Array, DType, numpy_dtype
from ..case import TensorCase
from ..forall import forall
from ..oracles.conversion import cast
from ..requirement import requirement
from ..session import Handle, Session
from ..strategies import ALL, COMPLEX, FLOATING, INTEGRAL
from ..values import table

_INF, _NAN = float("inf"), float("nan")
_INTS = ("bool", *INTEGRAL)
_FORMS = ("to.dtype", "copy_", "method", "type_as")
_METHODS = {
    "bool": "bool", "uint8": "byte", "int8": "char", "int16": "short", "int32": "int", "int64": "long",
    "float16": "half", "bfloat16": "bfloat16", "float32": "float", "float64": "double",
    "complex64": "cfloat", "complex128": "cdouble",
}  # fmt: skip


def _convert(s: Session, x: TensorCase, dtype: str, form: str) -> Handle:
    t = s.build(x)
    result: Handle
    if form == "copy_":
        result = s.call("copy_", s.tensor(np.zeros(x.sizes), dtype), t)
    elif form == "method":
        result = s.call(_METHODS[dtype], t)
    elif form == "type_as":
        result = s.call("type_as", t, s.tensor([0], dtype))
    else:
        result = s.call("to.dtype", t, DType(dtype))
    return result


@requirement("dtypes/to-bool-is-not-equal-zero")
def test_to_bool_golden(s: Session) -> None:
    x = s.tensor([0.0, -0.0, 1.0, -2.0, _NAN, _INF, 1e-45, -1e-45, 0.5])
    want = [False, False, True, True, True, True, True, True, True]
    s.expect_values(s.call("to.dtype", x, DType("bool")), want, dtype="bool")
    s.expect_values(
        s.call("bool", s.tensor([0, 1, -1, 256, 2**40], "int64")), [False, True, True, True, True], dtype="bool"
    )
    z = s.tensor([0j, 1j, complex(0.0, -0.0), complex(_NAN, 0)], "complex64")
    s.expect_values(s.call("to.dtype", z, DType("bool")), [False, True, False, True], dtype="bool")


@requirement("dtypes/to-bool-is-not-equal-zero")
@forall(x=st.tensors(), form=hs.sampled_from(_FORMS))
def test_to_bool(s: Session, x: TensorCase, form: str) -> None:
    s.expect_values(_convert(s, x, "bool", form), np.asarray(x.array != 0))


@requirement("dtypes/odd-bool-bytes-read-as-true")
def test_odd_bool_bytes(s: Session) -> None:
    """All 256 bytes viewed as bools."""
    b = s.call("view.dtype", s.tensor(np.arange(256), "uint8"), DType("bool"))
    want = np.arange(256) != 0
    if s.has_data:
        s.expect(s.call("tolist", b), want.tolist(), "tolist of odd bools")
    for dtype in ("uint8", "int8", "int32", "int64", "float32", "float64", "float16", "bfloat16", "complex64"):
        s.expect_values(s.call("to.dtype", b, DType(dtype)), want.astype(numpy_dtype(dtype)))
    s.expect_values(s.call("sum", b), 255, dtype="int64")
    s.expect_values(s.call("logical_not", b), ~want)


@requirement("dtypes/odd-bool-bytes-read-as-true")
@forall(
    raw=hs.lists(hs.integers(0, 255), min_size=1, max_size=70),
    dtype=hs.sampled_from(["uint8", "int16", "int64", "float32", "float64", "float16"]),
    step=hs.integers(1, 3),
)
def test_odd_bool_bytes_in_any_layout(s: Session, raw: list[int], dtype: str, step: int) -> None:
    b = s.call("view.dtype", s.tensor(raw, "uint8"), DType("bool"))
    part = s.call("slice.Tensor", b, 0, 0, None, step)
    want = (np.array(raw)[::step] != 0).astype(numpy_dtype(dtype))
    s.expect_values(s.call("to.dtype", part, DType(dtype)), want)
    s.expect_values(s.call("copy_", s.tensor(np.zeros(len(want)), dtype), part), want)


@requirement("dtypes/float-to-int-truncates")
def test_float_to_int_golden(s: Session) -> None:
    for source in FLOATING:
        x = s.tensor([1.9, -1.9, 0.5, -0.5, -0.0, 126.5, -127.5, 2.0] * 5, source)
        for dtype in ("int8", "int16", "int32", "int64"):
            s.expect_values(s.call("to.dtype", x, DType(dtype)), [1, -1, 0, 0, 0, 126, -127, 2] * 5, dtype=dtype)
    big = s.tensor([2147483520.0, -2147483648.0])
    s.expect_values(s.call("int", big), [2147483520, -2147483648], dtype="int32")
    s.expect_values(s.call("long", s.tensor([2.0**62, -(2.0**63)], "float64")), [2**62, -(2**63)], dtype="int64")
    for source in ("float32", "float64", "float16"):
        wild = s.tensor([_NAN, _INF, -_INF, 6e4, -6e4], source)
        for dtype in INTEGRAL:
            s.expect_dtype(s.call("to.dtype", wild, DType(dtype)), dtype)


@requirement("dtypes/float-to-int-truncates")
@forall(
    source=st.dtypes(*FLOATING),
    dtype=st.dtypes(*INTEGRAL),
    count=st.thresholds(),
    seed=hs.integers(0, 2**32 - 1),
    form=hs.sampled_from(("to.dtype", "copy_", "method")),
    weight=0.5,
)
def test_float_to_int(s: Session, source: str, dtype: str, count: int, seed: int, form: str) -> None:
    limits = np.iinfo(numpy_dtype(dtype))
    rng = np.random.default_rng(seed)
    reach = 2.0 ** rng.uniform(0, min(np.log2(float(limits.max)), 15.9 if source == "float16" else 62), count)
    data = reach * (rng.uniform(0, 1, count) if limits.min == 0 else rng.uniform(-1, 1, count))
    narrow = cast(data, source)
    whole = np.trunc(narrow.astype(np.float64))
    narrow = np.where((whole >= limits.min) & (whole < float(limits.max)), narrow, numpy_dtype(source).type(1))
    x = TensorCase(source, (count,), (1,), literal=tuple(narrow.tolist()))
    want = np.array([int(v) for v in narrow.astype(np.float64)], dtype=numpy_dtype(dtype))
    s.expect_values(_convert(s, x, dtype, form), want)


@requirement("dtypes/int-narrowing-wraps")
def test_int_narrowing_golden(s: Session) -> None:
    x = s.tensor([300, -129, 128, 255, 2**40 + 7, -1], "int64")
    s.expect_values(s.call("to.dtype", x, DType("int8")), [44, 127, -128, -1, 7, -1], dtype="int8")
    s.expect_values(s.call("to.dtype", x, DType("uint8")), [44, 127, 128, 255, 7, 255], dtype="uint8")
    s.expect_values(s.call("short", x), [300, -129, 128, 255, 7, -1], dtype="int16")
    s.expect_values(s.call("char", s.tensor([128, 255], "uint8")), [-128, -1], dtype="int8")
    s.expect_values(s.call("byte", s.tensor([-1, -128], "int8")), [255, 128], dtype="uint8")


@requirement("dtypes/int-narrowing-wraps")
@forall(x=st.tensors(INTEGRAL), dtype=st.dtypes(*INTEGRAL), form=hs.sampled_from(_FORMS))
def test_int_conversions(s: Session, x: TensorCase, dtype: str, form: str) -> None:
    s.expect_values(_convert(s, x, dtype, form), cast(x.array, dtype))


@requirement("dtypes/complex-to-real-drops-imaginary-part")
def test_complex_to_real_golden(s: Session) -> None:
    z = s.tensor([1.5 + 2j, complex(-0.0, 1), complex(3.9, _NAN), complex(-2.5, _INF)], "complex64")
    s.expect_values(s.call("to.dtype", z, DType("float32")), [1.5, -0.0, 3.9, -2.5])
    s.expect_values(s.call("to.dtype", z, DType("int32")), [1, 0, 3, -2], dtype="int32")
    s.expect_values(s.call("copy_", s.tensor([0.0] * 4, "float64"), z), np.array([1.5, -0.0, np.float32(3.9), -2.5]))


@requirement("dtypes/complex-to-real-drops-imaginary-part")
@forall(x=st.tensors(COMPLEX), dtype=st.dtypes(*FLOATING), form=hs.sampled_from(_FORMS))
def test_complex_to_real(s: Session, x: TensorCase, dtype: str, form: str) -> None:
    s.expect_values(_convert(s, x, dtype, form), _narrow(x.array.real, dtype))


_NARROW = {"float32": "float64", "float16": "float32", "bfloat16": "float32"}


@requirement("dtypes/float-narrowing-rounds-to-nearest-even")
def test_narrowing_golden(s: Session) -> None:
    halves = s.tensor([2049.0, 2051.0, 65519.0, 65520.0, -65520.0, 2.0**-24, 2.0**-25, 1.5 * 2.0**-25, -1e-30, _NAN])
    want = [2048.0, 2052.0, 65504.0, _INF, -_INF, 2.0**-24, 0.0, 2.0**-24, -0.0, _NAN]
    s.expect_values(s.call("half", halves), want, dtype="float16")
    brains = s.tensor([257.0, 259.0, 3.4e38, 1e-40, 1.00390625, 1.01171875, -_INF])
    want = [256.0, 260.0, _INF, 1e-40, 1.0, 1.015625, -_INF]
    s.expect_values(s.call("bfloat16", brains), cast(np.array(want), "bfloat16"))
    singles = s.tensor([2.0**24 + 1, 2.0**24 + 3, 3.4028235677973366e38, 1e39, 1e-46, 2.0**-149, 0.1], "float64")
    want = [2.0**24, 2.0**24 + 4, _INF, _INF, 0.0, 2.0**-149, float(np.float32(0.1))]
    s.expect_values(s.call("float", singles), want)


@requirement("dtypes/float-narrowing-rounds-to-nearest-even")
@forall(
    target=hs.sampled_from(list(_NARROW)),
    count=st.thresholds(),
    seed=hs.integers(0, 2**32 - 1),
    form=hs.sampled_from(["to.dtype", "copy_", "method"]),
    weight=0.5,
)
def test_narrowing(s: Session, target: str, count: int, seed: int, form: str) -> None:
    """Values around the halfway points of the narrower dtype, where ties show."""
    _check_narrowing(s, target, _NARROW[target], count, seed, form)


@requirement("dtypes/float64-to-half-rounds-once")
@forall(
    target=hs.sampled_from(["float16", "bfloat16"]),
    count=hs.integers(1, 20),
    seed=hs.integers(0, 2**32 - 1),
    form=hs.sampled_from(["to.dtype", "copy_", "method"]),
    weight=0.5,
)
def test_narrowing_of_doubles_in_one_step(s: Session, target: str, count: int, seed: int, form: str) -> None:
    """A float64 just beside a halfway point: rounding to float32 on the way would make it a tie."""
    _check_narrowing(s, target, "float64", count, seed, form)


@requirement("dtypes/float64-to-half-rounds-once", needs=("inplace", "out"))
def test_numbers_become_halves_in_one_step(s: Session) -> None:
    """Convert Python floats and float64 elements whose float32 value is halfway between two half floats."""

    def row(s: Session, target: str, number: float, nearest: float) -> None:
        dtype, source = DType(target), s.tensor(np.array([number]))
        want = np.array([nearest], numpy_dtype(target))

        def blank() -> Handle:
            return s.tensor(np.zeros(1, numpy_dtype(target)))

        s.expect_values(s.call("full", (1,), number, dtype=dtype), want)
        s.expect_values(s.call("fill_.Scalar", blank(), number), want)
        s.expect_values(s.call("fill_.Tensor", blank(), s.tensor(np.array(number))), want)
        s.expect_values(s.call("masked_fill_.Scalar", blank(), s.tensor([True], "bool"), number), want)
        s.expect_values(s.call("add.out", source, s.tensor(np.zeros(1)), out=blank()), want)

    s.table([("float16", 3690.9999999999995, 3690.0), ("bfloat16", 1 + 2.0**-8 + 2.0**-40, 1 + 2.0**-7)], row)


def _check_narrowing(s: Session, target: str, source: str, count: int, seed: int, form: str) -> None:
    data = _around_halfway(target, source, count, seed)
    x = TensorCase(source, (count,), (1,), literal=tuple(data.tolist()))
    s.expect_values(_convert(s, x, target, form), _narrow(data, target))


def _around_halfway(target: str, source: str, count: int, seed: int) -> Array:
    rng = np.random.default_rng(seed)
    width = numpy_dtype(target).itemsize * 8
    bits = rng.integers(0, 2 ** (width - 1), count).astype(f"uint{width}")
    low = bits.view(numpy_dtype(target)).astype(np.float64)
    high = (bits + np.array(1, bits.dtype)).view(numpy_dtype(target)).astype(np.float64)
    with np.errstate(all="ignore"):
        middle = np.where(np.isfinite(low) & np.isfinite(high), low + (high - low) / 2, low)
        near = middle.astype(numpy_dtype(source))
        nudged = np.nextafter(near, np.where(rng.integers(0, 2, count) == 0, -np.inf, np.inf).astype(near.dtype))
        chosen = np.choose(rng.integers(0, 3, count), [near, nudged, (low * 1.3).astype(near.dtype)])
        return np.asarray(np.where(rng.integers(0, 2, count) == 0, chosen, -chosen))


def _narrow(array: Array, dtype: str) -> Array:
    return cast(np.array(array), dtype)


@requirement("dtypes/float-narrowing-rounds-to-nearest-even")
@forall(x=st.tensors(ALL), dtype=st.dtypes(*FLOATING), form=hs.sampled_from(_FORMS))
def test_hard_values(s: Session, x: TensorCase, dtype: str, form: str) -> None:
    s.expect_values(_convert(s, x, dtype, form), cast(x.array, dtype))


@requirement(
    "dtypes/to-bool-is-not-equal-zero",
    "dtypes/float-to-int-truncates",
    "dtypes/int-narrowing-wraps",
    "dtypes/complex-to-real-drops-imaginary-part",
    "dtypes/float-narrowing-rounds-to-nearest-even",
)
def test_every_pair_of_dtypes(s: Session) -> None:
    """All hard values, alone and as often as a loop over vectors wants them."""

    def body(s: Session, source: str, target: str, form: str) -> None:
        values = table(source)
        if source in INTEGRAL:
            odd = [n for n in (12345, -12345, 2**24 + 1, -(2**40) - 1, 2**53 - 1) if _fits(n, source)]
            values = np.concatenate([values, np.array(odd, values.dtype)])
        values = np.tile(values[_judged(values, source, target)], 5)
        for array in (values, values[:1]):
            x = TensorCase(source, array.shape, (1,), literal=tuple(array.tolist()))
            s.expect_values(_convert(s, x, target, form), cast(array, target))

    s.table([(a, b, form) for a in ALL for b in ALL for form in _FORMS], body)


def _fits(number: int, dtype: str) -> bool:
    limits = np.iinfo(numpy_dtype(dtype))
    return bool(limits.min <= number <= limits.max)


def _judged(values: Array, source: str, target: str) -> Array:
    """Without what no integer holds, and what rounds twice on its way to a half float."""
    with np.errstate(all="ignore"):
        if target in INTEGRAL and source not in _INTS:
            limits = np.iinfo(numpy_dtype(target))
            real = values.real.astype(np.float64)
            return np.asarray(np.isfinite(real) & (real > limits.min - 1.0) & (real < float(limits.max)))
        if target in ("float16", "bfloat16"):
            once, twice = cast(values, target), cast(cast(values.real, "float32"), target)
            return np.asarray((once == twice) | np.isnan(once.astype(np.float32)))
        return np.ones(values.shape, dtype=bool)
