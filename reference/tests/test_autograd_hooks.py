"""Hooks: which a pass calls, their arguments, and the values that they may return.

Golden literals, the same in PyTorch unless a comment says otherwise.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import gaugeblock as gb
import pytest


@pytest.fixture(params=["gaugeblock", "torch"])
def m(request: pytest.FixtureRequest) -> Any:
    return gb if request.param == "gaugeblock" else pytest.importorskip("torch")


def noting(seen: list[Any], label: str) -> Callable[..., None]:
    """Return a hook that logs its label and the elements of its last argument."""

    def hook(*given: Any) -> None:
        last = given[-1]
        parts = last if isinstance(last, tuple) else (last,)
        seen.append((label, *[None if one is None else one.tolist() for one in parts]))

    return hook


def nothing(m: Any) -> Any:
    """Return a Function class whose gradient is None."""

    class Nothing(m.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> None:
            return None

    return Nothing


PARTS: dict[str, Callable[[Any, Any], Any]] = {
    "unbind": lambda m, x: x.unbind(0),
    "split": lambda m, x: x.split(1),
    "chunk": lambda m, x: x.chunk(3),
}


@pytest.mark.parametrize("parts", PARTS)
def test_a_hook_of_an_unused_result_is_called_with_none(m: Any, parts: str) -> None:
    seen: list[Any] = []
    x = m.ones(3, requires_grad=True)
    several = PARTS[parts](m, x)
    several[0].register_hook(noting(seen, "first"))
    several[1].sum().backward()
    assert (seen, x.grad.tolist()) == ([("first", None)], [0.0, 1.0, 0.0])


def test_hooks_of_tensors_without_gradient_are_called_with_none(m: Any) -> None:
    seen: list[Any] = []
    x = m.ones(1, requires_grad=True)
    y = x * x
    y.register_hook(noting(seen, "y"))
    y.grad_fn.register_prehook(noting(seen, "before y"))
    accumulator = y.grad_fn.next_functions[0][0]
    accumulator.register_prehook(noting(seen, "before x"))
    accumulator.register_hook(noting(seen, "behind x"))
    x.register_hook(noting(seen, "x"))
    x.register_post_accumulate_grad_hook(lambda leaf: seen.append(("accumulated", leaf.grad)))
    nothing(m).apply(y).sum().backward()
    assert seen == [
        ("y", None), ("before y", None), ("x", None), ("before x", None), ("accumulated", None), ("behind x", None),
    ]  # fmt: skip
    assert x.grad is None


def chain(m: Any, seen: list[Any]) -> tuple[Any, Any, Any]:
    """Return x, y = 2 x and the sum of y, with hooks of all kinds on x and y."""
    x = m.ones(1, requires_grad=True)
    y = x * m.tensor([2.0])
    accumulator = y.grad_fn.next_functions[0][0]
    for name, tensor, node in (("x", x, accumulator), ("y", y, y.grad_fn)):
        tensor.register_hook(noting(seen, name))
        node.register_prehook(noting(seen, f"before {name}"))
        node.register_hook(noting(seen, f"behind {name}"))
    return x, y, y.sum()


OF_Y = [("y", [1.0]), ("before y", [1.0]), ("behind y", [1.0])]
OF_X = [("x", [2.0]), ("before x", [2.0]), ("behind x", [2.0])]


def test_backward_runs_the_nodes_of_its_inputs(m: Any) -> None:
    found = []
    for chosen in ("x", "y", "xy"):
        seen: list[Any] = []
        x, y, total = chain(m, seen)
        total.backward(inputs=[{"x": x, "y": y}[name] for name in chosen])
        found.append((seen, None if x.grad is None else x.grad.tolist(), y.grad.tolist() if "y" in chosen else None))
    assert found == [
        ([*OF_Y, *OF_X], [2.0], None), (OF_Y, None, [1.0]), ([*OF_Y, *OF_X], [2.0], [1.0]),
    ]  # fmt: skip


def test_grad_calls_only_the_tensor_hooks_of_its_inputs(m: Any) -> None:
    found = []
    for chosen in ("x", "y", "xy"):
        seen: list[Any] = []
        x, y, total = chain(m, seen)
        m.autograd.grad(total, [{"x": x, "y": y}[name] for name in chosen])
        found.append(seen)
    assert found == [[*OF_Y, OF_X[0]], OF_Y[:1], [*OF_Y, OF_X[0]]]


def test_hooks_off_the_path_to_the_inputs_are_not_called(m: Any) -> None:
    seen: list[Any] = []
    x, y = m.ones(1, requires_grad=True), m.ones(1, requires_grad=True)
    a, b = x * m.tensor([2.0]), y * m.tensor([3.0])
    for name, one in (("a", a), ("b", b), ("x", x), ("y", y)):
        one.register_hook(noting(seen, name))
    (a + b).sum().backward(inputs=[x])
    assert (seen, x.grad.tolist(), y.grad) == ([("a", [1.0]), ("x", [2.0])], [2.0], None)


REPLACEMENTS: dict[str, tuple[str, str, type[Exception] | None, str]] = {
    "a number by a tensor hook": ("y.register_hook", "lambda g: 3", TypeError, "int"),
    "other sizes": ("y.register_hook", "lambda g: g[0]", RuntimeError, "size"),
    "another dtype": ("y.register_hook", "lambda g: g.double()", RuntimeError, "type"),
    "a tensor for None": ("l[0].register_hook", "lambda g: m.zeros(())", RuntimeError, "None gradient"),
    "no tuple before": ("y.grad_fn.register_prehook", "lambda g: g[0]", TypeError, "expected tuple"),
    "a list before": ("y.grad_fn.register_prehook", "lambda g: [g[0]]", TypeError, "expected tuple"),
    "two before": ("y.grad_fn.register_prehook", "lambda g: (g[0], g[0])", RuntimeError, "got 2, but expected 1"),
    "sizes before": ("y.grad_fn.register_prehook", "lambda g: (g[0][0],)", RuntimeError, "size"),
    "tensors for None before": (
        "l[0].grad_fn.register_prehook", "lambda g: tuple(m.zeros(()) for _ in g)", RuntimeError, "None gradient",
    ),
    "no tuple behind": ("y.grad_fn.register_hook", "lambda g, h: g[0]", TypeError, "expected tuple"),
    "three behind": ("y.grad_fn.register_hook", "lambda g, h: (g[0],) * 3", RuntimeError, "got 3, but expected 2"),
    "a tensor for None behind": (
        "z.grad_fn.register_hook", "lambda g, h: (g[0], g[0])", RuntimeError, "None gradient",
    ),
    "None before": ("y.grad_fn.register_prehook", "lambda g: (None,)", None, ""),
    "None behind": ("y.grad_fn.register_hook", "lambda g, h: (None, None)", None, ""),
}  # fmt: skip


@pytest.mark.parametrize("case", REPLACEMENTS)
def test_hook_results_must_match_the_gradient(m: Any, case: str) -> None:
    register, hook, error, message = REPLACEMENTS[case]
    x = m.ones(2, requires_grad=True)
    y, z, parts = x * x, x * m.ones(2), x.unbind(0)
    eval(register, {"y": y, "z": z, "l": parts})(eval(hook, {"m": m}))
    total = y.sum() + z.sum() * 0 + parts[1] * 0
    if error is not None:
        with pytest.raises(error, match=message):
            total.backward()
        return
    total.backward()
    assert x.grad.tolist() == [0.0, 0.0]


def flags(m: Any, tensors: list[Any], mode: str = "all") -> list[Any]:
    """Return the calls of a hook on several tensors: which gradients each call got."""
    seen: list[Any] = []
    m.autograd.graph.register_multi_grad_hook(tensors, lambda grads: seen.append([g is not None for g in grads]))
    return seen


def test_a_hook_on_several_tensors_waits_for_those_that_the_pass_needs(m: Any) -> None:
    x = [m.full((1,), float(k), requires_grad=True) for k in range(3)]
    seen = flags(m, x)
    total = (x[0] * x[1] + x[2] * x[2]).sum()
    total.backward(retain_graph=True)
    for chosen in ([0], [1], [2], [0, 2]):
        total.backward(inputs=[x[k] for k in chosen], retain_graph=True)
    (x[0] * x[1]).sum().backward()
    assert seen == [
        [True, True, True], [True, False, False], [False, True, False], [False, False, True], [True, False, True],
        [True, True, False],
    ]  # fmt: skip


def test_a_hook_on_several_results_counts_those_without_gradient(m: Any) -> None:
    parts = m.ones(3, requires_grad=True).unbind(0)
    seen = flags(m, list(parts))
    m.autograd.grad(parts[0] + parts[1], parts[0])
    assert seen == [[True, True, False]]


def test_a_hook_on_several_tensors_still_runs_after_an_error(m: Any) -> None:
    seen: list[Any] = []
    x, y = m.ones(1, requires_grad=True), m.ones(1, requires_grad=True)
    x.register_hook(lambda g: 1 / 0 if not seen else None)
    m.autograd.graph.register_multi_grad_hook([y, x], lambda grads: seen.append(len(grads)))
    with pytest.raises(ZeroDivisionError):
        (x * y).sum().backward()
    seen.append("again")
    (x * y).sum().backward()
    assert seen == ["again", 2]


def test_a_hook_on_several_tensors_sees_roots_and_inputs_of_grad() -> None:
    # PyTorch refuses leaves in grad() and leaves roots out (erratum S-70).
    x = gb.ones(1, requires_grad=True)
    a, b = x * 2, x * 3
    seen = flags(gb, [a, b, x])
    gb.autograd.grad(a, x, retain_graph=True)
    gb.autograd.grad(a + b, b, retain_graph=True)
    a.backward(retain_graph=True)
    assert seen == [[True, False, True], [False, True, False], [True, False, True]]


def test_gradients_of_past_passes_are_freed() -> None:
    x, y = gb.ones(1, requires_grad=True), gb.ones(1, requires_grad=True)
    seen: list[Any] = []
    gb.autograd.graph.register_multi_grad_hook([x, y], lambda grad: seen.append(weakref.ref(grad)), mode="any")
    x.register_hook(lambda grad: seen.append(weakref.ref(grad)))
    for _ in range(3):
        gb.autograd.grad((x * 3 + y).sum(), [x, y])
    assert [one() for one in seen] == [None] * 6


def test_edges_are_accepted_for_tensors(m: Any) -> None:
    x = m.ones(2, requires_grad=True)
    y = x * 2
    edge, leaf = (m.autograd.graph.get_gradient_edge(one) for one in (y, x))
    assert m.autograd.grad((y * 3).sum(), edge)[0].tolist() == [3.0, 3.0]
    assert m.autograd.grad(edge, [x, leaf], m.ones(2), retain_graph=True)[1].tolist() == [2.0, 2.0]
    (y * 3).sum().backward(inputs=leaf)
    assert x.grad.tolist() == [6.0, 6.0]
