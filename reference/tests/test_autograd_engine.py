"""The engine and autograd kernels: order, counts, leaves, chains, threads, memory, errors."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import weakref
from typing import Any

import gaugeblock as gb
import pytest
from gaugeblock.autograd import Function, graph
from gaugeblock_tools import graph_picture


def leaf(*values: float) -> Any:
    return gb.tensor([float(value) for value in values], requires_grad=True)


def test_first_example() -> None:
    x, w, b = leaf(1, 2), leaf(3, 4), leaf(5, 6)
    (x * w + b).sum().backward()
    assert (x.grad.tolist(), w.grad.tolist(), b.grad.tolist()) == ([3, 4], [1, 2], [1, 1])


def test_a_gradient_may_be_assigned_before_anything_requires_one() -> None:
    code = "import gaugeblock as gb; x = gb.ones(2); x.grad = gb.zeros(2); print((x + 1).tolist(), x.sum().item())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[2.0, 2.0] 2.0\n"


def test_plain_tensors_are_not_recorded() -> None:
    x = gb.ones(3)
    y = x * 2
    assert (y.requires_grad, y.grad_fn, y.is_leaf, y.autograd) == (False, None, True, None)


def test_fast_paths_never_serve_tensors_with_autograd() -> None:
    plain, x = gb.ones(4), gb.ones(4, requires_grad=True)
    for _ in range(3):
        assert not (plain + plain).requires_grad and not plain.sum().requires_grad
        assert (x + plain).requires_grad and (plain + x).requires_grad and x.sum().requires_grad
        assert gb.cat([plain, x]).requires_grad and not gb.cat([plain, plain]).requires_grad
        assert gb.where(plain > 0, plain, x).requires_grad
        assert x[1:].requires_grad and x.view(2, 2).requires_grad and x.expand(2, 4).requires_grad
        assert x.double().requires_grad and x.clone().requires_grad and not x.detach().requires_grad


def test_gradients_of_a_program_of_views_and_writes() -> None:
    x = leaf(1, 2, 3)
    base = x * 1
    view = base[1:]
    view.mul_(10)
    base.add_(1)
    (base * view.sum()).sum().backward()
    # base is (x0 + 1, 10 x1 + 1, 10 x2 + 1), view its last two
    total, part = 2 + 21 + 31, 21 + 31
    assert x.grad.tolist() == [part, 10 * (part + total), 10 * (part + total)]


def test_views_made_before_the_base_was_recorded() -> None:
    base = gb.zeros(4)
    early = base[2:]
    base[:2] = leaf(5, 6) * 1
    assert early.requires_grad and base.requires_grad
    assert type(early.grad_fn).__name__ == "AsStridedBackward0"


def test_higher_derivatives() -> None:
    x = gb.tensor(2.0, requires_grad=True)
    found, value = [], x**3
    for _ in range(3):
        (value,) = gb.autograd.grad(value, x, create_graph=True)
        found.append(value.item())
    assert found == [12, 12, 6]


def test_a_long_chain_needs_no_recursion() -> None:
    x = leaf(1, 1)
    y = x
    for _ in range(20_000):
        y = y + 1
    y.sum().backward()
    assert x.grad.tolist() == [1, 1]
    del y


def test_nested_passes() -> None:
    class Nested(Function):
        @staticmethod
        def forward(ctx: Any, x: Any, depth: int) -> Any:
            ctx.depth = depth
            return x * 1

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            if ctx.depth:
                with gb.enable_grad():
                    inner = leaf(1.0)
                    Nested.apply(inner, ctx.depth - 1).sum().backward()
                grad = grad + inner.grad - 1
            return grad, None

    x = leaf(1.0)
    Nested.apply(x, 300).sum().backward()
    assert x.grad.tolist() == [1]


def test_every_node_runs_once_when_all_has_arrived() -> None:
    calls: list[list[float]] = []
    x = leaf(1, 2)
    shared = x * 2
    shared.register_hook(lambda grad: calls.append(grad.tolist()))
    (shared * 3 + shared.exp() + shared).sum().backward()
    assert len(calls) == 1


def test_latest_nodes_run_first() -> None:
    order: list[str] = []
    x = leaf(1.0)
    a = x * 2
    b, c = a * 3, a * 4
    d = b + c
    for name, one in (("a", a), ("b", b), ("c", c), ("d", d)):
        one.register_hook(lambda grad, name=name: order.append(name))
    d.backward()
    assert order == ["d", "c", "b", "a"]


def test_nothing_is_left_for_the_collector() -> None:
    x = gb.ones(1000, requires_grad=True)

    def step() -> weakref.ref[Any]:
        hidden = (x * 2).exp()
        seen = weakref.ref(hidden)
        hidden.sum().backward()
        x.grad = None
        return seen

    step()
    gc.disable()
    try:
        assert step()() is None
        gc.collect()
        before = _objects()
        for _ in range(50):
            step()
        assert _objects() == before
        assert gc.collect() == 0
    finally:
        gc.enable()


def _objects() -> int:
    return sum(isinstance(one, (gb.Tensor, graph.Node)) for one in gc.get_objects())


def test_passes_of_several_threads_add_up() -> None:
    x = gb.ones(8, requires_grad=True)

    def work() -> None:
        for _ in range(25):
            (x * 2).sum().backward()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert x.grad.tolist() == [200.0] * 8


def test_gradients_lie_as_their_leaves_do() -> None:
    x = gb.arange(6.0).reshape(2, 3).t().detach().requires_grad_()
    (x * 2).sum().backward()
    assert x.grad.stride() == x.stride()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: gb.ones(2, requires_grad=True).backward(), RuntimeError, "only for scalar outputs"),
        (lambda: gb.ones(()).backward(), RuntimeError, "does not require grad and does not have a grad_fn"),
        (lambda: gb.ones(2, requires_grad=True).add_(1), RuntimeError, "a leaf Variable that requires grad"),
        (lambda: gb.ones(2, requires_grad=True)[0].add_(1), RuntimeError, "a view of a leaf Variable"),
        (lambda: gb.ones(2, dtype=gb.int64).requires_grad_(), RuntimeError, "floating point and complex dtype"),
        (lambda: (leaf(1, 2) * 1).unbind()[0].mul_(2), RuntimeError, "Output 0 of Unbind is a view"),
        (lambda: gb.add(leaf(1), 1, out=gb.ones(1)), RuntimeError, "don't support automatic differentiation"),
        (lambda: (leaf(1) * 2).requires_grad_(False), RuntimeError, "leaf variables"),
        (lambda: graph(gb.ones(2)), RuntimeError, "argument 0 does not require grad"),
    ],
)
def test_errors(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_a_graph_is_freed_after_its_pass() -> None:
    x = leaf(1, 2)
    y = x.exp().sum()
    y.backward(retain_graph=True)
    y.backward()
    with pytest.raises(RuntimeError, match="a second time"):
        y.backward()


def test_a_saved_tensor_that_was_written_to() -> None:
    x = leaf(1, 2)
    y = x * 1
    z = (y * y).sum()
    y.add_(1)
    with pytest.raises(RuntimeError, match=r"modified by an inplace operation.*version 1; expected version 0"):
        z.backward()


def test_pictures_of_graphs() -> None:
    x = leaf(1, 2)
    shown = graph((x * x + x).sum())
    assert str(shown).splitlines()[:3] == ["SumBackward0 #0 []", "  AddBackward0 #1 [2]", "    MulBackward0 #2 [2]"]
    assert graph_picture.svg(shown).count("<rect") == len(shown) == 4
    assert graph_picture.dot(shown).count("->") == len(shown.edges)


def test_several_views_of_a_formerly_plain_base() -> None:
    base = gb.ones(2, 3)
    first, second = base.split(1)
    second.add_(1)
    assert (second._version, base._version) == (1, 1)
    base.mul_(gb.ones(2, 3, requires_grad=True))
    with pytest.raises(RuntimeError, match="Output 0 of Split is a view"):
        first.mul_(2)


def test_a_detached_one_of_several_views_may_be_written_to() -> None:
    detached = gb.zeros(2, 2).unbind(0)[0].detach()
    detached[0].add_(gb.ones((), requires_grad=True))
    assert (detached.requires_grad, detached._version) == (True, 1)


def test_operators_whose_public_function_has_arguments_of_its_own() -> None:
    x = leaf(1, 2, 3, 4)
    gb.cdist(x.view(2, 2), gb.zeros(1, 2), p=1.0).sum().backward()
    gb.norm(x, 1, 0).backward()
    assert x.grad.tolist() == [2, 2, 2, 2]
