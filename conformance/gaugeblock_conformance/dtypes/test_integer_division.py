"""Quotients and remainders of integers: rounding, signs, zero divisors, the smallest value."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as hs

from .. import strategies as st
from ..backend import Array, Unsupported, numpy_dtype
from ..case import TensorCase
from ..forall import forall
from ..oracles.integers import INTEGER
from ..requirement import requirement
from ..session import Session
from ..strategies import INTEGRAL

_SIGNED = INTEGRAL[1:]
_A = [7, -7, 7, -7, 6, -6, 1, 0, -1]
_B = [3, 3, -3, -3, 3, -3, 5, 7, 4]
_GOLDEN = {
    "floor": [2, -3, -3, 2, 2, 2, 0, 0, -1],
    "trunc": [2, -2, -2, 2, 2, 2, 0, 0, 0],
    "remainder": [1, 2, -2, -1, 0, 0, 1, 0, 3],
    "fmod": [1, -1, 1, -1, 0, 0, 1, 0, -1],
}
# Forms of each operation: the operator, its keyword arguments and the formula of the oracle.
_FORMS: dict[str, list[tuple[str, dict[str, str]]]] = {
    "floor": [("floor_divide", {}), ("div.Tensor_mode", {"rounding_mode": "floor"}), ("__floordiv__", {})],
    "trunc": [("div.Tensor_mode", {"rounding_mode": "trunc"})],
    "remainder": [("remainder.Tensor", {}), ("__mod__", {})],
    "fmod": [("fmod.Tensor", {})],
}
_SCALAR = {"floor_divide": "floor_divide.Scalar", "div.Tensor_mode": "div.Scalar_mode",
           "remainder.Tensor": "remainder.Scalar", "fmod.Tensor": "fmod.Scalar"}  # fmt: skip
_IDS = {
    "floor": "dtypes/floor-division-rounds-down",
    "trunc": "dtypes/trunc-division-rounds-toward-zero",
    "remainder": "dtypes/remainder-has-the-sign-of-the-divisor",
    "fmod": "dtypes/fmod-has-the-sign-of-the-dividend",
}


def _model(kind: str, a: Array, b: Array) -> Array:
    if kind in ("floor", "trunc"):
        return np.asarray(INTEGER["div"](a, b, kind))
    return np.asarray(INTEGER[kind](a, b))


def _golden(s: Session, kind: str) -> None:
    for dtype in _SIGNED:
        for operator, kwargs in _FORMS[kind]:
            y = s.call(operator, s.tensor(_A, dtype), s.tensor(_B, dtype), **kwargs)
            s.expect_values(y, _GOLDEN[kind], dtype=dtype)
    for operator, kwargs in _FORMS[kind]:
        want = {"floor": [63, 0], "trunc": [63, 0], "remainder": [3, 3], "fmod": [3, 3]}[kind]
        y = s.call(operator, s.tensor([255, 3], "uint8"), s.tensor([4, 4], "uint8"), **kwargs)
        s.expect_values(y, want, dtype="uint8")


def _property(s: Session, kind: str, x: TensorCase, y: TensorCase, form: int) -> None:
    operator, kwargs = _FORMS[kind][form % len(_FORMS[kind])]
    a, b = x.array, y.array
    if form >= 4 and operator in _SCALAR:
        number = int(b.reshape(-1)[0]) if b.size else 3
        if _unlucky(a, number):
            return
        got = s.call(_SCALAR[operator], s.build(x), number, **kwargs)
        b = np.array(number, dtype=b.dtype)
    else:
        if _unlucky(a, b):
            return
        got = s.call(operator, s.build(x), s.build(y), **kwargs)
    with np.errstate(all="ignore"):
        s.expect_values(got, _model(kind, a, b))


def _unlucky(a: Array, b: Array | int) -> bool:
    """The smallest value by -1 has a test of its own, because backends die of it."""
    if a.dtype.kind == "u":
        return False
    return bool((a == np.iinfo(a.dtype).min).any() and (np.asarray(b) == -1).any())


@hs.composite
def _divisible(draw: hs.DrawFn) -> tuple[TensorCase, TensorCase]:
    """Two tensors that broadcast together, the second of values without zero."""
    x, y = draw(st.operands(2, dtypes=INTEGRAL, same_dtype=True, max_dims=3))
    choices = [v for v in (1, 2, 3, 5, 7, 100, -1, -2, -3, -7) if v > 0 or y.dtype != "uint8"]
    rng = np.random.default_rng(y.seed)
    data = rng.choice(np.array(choices), y.storage).tolist()
    return x, TensorCase(y.dtype, y.sizes, y.strides, y.offset, y.storage, literal=tuple(data))


@requirement(_IDS["floor"])
def test_floor_golden(s: Session) -> None:
    _golden(s, "floor")
    s.expect_values(s.call("__floordiv__", s.tensor([-7, 7], "int64"), 2), [-4, 3], dtype="int64")
    s.expect_values(s.call("__floordiv__", s.tensor([-7.0, 7.5, -0.5]), 2), [-4.0, 3.0, -1.0])


@requirement(_IDS["floor"])
@forall(xs=_divisible(), form=hs.integers(0, 7))
def test_floor(s: Session, xs: tuple[TensorCase, TensorCase], form: int) -> None:
    _property(s, "floor", *xs, form)


@requirement(_IDS["trunc"])
def test_trunc_golden(s: Session) -> None:
    _golden(s, "trunc")
    y = s.call("div.Tensor_mode", s.tensor([-7.0, 7.5, -0.5]), s.tensor([2.0, 2.0, 2.0]), rounding_mode="trunc")
    s.expect_values(y, [-3.0, 3.0, -0.0])


@requirement(_IDS["trunc"])
@forall(xs=_divisible(), form=hs.integers(0, 7))
def test_trunc(s: Session, xs: tuple[TensorCase, TensorCase], form: int) -> None:
    _property(s, "trunc", *xs, form)


@requirement(_IDS["trunc"])
def test_unknown_rounding_modes(s: Session) -> None:
    for mode in ("up", "", "ceil", "FLOOR", "round", "none"):
        for dtype in ("int32", "float32"):
            x, y = s.tensor([7, 8], dtype), s.tensor([2, 2], dtype)
            s.expect_raises(RuntimeError, "div.Tensor_mode", x, y, rounding_mode=mode)
            s.expect_raises(RuntimeError, "div.Scalar_mode", x, 2, rounding_mode=mode)
    y = s.call("div.Tensor_mode", s.tensor([7], "int32"), s.tensor([2], "int32"), rounding_mode=None)
    s.expect_values(y, [3.5])


@requirement(_IDS["remainder"])
def test_remainder_golden(s: Session) -> None:
    _golden(s, "remainder")


@requirement(_IDS["remainder"])
@forall(xs=_divisible(), form=hs.integers(0, 7))
def test_remainder(s: Session, xs: tuple[TensorCase, TensorCase], form: int) -> None:
    _property(s, "remainder", *xs, form)


@requirement(_IDS["fmod"])
def test_fmod_golden(s: Session) -> None:
    _golden(s, "fmod")


@requirement(_IDS["fmod"])
@forall(xs=_divisible(), form=hs.integers(0, 7))
def test_fmod(s: Session, xs: tuple[TensorCase, TensorCase], form: int) -> None:
    _property(s, "fmod", *xs, form)


@requirement("dtypes/true-division-of-integers-is-float")
def test_true_division_golden(s: Session) -> None:
    inf, nan = float("inf"), float("nan")
    a, b = s.tensor([1, 0, -1, 7, 2**31 - 1], "int32"), s.tensor([0, 0, 0, 2, 3], "int32")
    want = np.array([inf, nan, -inf, 3.5, np.float32(2**31) / np.float32(3)], np.float32)
    s.expect_values(s.call("div.Tensor", a, b), want)
    s.expect_values(s.call("__truediv__", a, b), want)
    s.expect_values(s.call("div.Scalar", s.tensor([1, 2], "uint8"), 4), [0.25, 0.5])
    s.expect_values(s.call("div.Tensor", s.tensor([True, True], "bool"), s.tensor([True, False], "bool")), [1.0, inf])


@requirement("dtypes/true-division-of-integers-is-float")
@forall(
    xs=st.operands(2, dtypes=("bool", *INTEGRAL), same_dtype=True), form=hs.sampled_from(["div.Tensor", "__truediv__"])
)
def test_true_division(s: Session, xs: tuple[TensorCase, TensorCase], form: str) -> None:
    a, b = (c.array.astype(np.float32) for c in xs)
    with np.errstate(all="ignore"):
        s.expect_values(s.call(form, *(s.build(c) for c in xs)), np.asarray(a / b))


def _need_cpu(s: Session) -> None:
    """End the test on another device, which may give any elements for an integer divided by zero."""
    if not s.on_cpu:
        raise Unsupported("floor_divide", f"integers divided by zero on {s.backend.device}, of which no rule speaks")


@requirement("dtypes/integer-division-by-zero-raises")
def test_zero_divisor_golden(s: Session) -> None:
    _need_cpu(s)
    if not s.has_data:
        return
    for dtype in INTEGRAL:
        a, b = s.tensor([1, 2, 0], dtype), s.tensor([1, 0, 2], dtype)
        for forms in _FORMS.values():
            for operator, kwargs in forms:
                s.expect_raises(RuntimeError, operator, a, b, **kwargs)
                if operator in _SCALAR:
                    s.expect_raises(RuntimeError, _SCALAR[operator], a, 0, **kwargs)


@requirement("dtypes/integer-division-by-zero-raises")
@forall(
    dtype=st.dtypes(*INTEGRAL),
    count=st.thresholds(),
    place=hs.one_of(hs.sampled_from([-1, 0]), hs.integers(0, 2**20)),
    kind=hs.sampled_from(list(_FORMS)),
    form=hs.integers(0, 2),
    step=hs.integers(1, 2),
    weight=0.5,
)
def test_one_zero_divisor(s: Session, dtype: str, count: int, place: int, kind: str, form: int, step: int) -> None:
    """A single zero anywhere in a long divisor, in the vector body or in the remainder of a loop."""
    _need_cpu(s)
    if not s.has_data:
        return
    divisor = np.full(count * step, 3, dtype=numpy_dtype(dtype))
    divisor[place % count * step] = 0
    b = TensorCase(dtype, (count,), (step,), storage=count * step, literal=tuple(divisor.tolist()))
    operator, kwargs = _FORMS[kind][form % len(_FORMS[kind])]
    s.expect_raises(RuntimeError, operator, s.tensor(np.full(count, 7), dtype), s.build(b), **kwargs)


@requirement("dtypes/smallest-int-by-minus-one")
def test_smallest_by_minus_one(s: Session) -> None:
    def body(s: Session, dtype: str, operator: str, mode: str | None, count: int) -> None:
        low = int(np.iinfo(numpy_dtype(dtype)).min)
        a, b = s.tensor([low] * count, dtype), s.tensor([-1] * count, dtype)
        kwargs = {} if mode is None else {"rounding_mode": mode}
        want = 0 if "rem" in operator or "mod__" in operator or "fmod" in operator else low
        s.expect_values(s.call(operator, a, b, **kwargs), [want] * count, dtype=dtype)

    forms = [("floor_divide", None), ("__floordiv__", None), ("div.Tensor_mode", "floor"), ("remainder.Tensor", None),
             ("__mod__", None)]  # fmt: skip
    s.table([(d, *f, n) for d in _SIGNED for f in forms for n in (1, 2, 33)], body)


@requirement("dtypes/smallest-int-by-minus-one", may_crash=True)
def test_smallest_by_minus_one_truncated(s: Session) -> None:
    def body(s: Session, dtype: str, count: int) -> None:
        low = int(np.iinfo(numpy_dtype(dtype)).min)
        a, b = s.tensor([low] * count, dtype), s.tensor([-1] * count, dtype)
        s.expect_values(s.call("div.Tensor_mode", a, b, rounding_mode="trunc"), [low] * count, dtype=dtype)
        s.expect_values(s.call("fmod.Tensor", a, b), [0] * count, dtype=dtype)

    s.table([(d, n) for d in _SIGNED for n in (1, 2, 33)], body)
