"""Hash, equality and truth of a tensor as a Python object."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from ..case import TensorCase
from ..failure import NoReproducer
from ..forall import forall
from ..requirement import requirement
from ..session import Session
from ..strategies import operands, tensors

_UNTOLD = NoReproducer("a hash is another one in each run")


@requirement("views/hash-is-identity")
def test_hash_stays_when_values_change(s: Session) -> None:
    x, y = s.tensor([1.0, 2.0]), s.tensor([1.0, 2.0])
    before = s.call("__hash__", x)
    s.expect(before == s.call("__hash__", y), False, "equal tensors have one hash", f"hash({x.name}) == hash({y.name})",
             [x, y])  # fmt: skip
    if "inplace" in s.capabilities:
        s.call("fill_.Scalar", x, 7)
    s.expect(s.call("__hash__", x), before, "hash after a write", _UNTOLD)


@requirement("views/hash-is-identity", needs=("inplace",))
@forall(case=tensors(layouts=("contiguous", "offset", "permuted")))
def test_hash_of_any_tensor(s: Session, case: TensorCase) -> None:
    x = s.build(case)
    before = s.call("__hash__", x)
    s.call("zero_", x)
    s.expect(s.call("__hash__", x), before, "hash after a write", _UNTOLD)


@requirement("views/equality-is-elementwise")
@forall(cases=operands(2, same_dtype=True))
def test_equality_broadcasts(s: Session, cases: tuple[TensorCase, TensorCase]) -> None:
    a, b = cases
    with np.errstate(all="ignore"):
        want = np.asarray(a.array == b.array)
    x, y = s.build(a), s.build(b)
    s.expect_values(s.call("__eq__", x, y), want)
    s.expect_values(s.call("__ne__", x, y), ~want)
    s.expect_values(s.call("eq.Tensor", x, y), want)


@requirement("views/equality-is-elementwise")
def test_equality_with_other_things(s: Session) -> None:
    x = s.tensor([1.0, float("nan"), 3.0])
    s.expect_values(s.call("__eq__", x, x), [True, False, True], dtype="bool")
    s.expect_values(s.call("__eq__", x, 3), [False, False, True], dtype="bool")
    s.expect_values(s.call("eq.Scalar", x, 1), [True, False, False], dtype="bool")
    for other in (None, "a", ""):
        s.expect(s.call("__eq__", x, other), False, f"== {other!r}")


def _truth(number: complex) -> bool:
    return bool(number)


@requirement("views/truth-needs-one-element")
@forall(case=tensors(sizes=st.sampled_from(((), (1,), (1, 1), (1, 1, 1)))))
def test_truth_of_one_element(s: Session, case: TensorCase) -> None:
    x = s.build(case)
    if s.has_data:
        s.expect(s.call("__bool__", x), _truth(case.array.reshape(-1)[0].item()), "bool()")


@requirement("views/truth-needs-one-element")
@forall(case=tensors())
def test_truth_of_several(s: Session, case: TensorCase) -> None:
    x = s.build(case)
    if case.numel != 1:
        s.expect_raises(RuntimeError, "__bool__", x)


@requirement("views/truth-needs-one-element")
def test_truth_table(s: Session) -> None:
    if s.has_data:
        for value, want in ((0.0, False), (-0.0, False), (float("nan"), True), (0.5, True), (float("inf"), True)):
            s.expect(s.call("__bool__", s.tensor(value)), want, f"bool() of {value}")
        s.expect(s.call("__bool__", s.tensor([[256]], "int64")), True, "bool() of [[256]]")
        s.expect(s.call("__bool__", s.tensor([0j], "complex64")), False, "bool() of [0j]")
    s.expect_raises(RuntimeError, "__bool__", s.tensor([1.0, 1.0]))
    s.expect_raises(RuntimeError, "__bool__", s.tensor([]))
