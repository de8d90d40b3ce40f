"""Single operators whose obvious formula goes wrong: softmax, clamp, sign."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as hs

from .. import strategies as st
from ..backend import numpy_dtype
from ..case import TensorCase
from ..forall import forall
from ..oracles.totals import softmax
from ..requirement import requirement
from ..session import Handle, Session

_INF, _NAN = float("inf"), float("nan")


@requirement("operators/softmax-and-logsumexp-are-shift-stable")
def test_shift_goldens(s: Session) -> None:
    s.expect_values(s.call("softmax.int", s.tensor([1000.0, 0.0]), 0), [1.0, 0.0])
    s.expect_values(s.call("softmax.int", s.tensor([-1000.0, -1000.0]), 0), [0.5, 0.5])
    s.expect_values(s.call("softmax.int", s.tensor([-_INF, -_INF]), 0), [_NAN, _NAN])
    s.expect_values(s.call("softmax.int", s.tensor([-_INF, 1.0]), 0), [0.0, 1.0])
    s.expect_values(s.call("logsumexp", s.tensor([1000.0, 1000.0]), [0]), 1000.6931471805599, ulp=1)
    s.expect_values(s.call("log_softmax.int", s.tensor([1000.0, 0.0]), 0), [0.0, -1000.0])
    s.expect_values(s.call("logsumexp", s.tensor([-_INF, -_INF]), [0]), -_INF)


@requirement("operators/softmax-and-logsumexp-are-shift-stable")
@forall(
    x=st.tensors(("float32", "float64"), min_dims=1, max_dims=3, kind="unit", empty=False),
    shift=hs.sampled_from([0.0, 64.0, 1000.0, -5000.0, 2.0**20]),
    dim=hs.integers(0, 2),
)
def test_shifted_softmax(s: Session, x: TensorCase, shift: float, dim: int) -> None:
    dim %= len(x.sizes)
    moved = (x.array.astype(np.float64) + shift).astype(x.array.dtype)
    y = s.call("softmax.int", s.tensor(moved), dim)
    eps = float(np.finfo(x.array.dtype).eps)
    want = softmax(moved.astype(np.longdouble), dim)
    s.expect_close(y, want, np.asarray((x.sizes[dim] + 8) * eps * want.astype(np.float64) + 1e-300))


@requirement("operators/clamp-is-minimum-of-maximum")
@forall(
    x=st.tensors(("float32", "float64", "int64", "int32")),
    low=hs.sampled_from([None, 0, 1, -2, 0.5, -_INF, _NAN]),
    high=hs.sampled_from([None, 2, 0, -1, 1.5, _INF, _NAN]),
)
def test_clamp(s: Session, x: TensorCase, low: float | None, high: float | None) -> None:
    if low is None and high is None:
        s.expect_raises(RuntimeError, "clamp", s.build(x))
        return
    given = [v for v in (low, high) if v is not None]
    dtype = x.dtype
    if "int" in dtype and any(isinstance(v, float) for v in given):
        dtype = "float32"
    kind = numpy_dtype(dtype)
    want = x.array.astype(kind)
    with np.errstate(all="ignore"):
        for bound, join in ((low, np.maximum), (high, np.minimum)):
            if bound is not None:
                want = join(want, kind.type(bound))
    s.expect_values(s.call("clamp", s.build(x), low, high), want, signed_zero=False)


@requirement("operators/clamp-is-minimum-of-maximum")
@forall(
    xs=st.operands(3, ("float32", "float16", "int32", "uint8"), same_dtype=True),
    bounds=hs.sampled_from(["low", "high", "both"]),
)
def test_clamp_by_tensors(s: Session, xs: tuple[TensorCase, ...], bounds: str) -> None:
    """Bounds that broadcast, and enlarge the result; either may be left out."""
    low, high = (case if bounds in (name, "both") else None for name, case in zip(("low", "high"), xs[1:], strict=True))
    want = xs[0].array
    for bound, join in ((low, np.maximum), (high, np.minimum)):
        want = want if bound is None else join(want, bound.array)
    given = [None if bound is None else s.build(bound) for bound in (low, high)]
    s.expect_values(s.call("clamp.Tensor", s.build(xs[0]), *given), want, signed_zero=False)


@requirement("operators/clamp-is-minimum-of-maximum")
def test_clamp_goldens(s: Session) -> None:
    x = s.tensor([1.0, _NAN, 5.0])
    s.expect_values(s.call("clamp", x, 3, 2), [2.0, _NAN, 2.0])
    s.expect_values(s.call("clamp", x, _NAN, 2), [_NAN, _NAN, _NAN])
    s.expect_values(s.call("clamp.Tensor", x, s.tensor([0.0, 0.0, 6.0]), s.tensor(5.5)), [1.0, _NAN, 5.5])
    s.expect_values(s.call("clamp", s.tensor([1, 4], "int64"), max=2.5), [1.0, 2.5])


@requirement("operators/sign-of-zero-and-nan-is-zero")
@forall(x=st.tensors(("float32", "float64", "float16", "bfloat16", "int64", "int8", "uint8", "bool")))
def test_sign(s: Session, x: TensorCase) -> None:
    wide = x.array.astype(np.float64)
    want = np.where(np.isnan(wide), 0, np.sign(np.nan_to_num(wide, posinf=1, neginf=-1))).astype(x.array.dtype)
    for operator in ("sign", "sgn"):
        s.expect_values(s.call(operator, s.build(x)), want, signed_zero=False)


@requirement("operators/every-operator-gives-what-its-row-says", needs=("strided",))
def test_matrix_exponential(s: Session) -> None:
    def body(s: Session, operator: str) -> None:
        for dtype in ("float16", "bfloat16", "float32", "float64"):
            found = s.call(operator, s.tensor([[0.0, 1.0], [0.0, 0.0]], dtype))
            s.expect_values(found, [[1.0, 1.0], [0.0, 1.0]], ulp=4, signed_zero=False, dtype=dtype)
        for dtype in ("float32", "float64"):
            small = s.call(operator, s.tensor([[-0.5, 0.0], [0.0, 0.046875]], dtype))
            s.expect_values(small, [[0.6065306597126334, 0.0], [0.0, 1.0479910020166328]], ulp=4, dtype=dtype)
        turned = s.call("transpose.int", s.tensor(np.zeros((2, 3, 2, 2), np.float32)), 0, 1)
        want = np.broadcast_to(np.eye(2, dtype=np.float32), (3, 2, 2, 2))
        s.expect_values(s.call(operator, turned), want, signed_zero=False)

    s.table(["linalg_matrix_exp", "matrix_exp"], body)


@requirement("operators/every-operator-gives-what-its-row-says", needs=("strided",))
def test_pixels_in_channels_last(s: Session) -> None:
    elements = np.arange(64, dtype=np.int64).reshape(2, 2, 4, 2, 2)
    apart = elements.reshape(2, 2, 4, 1, 2, 1, 2).transpose(0, 1, 2, 4, 6, 3, 5).reshape(2, 2, 16, 1, 1)
    whole = elements.reshape(2, 2, 1, 2, 2, 2, 2).transpose(0, 1, 2, 5, 3, 6, 4).reshape(2, 2, 1, 4, 4)

    def body(s: Session, operator: str) -> None:
        x = s.call("permute", s.tensor(np.ascontiguousarray(elements.transpose(0, 2, 3, 4, 1))), (0, 4, 1, 2, 3))
        s.expect_values(s.call(operator, x, 2), apart if operator == "pixel_unshuffle" else whole, dtype="int64")

    s.table(["pixel_unshuffle", "pixel_shuffle"], body)


@requirement("operators/every-operator-gives-what-its-row-says", needs=("strided",))
def test_kron(s: Session) -> None:
    def body(s: Session, operator: str) -> None:
        x = s.call("t", s.tensor([[1, 2], [3, 4]], "int64"))
        want = [[1, 10, 3, 30], [2, 20, 4, 40]]
        s.expect_values(s.call(operator, x, s.tensor([[1, 10]], "int64")), want, dtype="int64")
        s.expect_values(s.call(operator, x, x), np.kron([[1, 3], [2, 4]], [[1, 3], [2, 4]]))

    s.table(["kron"], body)


@requirement("operators/every-operator-gives-what-its-row-says")
def test_empty_products(s: Session) -> None:
    """What is added to a product over no elements is broadcast to the sizes of the product."""

    def empty(s: Session, *sizes: int) -> Handle:
        return s.tensor(np.zeros(sizes, np.float32))

    def body(s: Session, operator: str, operands: tuple[tuple[int, ...], ...], sizes: tuple[int, ...]) -> None:
        for added in (3.0, [3.0]):
            x, y, z = s.tensor(added), *(empty(s, *given) for given in operands)
            s.expect_values(s.call(operator, x, y, z), np.full(sizes, 3, np.float32))
            s.expect_values(s.call(operator, x, y, z, beta=2, alpha=5), np.full(sizes, 6, np.float32))

    rows = [
        ("addmv", ((2, 0), (0,)), (2,)),
        ("addmm", ((2, 0), (0, 3)), (2, 3)),
        ("baddbmm", ((2, 3, 0), (2, 0, 1)), (2, 3, 1)),
        ("addbmm", ((4, 2, 0), (4, 0, 3)), (2, 3)),
        ("addbmm", ((0, 2, 3), (0, 3, 1)), (2, 1)),
    ]
    s.table(rows, body)


@requirement("operators/functional-forms-leave-their-inputs-alone")
def test_covariance(s: Session) -> None:
    def body(s: Session, operator: str, dtype: str) -> None:
        x = s.tensor([[5], [7]], dtype)
        s.call(operator, x, correction=0, fweights=s.tensor([2], "int64"))
        s.expect_values(x, [[5], [7]], dtype=dtype)

    s.table([("cov", dtype) for dtype in ("float32", "float64", "int64")], body)


@requirement("operators/sign-of-zero-and-nan-is-zero")
def test_sign_goldens(s: Session) -> None:
    for operator in ("sign", "sgn"):
        y = s.call(operator, s.tensor([-2.0, 0.0, -0.0, _NAN, _INF]))
        s.expect_values(y, [-1.0, 0.0, 0.0, 0.0, 1.0], signed_zero=False)
    s.expect_values(s.call("sign", s.tensor([True, False], "bool")), [True, False], dtype="bool")
    s.expect_values(s.call("sgn", s.tensor([3 - 4j, 0j], "complex64")), [0.6 - 0.8j, 0j], ulp=2, dtype="complex64")
