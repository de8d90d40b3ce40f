"""Modes: what they see, in which order, and when they end."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as hs

from ..backend_dispatch import Context, Kernel, Mode, Thread
from ..forall import forall
from ..requirement import requirement
from ..session import Session
from .registry import expect_log, release, suite_operators

QUERIES: list[tuple[Any, ...]] = [
    ("shape",), ("ndim",), ("__len__",), ("nbytes",), ("itemsize",), ("requires_grad",), ("__getattr__", "dtype"),
    ("__getattr__", "device"), ("__getattr__", "layout"), ("stride",), ("size",), ("dim",), ("numel",),
    ("storage_offset",), ("is_contiguous",), ("element_size",), ("is_floating_point",), ("is_complex",),
]  # fmt: skip
CHAIN = ("neg", "abs", "exp", "sqrt", "sin", "clone", "floor", "tanh")


def _seen(label: str, *operators: str) -> list[str]:
    return [f"{label} {operator}" for operator in operators]


@requirement("dispatch/metadata-queries-are-not-dispatched")
def test_queries(s: Session) -> None:
    def row(s: Session, operator: str, *arguments: Any) -> None:
        release(s)
        x = s.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        s.call("within", (Mode("mode"),), operator, x, *arguments)
        expect_log(s, [], "operators that the mode saw")
        s.call("within", (Mode("mode"),), "neg", x)
        expect_log(s, _seen("mode", "neg"), "operators that the mode saw")

    s.table(QUERIES, row)


@requirement("dispatch/mode-sees-every-call-in-order")
def test_calls_of_the_backend(s: Session) -> None:
    def row(s: Session, operator: str, arguments: tuple[Any, ...], want: str) -> None:
        release(s)
        x = s.tensor([[1.0, 4.0], [9.0, 16.0]])
        s.call("within", (Mode("mode"),), operator, x, *[x if a is None else a for a in arguments])
        expect_log(s, _seen("mode", want), "operators that the mode saw")

    s.table(
        [
            ("add.Tensor", (None,), "add.Tensor"),
            ("__mul__", (None,), "mul.Tensor"),
            ("neg", (), "neg"),
            ("sum", (), "sum"),
            ("t", (), "t"),
            ("mm", (None,), "mm"),
            ("gt.Scalar", (1,), "gt.Scalar"),
            ("clone", (), "clone"),
            ("select.int", (0, 1), "select.int"),
        ],
        row,
    )


@requirement("dispatch/numbers-arrive-as-tensors")
def test_number_operands(s: Session) -> None:
    def row(s: Session, operator: str, want: str) -> None:
        release(s)
        s.call("within", (Mode("mode"),), operator, s.tensor([1.0, 4.0]), 2)
        expect_log(s, _seen("mode", want), "operators that the mode saw")

    s.table([(f"{name}.Scalar", f"{name}.Tensor") for name in ("add", "sub", "mul", "div")], row)


@requirement("dispatch/mode-sees-every-call-in-order", needs=("dispatch.registry",))
@forall(names=hs.lists(hs.sampled_from(CHAIN), min_size=1, max_size=8), modes=hs.integers(1, 3))
def test_parts_of_a_composite(s: Session, names: list[str], modes: int) -> None:
    with suite_operators(s, "f(Tensor x) -> Tensor"):
        s.call("register_kernel", "f", "CompositeImplicitAutograd", Kernel(None, "chain", tuple(names)))
        contexts = tuple(Mode(f"m{k}") for k in range(modes))
        y = s.call("within", contexts, "suite::f", s.tensor([1.0, 4.0]))
        order = [f"m{k} {name}" for name in names for k in reversed(range(modes))]
        expect_log(s, order, "operators that the modes saw")
        s.expect_agreement(s.call("suite::f", s.tensor([1.0, 4.0])), y)


@requirement("dispatch/mode-sees-operators-from-outside")
def test_operators_of_the_suite(s: Session) -> None:
    def row(s: Session, key: str, want: list[str]) -> None:
        with suite_operators(s, "f(Tensor x) -> Tensor"):
            s.call("register_kernel", "f", key, Kernel("kernel", "chain", ("neg", "exp")))
            s.call("within", (Mode("mode"),), "suite::f", s.tensor([1.0]))
            expect_log(s, want, "operators that the mode saw, and kernels entered")

    s.table(
        [
            ("CPU", ["mode suite::f", "kernel"]),
            ("CompositeExplicitAutograd", ["mode suite::f", "kernel"]),
            ("CompositeImplicitAutograd", ["kernel", "mode neg", "mode exp"]),
        ],
        row,
    )


@requirement("dispatch/mode-decides-the-result")
def test_results_of_a_mode(s: Session) -> None:
    x = s.tensor([1.0, 2.0])
    s.expect_values(s.call("within", (Mode("mode", "full", 7.0),), "neg", x), [7.0])
    s.expect_values(s.call("within", (Mode("mode", "double"),), "neg", x), [-2.0, -4.0])
    s.expect_values(s.call("within", (Mode("outer", "double"), Mode("inner", "double")), "neg", x), [-8.0, -16.0])
    s.expect_values(s.call("neg", x), [-1.0, -2.0])


@requirement("dispatch/mode-decides-the-result", needs=("dispatch.registry",))
def test_kernel_runs_if_the_mode_calls_it(s: Session) -> None:
    with suite_operators(s, "f(Tensor x) -> Tensor"):
        s.call("register_kernel", "f", "CPU", Kernel("kernel", "scale", 2))
        x = s.tensor([1.0])
        s.expect_values(s.call("within", (Mode("mode", "full", 7.0),), "suite::f", x), [7.0])
        expect_log(s, ["mode suite::f"])
        s.expect_values(s.call("within", (Mode("mode"),), "suite::f", x), [2.0])
        expect_log(s, ["mode suite::f", "kernel"])


@requirement("dispatch/mode-ends-with-its-block")
def test_mode_that_raises(s: Session) -> None:
    x = s.tensor([1.0, 2.0])
    release(s)
    for contexts in ((Mode("mode", "raise", "KeyError"),), (Mode("outer"), Mode("inner", "raise", "KeyError"))):
        s.expect_raises(KeyError, "within", contexts, "neg", x)
        s.call("dispatch_log")
        s.expect_values(s.call("neg", x), [-1.0, -2.0])
        expect_log(s, [], "operators that a mode saw after its block")


@requirement("dispatch/mode-ends-with-its-block", needs=("dispatch.registry",))
def test_kernel_that_raises(s: Session) -> None:
    with suite_operators(s, "f(Tensor x) -> Tensor"):
        s.call("register_kernel", "f", "CPU", Kernel("kernel", "raise", "ValueError"))
        x = s.tensor([1.0])
        s.expect_raises(ValueError, "within", (Mode("outer"), Mode("inner")), "suite::f", x)
        expect_log(s, ["inner suite::f", "outer suite::f", "kernel"])
        s.call("neg", x)
        s.call("within", (Mode("mode"),), "neg", x)
        expect_log(s, ["mode neg"], "operators that a mode saw afterwards")


@requirement("dispatch/inner-mode-sees-a-call-first")
@forall(count=hs.integers(1, 5))
def test_nested_modes(s: Session, count: int) -> None:
    release(s)
    contexts = tuple(Mode(f"m{k}") for k in range(count))
    s.call("within", contexts, "neg", s.tensor([1.0]))
    expect_log(s, [f"m{k} neg" for k in reversed(range(count))], "modes that saw the call")


@requirement("dispatch/mode-does-not-see-its-own-calls")
def test_calls_of_a_handler(s: Session) -> None:
    release(s)
    x = s.tensor([1.0, 2.0])
    s.call("within", (Mode("mode", "double"),), "neg", x)
    expect_log(s, ["mode neg"], "operators that the mode saw")
    s.call("within", (Mode("outer"), Mode("inner", "double")), "neg", x)
    expect_log(s, ["inner neg", "outer neg", "outer add.Tensor"], "operators that the modes saw")


@requirement("dispatch/mode-belongs-to-its-thread")
def test_threads(s: Session) -> None:
    def row(s: Session, contexts: tuple[Context, ...], want: list[str]) -> None:
        release(s)
        s.expect_values(s.call("within", contexts, "neg", s.tensor([1.0])), [-1.0])
        expect_log(s, want, "operators that the mode saw")

    s.table([((Mode("mode"), Thread()), []), ((Thread(), Mode("mode")), ["mode neg"])], row)
