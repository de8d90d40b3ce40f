"""Ways out of the graph: detach, NumPy, other processes."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as hs

from ..case import TensorCase
from ..forall import forall
from ..requirement import requirement
from ..session import Session
from ..strategies import LAYOUTS
from .leaves import backward, expect_grad, expect_node, gradient, leaf, leaf_of, small_floats


@requirement("autograd/detach-cuts-the-graph")
@forall(case=small_floats(layouts=LAYOUTS), whole=hs.booleans())
def test_detached_tensors(s: Session, case: TensorCase, whole: bool) -> None:
    x = leaf_of(s, case)
    y = s.call("mul.Scalar", x, 3) if whole else x
    d = s.call("detach", y)
    s.expect(s.call("requires_grad", d), False, "requires_grad of a detached tensor")
    s.expect(s.call("is_leaf", d), True, "is_leaf of a detached tensor")
    s.expect_shares(d, y)
    s.expect_geometry(d, s.observe("shape", y), s.observe("strides", y), s.observe("storage_offset", y))
    backward(s, s.call("mul.Tensor", y, d))
    values = case.array * (3.0 if whole else 1.0)
    expect_grad(s, x, values * (3.0 if whole else 1.0))


@requirement("autograd/detach-shares-the-version")
@forall(writes=hs.lists(hs.integers(0, 2), max_size=6), needs=hs.booleans())
def test_versions_of_detached_tensors(s: Session, writes: list[int], needs: bool) -> None:
    x = leaf(s, [1.0, 2.0]) if needs else s.tensor([1.0, 2.0])
    y = s.call("mul.Scalar", x, 1)
    d = s.call("detach", y)
    further = s.call("detach", s.call("view", d, (2, 1)))
    for k, write in enumerate(writes, 1):
        s.call("add_.Scalar", (y, d, further)[write], 1)
        for z in (y, d, further):
            s.expect_version(z, k)
    s.expect_agreement(d, y)


@requirement("autograd/result-cannot-stop-requiring-grad")
@forall(operator=hs.sampled_from(("clone", "exp", "view", "sum")))
def test_flags_of_results(s: Session, operator: str) -> None:
    x = leaf(s, [1.0, 2.0])
    y = s.call(operator, x, *(((2, 1),) if operator == "view" else ()))
    s.expect_raises(RuntimeError, "set_requires_grad", y, False)
    s.expect_raises(RuntimeError, "requires_grad_", y, False)
    s.expect(s.call("requires_grad", y), True, "requires_grad")
    s.call("set_requires_grad", x, False)
    s.expect(s.call("requires_grad", x), False, "requires_grad of a leaf")


@requirement("autograd/view-cannot-be-detached-in-place")
@forall(case=small_floats(), view=hs.sampled_from(("unsqueeze", "view", "select", "none")))
def test_detach_in_place(s: Session, case: TensorCase, view: str) -> None:
    x = leaf_of(s, case)
    y = s.call("clone", s.call("mul.Scalar", x, 2))
    if view == "none":
        s.call("detach_", y)
        s.expect(s.call("requires_grad", y), False, "requires_grad")
        s.expect(s.call("is_leaf", y), True, "is_leaf")
        expect_node(s, y, False)
        return
    if view == "select" and not case.sizes:
        return
    arguments = {"unsqueeze": (0,), "view": (tuple(case.sizes),), "select": (0, 0)}[view]
    v = s.call({"select": "select.int"}.get(view, view), y, *arguments)
    s.expect_raises(RuntimeError, "detach_", v)
    s.expect_values(gradient(s, y, x), np.full(case.sizes, 2.0))


@requirement("autograd/numpy-refuses-tensors-that-require-grad")
@forall(dims=hs.integers(0, 2), result=hs.booleans())
def test_numpy_and_numbers(s: Session, dims: int, result: bool) -> None:
    x = leaf(s, np.full((1,) * dims, 2.5))
    y = s.call("mul.Scalar", x, 2) if result else x
    s.expect_raises(RuntimeError, "numpy", y)
    value = 5.0 if result else 2.5
    s.expect(s.call("item", y), value, "item")
    s.expect(s.call("tolist", y), np.full((1,) * dims, value).tolist(), "tolist")
    array = s.call("numpy", s.call("detach", y))
    want = np.full((1,) * dims, value).tolist()
    s.expect(array.tolist(), want, "numpy of a detached tensor", *s.of_last("{}.tolist()"))


@requirement("autograd/only-leaves-cross-processes")
def test_tensors_for_other_processes(s: Session) -> None:
    x = leaf(s, [1.0, 2.0])
    y = s.call("mul.Scalar", x, 2)
    s.expect_raises(RuntimeError, "sent", y)
    received = s.call("sent", x)
    s.expect(s.call("requires_grad", received), True, "requires_grad of a received leaf")
    s.expect(s.call("is_leaf", received), True, "is_leaf of a received leaf")
    s.expect_values(received, [1.0, 2.0])
    plain = s.call("sent", s.call("detach", y))
    s.expect(s.call("requires_grad", plain), False, "requires_grad of a received tensor")
