"""Operators and kernels that are added, replaced and taken away, and exceptions that pass through."""

from __future__ import annotations

import builtins

from hypothesis import strategies as hs

from ..backend_dispatch import Exclude, Include, Kernel
from ..forall import forall
from ..requirement import requirement
from ..session import Session
from .registry import expect_log, kernels, release, suite_operators

UNARY = "f(Tensor x) -> Tensor"


@requirement("dispatch/kernels-are-found-at-run-time")
def test_kernel_that_comes_and_goes(s: Session) -> None:
    with suite_operators(s, UNARY):
        x = s.tensor([1.0, 2.0])
        s.expect_raises(NotImplementedError, "suite::f", x)
        s.call("register_kernel", "f", "CPU", Kernel("cpu", "scale", 3))
        s.expect_values(s.call("suite::f", x), [3.0, 6.0])
        expect_log(s, ["cpu"])
        s.call("remove_kernel")
        s.expect_raises(NotImplementedError, "suite::f", x)
        s.call("register_kernel", "f", "CPU", Kernel("again", "scale", 4))
        s.expect_values(s.call("suite::f", x), [4.0, 8.0])
        expect_log(s, ["again"])


@requirement("dispatch/kernels-are-found-at-run-time")
def test_operator_that_comes_and_goes(s: Session) -> None:
    x = s.tensor([1.0])
    release(s)
    s.expect_raises(AttributeError, "suite::f", x)
    with suite_operators(s, UNARY, "f.other(Tensor x, int n) -> Tensor"):
        kernels(s, "f", "CPU")
        kernels(s, "f.other", "CPU", argument=5)
        s.expect_values(s.call("suite::f.default", x), [2.0])
        s.expect_values(s.call("suite::f.other", x, 1), [5.0])
        s.expect_raises(AttributeError, "suite::f.nothing", x)
    s.steps().clear()  # What was declared is gone, and a snippet says nothing of that.
    s.expect_raises(AttributeError, "suite::f", s.tensor([1.0]))


@requirement("dispatch/defining-an-operator-twice-raises")
@forall(overload=hs.sampled_from(("", ".two")), other=hs.booleans(), factor=hs.integers(2, 9))
def test_second_definition(s: Session, overload: str, other: bool, factor: int) -> None:
    with suite_operators(s, f"f{overload}(Tensor x) -> Tensor"):
        kernels(s, f"f{overload}", "CPU", argument=factor)
        again = f"f{overload}(Tensor x, int n) -> Tensor" if other else f"f{overload}(Tensor x) -> Tensor"
        s.expect_raises(RuntimeError, "define_operator", again)
        s.expect_values(s.call(f"suite::f{overload}", s.tensor([1.0, 2.0])), [factor, 2 * factor])


@requirement("dispatch/later-kernel-replaces-the-earlier")
def test_second_kernel(s: Session) -> None:
    with suite_operators(s, UNARY):
        x = s.tensor([1.0])
        for label, factor in (("one", 2), ("two", 3), ("three", 4)):
            s.call("register_kernel", "f", "CPU", Kernel(label, "scale", factor))
            s.expect_values(s.call("suite::f", x), [float(factor)])
            expect_log(s, [label])
        for label, factor in (("two", 3), ("one", 2)):
            s.call("remove_kernel")
            s.expect_values(s.call("suite::f", x), [float(factor)])
            expect_log(s, [label])


MALFORMED = (
    "g(Tensor x", "g(Tensor x)", "g(Tensor x -> Tensor", "g(Tensor x,) -> Tensor", "(Tensor x) -> Tensor",
    "g(int n=1, Tensor x) -> Tensor", "g(Tensr x) -> Tensor", "g(Tensor x) - Tensor",
)  # fmt: skip


@requirement("dispatch/malformed-registrations-raise")
def test_schemas_and_keys(s: Session) -> None:
    with suite_operators(s, UNARY):
        kernels(s, "f", "CPU")
        for schema in MALFORMED:
            s.expect_raises(RuntimeError, "define_operator", schema)
        x = s.tensor([1.0])
        s.expect_raises(AttributeError, "suite::g", x)
        for key in ("Nope", "cpu", "CPU ", "AutogradNope"):
            s.expect_raises(RuntimeError, "register_kernel", "f", key, Kernel("wrong", "scale", 5))
        s.expect_values(s.call("suite::f", x), [2.0])
        expect_log(s, ["CPU"])


RAISED = ("ValueError", "KeyError", "RuntimeError", "NotImplementedError", "ZeroDivisionError", "IndexError")


@requirement("dispatch/kernel-exceptions-reach-the-caller")
def test_classes_of_exceptions(s: Session) -> None:
    def row(s: Session, name: str) -> None:
        with suite_operators(s, UNARY):
            s.call("register_kernel", "f", "CPU", Kernel("CPU", "raise", name))
            kind: type[Exception] = getattr(builtins, name)
            s.expect_raises(kind, "suite::f", s.tensor([1.0]), match=f"{name} of the suite")
            expect_log(s, ["CPU"])

    s.table(RAISED, row)


LAYERS = ("AutogradCPU", "ADInplaceOrView", "Negative", "BackendSelect")


@requirement("dispatch/exceptions-leave-the-dispatcher-as-it-was")
@forall(depth=hs.integers(0, 3), name=hs.sampled_from(RAISED), inside=hs.booleans())
def test_state_after_an_exception(s: Session, depth: int, name: str, inside: bool) -> None:
    with suite_operators(s, UNARY):
        before = s.call("thread_keys")
        for layer in LAYERS[:depth]:
            s.call("register_kernel", "f", layer, Kernel(layer, "below"))
        s.call("register_kernel", "f", "CPU", Kernel("CPU", "raise", name))
        x = s.tensor([1.0])
        contexts = (Include("Negative"), Exclude("ADInplaceOrView")) if inside else (Include("Negative"),)
        _, error = s.attempt("within", contexts, "suite::f", x)
        s.expect_refusal(error, getattr(builtins, name), "the exception")
        s.call("dispatch_log")
        s.expect(s.call("thread_keys"), before, "included and excluded keys after the exception")
        s.call("register_kernel", "f", "CPU", Kernel("CPU", "scale", 2))
        s.call("suite::f", x)
        walked = [layer for layer in LAYERS[:depth] if layer != "Negative"]
        expect_log(s, [*walked, "CPU"], "kernels entered afterwards")


@requirement("dispatch/exceptions-leave-the-dispatcher-as-it-was", needs=("autograd",))
def test_recording_after_an_exception(s: Session) -> None:
    with suite_operators(s, UNARY):
        s.call("register_kernel", "f", "CPU", Kernel("CPU", "raise", "ValueError"))
        x = s.tensor([1.0])
        s.call("requires_grad_", x)
        s.expect_raises(ValueError, "suite::f", x)
        y = s.call("mul.Scalar", x, 2)
        s.expect(s.call("requires_grad", y), True, "requires_grad of a result after an exception")
