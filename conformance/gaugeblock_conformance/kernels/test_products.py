"""Matrix products: shapes, strides, memory, NaN, and outputs over operands."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as hs

from .. import strategies as st
from ..backend import Array
from ..failure import NoReproducer
from ..forall import forall
from ..requirement import requirement
from ..session import Session

_UNTOLD = NoReproducer("the adapter watches the allocator during the call")

SIZES = hs.sampled_from((1, 2, 3, 0, 5))


def _small(sizes: tuple[int, ...], seed: int) -> Array:
    return np.random.default_rng(seed).integers(-4, 5, sizes).astype(np.float32)


@requirement("kernels/matmul-follows-the-ranks", "kernels/matmul-of-unfit-operands-raises",
             "kernels/empty-products-are-zero")  # fmt: skip
@forall(
    left=hs.lists(SIZES, max_size=4).map(tuple), right=hs.lists(SIZES, max_size=4).map(tuple),
    inner=hs.booleans(), seed=hs.integers(0, 99), dtype=hs.sampled_from(("float32", "float64", "int64")),
)  # fmt: skip
def test_ranks(
    s: Session, left: tuple[int, ...], right: tuple[int, ...], inner: bool, seed: int, dtype: str
) -> None:
    """Small integers, so that every sum is exact; NumPy's rules are the same."""
    if inner and left and right:
        place = max(len(right) - 2, 0)
        right = (*right[:place], left[-1], *right[place + 1 :])
    a, b = (_small(sizes, seed + k).astype(dtype) for k, sizes in enumerate((left, right)))
    x, y = s.tensor(a), s.tensor(b)
    try:
        want = np.matmul(a, b)
    except ValueError:
        s.expect_raises(RuntimeError, "matmul", x, y)
    else:
        s.expect_values(s.call("matmul", x, y), np.asarray(want), signed_zero=False)


@requirement("kernels/matmul-of-unfit-operands-raises")
def test_operands_without_dims(s: Session) -> None:
    scalar = s.call("sum", s.tensor([1.0]))
    for other in (s.tensor([1.0, 2.0]), s.tensor([[1.0]]), scalar):
        s.expect_raises(RuntimeError, "matmul", scalar, other)
        s.expect_raises(RuntimeError, "matmul", other, scalar)


@requirement("kernels/products-take-any-strides", needs=("views",))
def test_products_of_transposed_squares(s: Session) -> None:
    def row(s: Session, operator: str, n: int, left: bool, right: bool) -> None:
        a, b = _small((n, n), n), _small((n, n), n + 1)
        x = s.call("t", s.tensor(a.T.copy())) if left else s.tensor(a)
        y = s.call("t", s.tensor(b.T.copy())) if right else s.tensor(b)
        s.expect_values(s.call(operator, x, y), np.matmul(a, b), signed_zero=False)

    flags = (False, True)
    s.table([(f, n, a, b) for f in ("mm", "matmul") for n in (2, 3, 17) for a in flags for b in flags], row)


def _error_bound(a: Array, b: Array) -> Any:
    """Any order of summation stays within it."""
    eps = float(np.finfo(a.dtype).eps)
    wide = np.matmul(np.abs(a).astype(np.float64), np.abs(b).astype(np.float64))
    return (a.shape[-1] + 2) * eps * wide + float(np.finfo(a.dtype).tiny)


@requirement("kernels/products-take-any-strides", needs=("as_strided",))
@forall(
    n=hs.integers(1, 40), k=hs.integers(1, 40), m=hs.integers(1, 40), dtype=hs.sampled_from(("float32", "float64")),
    data=hs.data(), operator=hs.sampled_from(("mm", "matmul")),
)  # fmt: skip
def test_products_of_strided_operands(
    s: Session, n: int, k: int, m: int, dtype: str, data: hs.DataObject, operator: str
) -> None:
    layouts = (*st.LAYOUTS, "expanded", "permuted")
    x = data.draw(st.tensors(dtype, sizes=(n, k), layouts=layouts, kind="small"))
    y = data.draw(st.tensors(dtype, sizes=(k, m), layouts=layouts, kind="small"))
    a, b = x.array, y.array
    want = np.matmul(a.astype(np.longdouble), b.astype(np.longdouble))
    s.expect_close(s.call(operator, s.build(x), s.build(y)), want, np.asarray(_error_bound(a, b)))


@requirement("kernels/transposed-operands-are-not-copied", needs=("views",))
def test_memory_of_a_transposed_product(s: Session) -> None:
    def row(s: Session, operator: str, left: bool, right: bool) -> None:
        n, k, m = 33, 65, 17
        x = s.call("t", s.tensor(_small((k, n), 1))) if left else s.tensor(_small((n, k), 1))
        y = s.call("t", s.tensor(_small((m, k), 2))) if right else s.tensor(_small((k, m), 2))
        s.backend.call(operator, x.raw, y.raw)
        _, log = s.call_within(s.backend.observed_allocator(), operator, x, y)  # type: ignore[attr-defined]
        asked = sorted(nbytes for _, nbytes in log.given)
        s.expect(asked, [n * m * 4], f"bytes that {operator} asked the allocator for", _UNTOLD)

    flags = (False, True)
    s.table([(name, a, b) for name in ("mm", "matmul") for a in flags for b in flags], row)


SPECIAL = (float("nan"), float("inf"), float("-inf"))


@requirement("kernels/products-propagate-nan")
@forall(
    n=hs.integers(1, 9), k=hs.integers(1, 20), m=hs.integers(1, 9), special=hs.sampled_from(SPECIAL),
    place=hs.tuples(hs.integers(0, 99), hs.integers(0, 99)), first=hs.booleans(), zeros=hs.booleans(),
)  # fmt: skip
def test_special_values_reach_their_row_or_column(
    s: Session, n: int, k: int, m: int, special: float, place: tuple[int, int], first: bool, zeros: bool
) -> None:
    a, b = _small((n, k), n + k), _small((k, m), k + m + 1)
    if zeros:
        (b if first else a)[...] = 0
    target = a if first else b
    target[place[0] % target.shape[0], place[1] % target.shape[1]] = special
    with np.errstate(all="ignore"):
        terms = a[:, :, None].astype(np.float64) * b[None, :, :].astype(np.float64)
        want = terms.sum(1).astype(np.float32)
    x, y = s.tensor(a), s.tensor(b)
    for _ in range(2):  # What was learned from the first call must not change the second.
        s.expect_values(s.call("mm", x, y), want, signed_zero=False)


@requirement("kernels/beta-zero-ignores-the-addend")
@forall(
    operator=hs.sampled_from(("addmm", "addmv", "baddbmm", "addbmm", "addr")), special=hs.sampled_from(SPECIAL),
    sizes=hs.tuples(hs.integers(1, 5), hs.integers(1, 5), hs.integers(1, 5)),
)  # fmt: skip
def test_addend_without_weight(s: Session, operator: str, special: float, sizes: tuple[int, int, int]) -> None:
    n, k, m = sizes
    shapes = {
        "addmm": ((n, m), (n, k), (k, m)), "addmv": ((n,), (n, k), (k,)), "addr": ((n, m), (n,), (m,)),
        "baddbmm": ((2, n, m), (2, n, k), (2, k, m)), "addbmm": ((n, m), (2, n, k), (2, k, m)),
    }[operator]  # fmt: skip
    addend = np.full(shapes[0], special, np.float32)
    a, b = _small(shapes[1], 3), _small(shapes[2], 4)
    want = np.outer(a, b) if operator == "addr" else np.matmul(a, b)
    want = want.sum(0) if operator == "addbmm" else want
    s.expect_values(
        s.call(operator, s.tensor(addend), s.tensor(a), s.tensor(b), beta=0), want.astype(np.float32), signed_zero=False
    )


@requirement("kernels/product-over-its-own-operand-is-right-or-raises")
@forall(operator=hs.sampled_from(("mm", "matmul", "bmm", "mv", "addmm")), n=hs.integers(1, 12), second=hs.booleans())
def test_out_is_an_operand(s: Session, operator: str, n: int, second: bool) -> None:
    shape = (2, n, n) if operator == "bmm" else (n, n)
    a, b = _small(shape, n), _small((n,) if operator == "mv" else shape, n + 1)
    addend = [s.tensor(_small(shape, 7))] if operator == "addmm" else []
    x, y = s.tensor(a), s.tensor(b)
    out = y if second or operator == "mv" else x
    want = np.matmul(a, b) + (s.read(addend[0]) if addend else 0)
    made, error = s.attempt(f"{operator}.out", *addend, x, y, out=out)
    if error is None:
        s.expect_values(made, want.astype(np.float32), signed_zero=False)
    else:
        s.expect_refusal(error, RuntimeError, f"the exception of {operator}")
