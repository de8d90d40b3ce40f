"""Tensors of inference mode: not saved, not written to outside, without a version."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as hs

from ..backend_autograd import InferenceMode, entered
from ..forall import forall
from ..requirement import requirement
from ..session import Handle, Session
from .leaves import gradient, leaf


def _made_inside(s: Session, way: int) -> Handle:
    """An inference tensor [1.0, 2.0], made by a factory, by an operator on a leaf, or as a view of another one."""
    x = leaf(s, [1.0, 2.0])
    with entered(s.call, InferenceMode()):
        made = s.call("mul.Scalar", x, 1) if way == 1 else s.call("clone", s.call("detach", x))
        return s.call("view", made, (2,)) if way == 2 else made  # type: ignore[no-any-return]


@requirement("autograd/inference-tensors-cannot-be-saved")
@forall(way=hs.integers(0, 2), operator=hs.sampled_from(("mul.Tensor", "div.Tensor", "maximum", "dot")))
def test_saved_for_backward(s: Session, way: int, operator: str) -> None:
    c = _made_inside(s, way)
    s.expect(s.call("is_inference", c), True, "is_inference")
    x = leaf(s, [3.0, 4.0])
    s.expect_raises(RuntimeError, operator, x, c)
    y = s.call(operator, x, s.call("clone", c))
    s.expect(s.call("requires_grad", y), True, "requires_grad")
    with entered(s.call, InferenceMode()):
        inside = s.call(operator, x, c)
        s.expect(s.call("requires_grad", inside), False, "requires_grad in inference mode")


@requirement("autograd/inference-tensors-cannot-be-saved")
def test_not_saved_is_fine(s: Session) -> None:
    c = _made_inside(s, 0)
    x = leaf(s, [3.0, 4.0])
    s.expect_values(gradient(s, s.call("add.Tensor", x, c), x), [1.0, 1.0])
    plain = s.tensor([3.0, 4.0])
    s.expect_values(s.call("mul.Tensor", plain, c), [3.0, 8.0])


@requirement("autograd/views-taken-in-inference-mode-do-not-require-grad")
@forall(view=hs.sampled_from((("view", (2, 1)), ("select.int", 0, 0), ("t",), ("unsqueeze", 0), ("expand", (3, 2)))))
def test_views_inside(s: Session, view: tuple[Any, ...]) -> None:
    operator, *arguments = view
    with entered(s.call, InferenceMode()):
        x = leaf(s, [1.0, 2.0])
        s.expect(s.call("requires_grad", x), True, "requires_grad of a leaf made in inference mode")
        v = s.call(operator, x, *arguments)
        s.expect(s.call("is_inference", v), True, "is_inference of a view")
        s.expect(s.call("requires_grad", v), False, "requires_grad of a view taken in inference mode")


@requirement("autograd/inference-tensors-are-written-inside-alone")
def test_writes(s: Session) -> None:
    def row(s: Session, way: int, operator: str, *arguments: Any) -> None:
        c = _made_inside(s, way)
        s.expect_raises(RuntimeError, operator, c, *arguments)
        with entered(s.call, InferenceMode()):
            s.call(operator, c, *arguments)
            with entered(s.call, InferenceMode(False)):
                s.expect_raises(RuntimeError, operator, c, *arguments)
        copy = s.call("clone", c)
        s.call(operator, copy, *arguments)

    s.table(
        [
            (way, *write)
            for way in (0, 1, 2)
            for write in (("add_.Scalar", 1), ("zero_",), ("mul_.Scalar", 2), ("exp_",))
        ],
        row,
    )


@requirement("autograd/refused-write-to-an-inference-tensor-changes-nothing")
@forall(way=hs.integers(0, 2), write=hs.sampled_from((("add_.Scalar", 1), ("zero_",), ("mul_.Scalar", 2), ("exp_",))))
def test_refused_writes(s: Session, way: int, write: tuple[Any, ...]) -> None:
    c = _made_inside(s, way)
    operator, *arguments = write
    s.expect_raises(RuntimeError, operator, c, *arguments)
    s.expect_values(c, [1.0, 2.0])


@requirement("autograd/inference-tensors-have-no-version")
@forall(way=hs.integers(0, 2))
def test_versions(s: Session, way: int) -> None:
    c = _made_inside(s, way)
    s.expect_raises(RuntimeError, "__getattr__", c, "_version")
    s.expect_version(s.call("neg", c), 0)


@requirement("autograd/inference-tensors-cannot-be-saved")
def test_ordinary_tensors_inside(s: Session) -> None:
    x = leaf(s, [1.0, 2.0])
    with entered(s.call, InferenceMode()):
        s.expect(s.call("is_inference_mode_enabled"), True, "is_inference_mode_enabled")
        y = s.call("mul.Scalar", x, 2)
        s.expect(s.call("is_inference", y), True, "is_inference of a result")
        s.expect(s.call("is_inference", x), False, "is_inference of a tensor from outside")
        v = s.call("view", x, (2, 1))
    s.expect(s.call("is_inference", v), False, "is_inference of a view of a tensor from outside")
    s.expect(s.call("is_inference_mode_enabled"), False, "is_inference_mode_enabled")
    s.expect(s.call("is_inference", s.call("mul.Scalar", y, 2)), False, "is_inference of a result made outside")
