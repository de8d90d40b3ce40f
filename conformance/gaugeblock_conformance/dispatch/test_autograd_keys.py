"""Operators from outside under autograd: what is recorded, and what is not."""

from __future__ import annotations

from hypothesis import strategies as hs

from ..backend_dispatch import Kernel, Mode
from ..forall import forall
from ..requirement import requirement
from ..session import Handle, Session
from .registry import expect_log, kernels, suite_operators

UNARY = "f(Tensor x) -> Tensor"


def _leaf(s: Session, values: list[float]) -> Handle:
    x = s.tensor(values)
    s.call("requires_grad_", x)
    return x


def _gradient(s: Session, x: Handle, y: Handle) -> Handle:
    """The gradient of the sum of ``y``."""
    s.call("backward", s.call("sum", y))
    gradient: Handle = s.call("__getattr__", x, "grad")
    return gradient


@requirement("dispatch/composite-is-differentiated-through-its-parts")
@forall(values=hs.lists(hs.integers(-9, 9).map(float), min_size=1, max_size=4), factor=hs.integers(2, 5))
def test_gradient_of_a_composite(s: Session, values: list[float], factor: int) -> None:
    with suite_operators(s, UNARY):
        kernels(s, "f", "CompositeImplicitAutograd", argument=factor)
        x = _leaf(s, values)
        s.expect_values(_gradient(s, x, s.call("suite::f", x)), [float(factor)] * len(values))


@requirement("dispatch/autograd-kernel-runs-before-the-backend-kernel")
def test_derivative_of_an_operator(s: Session) -> None:
    with suite_operators(s, UNARY):
        s.call("register_kernel", "f", "CPU", Kernel("CPU", "scale", 2))
        s.call("register_derivative", "f", 10.0)
        x = _leaf(s, [1.0, 2.0])
        y = s.call("suite::f", x)
        expect_log(s, ["CPU"])
        s.expect(s.call("requires_grad", y), True, "requires_grad of the result")
        s.expect_values(s.call("detach", y), [2.0, 4.0])
        s.expect_values(_gradient(s, x, y), [10.0, 10.0])


@requirement("dispatch/autograd-kernel-runs-before-the-backend-kernel")
def test_autograd_kernel_is_first(s: Session) -> None:
    with suite_operators(s, UNARY):
        s.call("register_kernel", "f", "CPU", Kernel("CPU", "scale", 2))
        s.call("register_kernel", "f", "AutogradCPU", Kernel("AutogradCPU", "below"))
        for x in (_leaf(s, [1.0]), s.tensor([1.0])):
            s.call("suite::f", x)
            expect_log(s, ["AutogradCPU", "CPU"])


@requirement("dispatch/mode-sees-backward")
def test_mode_around_backward(s: Session) -> None:
    with suite_operators(s):
        x = _leaf(s, [1.0, 2.0])
        y = s.call("sum", s.call("mul.Scalar", x, 3))
        s.call("within", (Mode("mode"),), "backward", y)
        seen = s.call("dispatch_log")
        s.expect_of_last("mode mul.Tensor" in seen, True, f"mul.Tensor among {seen}", "'mode mul.Tensor' in {}")
        s.expect_values(s.call("__getattr__", x, "grad"), [3.0, 3.0])
