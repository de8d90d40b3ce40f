"""Recorded calls in machine code do what the autograd kernels in Python do."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable
from typing import Any

import gaugeblock as gb
import pytest
from gaugeblock.autograd import forward_ad
from gaugeblock.autograd.recorded_call import Recorded
from gaugeblock.calls.call_cache import ENABLED
from gaugeblock.dispatch.dispatcher import REGISTRY, call
from gaugeblock.dispatch.keys import tensors_in

pytestmark = pytest.mark.skipif(not ENABLED, reason="without the call cache there are no recorded calls")

CALLS: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "a product": ("mul.Tensor", lambda x, y: (x, y)),
    "a factor": ("mul.Scalar", lambda x, y: (x, 2.5)),
    "a sum with the default alpha": ("add.Tensor", lambda x, y: (x, y)),
    "the same tensor twice": ("div.Tensor", lambda x, y: (x, x)),
    "the first needs no gradient": ("sub.Tensor", lambda x, y: (y.detach(), x)),
    "a result is kept": ("exp", lambda x, y: (x,)),
    "a number is kept": ("pow.Tensor_Scalar", lambda x, y: (x, 3)),
    "dims are kept": ("sum.dim_IntList", lambda x, y: (x, (1,), True)),
    "metadata is kept": ("sum", lambda x, y: (x,)),
    "a product of matrices": ("mm", lambda x, y: (x, y)),
    "a condition": ("where.self", lambda x, y: (y.detach() > 1, x, y)),
    "two results, one of them of indices": ("max.dim", lambda x, y: (x, 0)),
    "two results": ("var_mean.correction", lambda x, y: (x, (1,))),
    "three results": ("native_layer_norm", lambda x, y: (x, (2,), None, None, 1e-5)),
    "a view": ("t", lambda x, y: (x,)),
    "a view by numbers": ("transpose.int", lambda x, y: (x, 0, -1)),
    "a view of part": ("slice.Tensor", lambda x, y: (x, 1, 0, 1, 1)),
    "a view of a view": ("select.int", lambda x, y: (x.t(), 0, 1)),
    "a view of a result": ("view", lambda x, y: (x * 2.0, (4,))),
    "a view of sizes": ("expand", lambda x, y: (x.sum(1, keepdim=True), (2, 3))),
    "one of several views": ("mul.Tensor", lambda x, y: (x.unbind(0)[0], y)),
    "a view of one of several": ("transpose.int", lambda x, y: (x.chunk(2, 1)[0], 0, 1)),
    "a list": ("cat", lambda x, y: ([x, y.detach(), x, y],)),
    "a tuple": ("stack", lambda x, y: ((x, y), 1)),
    "a list of two dtypes": ("cat", lambda x, y: ([y.detach().double(), x], 1)),
    "a list of indices, which is kept": ("index.Tensor", lambda x, y: (x, [None, gb.tensor([1, 0, 1])])),
    "more tensors than a mask has bits": ("cat", lambda x, y: ([y.detach()] * 70 + [x, y] * 40,)),
    "several views": ("split.Tensor", lambda x, y: (x, 1)),
    "more views than a mask has bits": ("unbind.int", lambda x, y: (x.repeat(40, 1), 0)),
    "several views of a result": ("split_with_sizes", lambda x, y: (x * 2.0, [1, 1], -1)),
    "several views of one of several": ("unbind.int", lambda x, y: (x.unbind(0)[1], 0)),
    "several results that are no views": ("unsafe_split.Tensor", lambda x, y: (x, 1, 1)),
    "complex numbers": ("mul.Tensor", lambda x, y: (gb.view_as_complex(x), gb.view_as_complex(y))),
    "a view of the sizes of another tensor": ("expand_as", lambda x, y: (x[0], y)),
    "a view whose sizes a recorded tensor has": ("view_as", lambda x, y: (x, y.reshape(4))),
    "a view of part at a place in a tensor": ("narrow.Tensor", lambda x, y: (x, 1, gb.tensor(1), 1)),
    "an optional tensor": ("native_layer_norm", lambda x, y: (x, (2,), y[0].detach(), None, 1e-5)),
}


def operands() -> tuple[gb.Tensor, gb.Tensor]:
    x = gb.tensor([[1.0, -2.0], [0.5, 4.0]], requires_grad=True)
    return x, gb.tensor([[3.0, 1.0], [2.0, -1.0]], requires_grad=True) * 1


def kept(x: gb.Tensor) -> list[Any]:
    """The recorded calls that the cache keeps for a first argument like x."""
    return [entry for entry in x.meta.calls.values() if isinstance(getattr(entry, "__self__", None), Recorded)]


def vars_of(state: Any) -> tuple[Any, ...]:
    """The members of a state of a view."""
    return state.version, state.creation, state.maker, state.output_nr


def seen(value: Any) -> Any:
    """A saved value in a form that can be compared."""
    if isinstance(value, tuple):
        return tuple(map(seen, value))
    return value.tolist() if isinstance(value, gb.Tensor) else value


def first_of(arguments: Any) -> gb.Tensor:
    """The first tensor among arguments, that of a list too."""
    return next(iter(tensors_in(arguments)))


def looks(result: Any) -> list[Any]:
    """All that can be seen of results and of their node."""
    results = result if isinstance(result, tuple) else (result,)
    [node] = {one.grad_fn for one in results if one.grad_fn is not None}
    states = [one.autograd and one.autograd.view for one in results]
    views = [state and (one._base.shape, *vars_of(state)) for one, state in zip(results, states, strict=True)]
    saved = {name: getattr(node, name) for name in dir(node) if name.startswith("_saved_")}
    shown = [(one.tolist(), one.stride(), one.dtype, one.requires_grad, one.output_nr, one._version) for one in results]
    return [
        type(result).__name__, shown, views, node.name(), [type(one) for one, _ in node.next_functions],
        [nr for _, nr in node.next_functions], [(meta.sizes, meta.dtype) for meta in node.metas],
        {name: seen(value) for name, value in saved.items()},
    ]  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_what_is_recorded_is_what_the_kernel_records(name: str) -> None:
    operator, arguments_of = CALLS[name]
    x, y = operands()
    run = REGISTRY.bind_operator(REGISTRY.find(operator))
    run(*arguments_of(x, y))
    arguments = arguments_of(x, y)
    assert kept(first_of(arguments))
    expected = looks(call(REGISTRY.find(operator), *arguments))
    assert looks(run(*arguments)) == expected


@pytest.mark.parametrize("name", CALLS)
def test_gradients_and_their_gradients_are_the_kernels(name: str) -> None:
    operator, arguments_of = CALLS[name]
    x, y = operands()
    run = REGISTRY.bind_operator(REGISTRY.find(operator))
    found = []
    for function in (run, run, run, lambda *given: call(REGISTRY.find(operator), *given)):
        result = function(*arguments_of(x, y))
        parts = result if isinstance(result, tuple) else (result,)
        parts = [gb.view_as_real(one) if one.is_complex() else one for one in parts if one.requires_grad]
        [grad] = gb.autograd.grad(sum((one * one).sum() for one in parts), x, create_graph=True)
        [second] = gb.autograd.grad((grad * grad).sum(), x, allow_unused=True)
        found.append((grad.tolist(), None if second is None else second.tolist()))
    assert all(one == found[0] for one in found)


@pytest.mark.parametrize("public", ["t", "transpose", "select", "narrow", "diagonal", "unsqueeze", "[]", "permute"])
def test_views_are_those_of_each_calls_numbers(public: str) -> None:
    takes = {
        "t": [()], "transpose": [(0, 1), (-1, 0), (0, 0)], "select": [(0, 1), (0, 0), (1, 2), (1, -1)],
        "narrow": [(0, 0, 1), (1, 1, 2), (1, 0, 3)], "diagonal": [(), (1,), (-1, 0, 1), (0, 1, 0)],
        "unsqueeze": [(0,), (1,), (-1,)], "permute": [(0, 1), (1, 0)],
        "[]": [(0,), (1,), (slice(1),), (slice(None, None, 2),), ((slice(None), 1),), ((slice(None), slice(1, 3)),)],
    }[public]  # fmt: skip
    data = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
    x, plain = gb.tensor(data, requires_grad=True), gb.tensor(data)
    name = "__getitem__" if public == "[]" else public
    for given in takes * 3:
        view, expected = getattr(x, name)(*given), getattr(plain, name)(*given)
        assert (view.tolist(), view.stride()) == (expected.tolist(), expected.stride())
        assert view._base is x
        x.grad = None
        (view * view).sum().backward()
        plain_grad = gb.zeros(2, 3)
        getattr(plain_grad, name)(*given).add_(2 * expected)
        assert x.grad is not None
        assert x.grad.tolist() == plain_grad.tolist()


def test_a_recorded_view_is_written_through() -> None:
    for _ in range(4):
        x = gb.ones(2, 3, requires_grad=True)
        y = x * 2.0
        row = y.t().select(0, 1)
        row.mul_(5.0)
        assert row.grad_fn.name() == "AsStridedBackward0"
        y.sum().backward()
        assert x.grad is not None
        assert x.grad.tolist() == [[2.0, 10.0, 2.0]] * 2
        with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad"):
            x.t().add_(1.0)


def test_a_view_of_one_of_several_views_may_not_be_written_to() -> None:
    for _ in range(4):
        part = (gb.ones(2, 3, requires_grad=True) * 1.0).unbind(0)[0]
        with pytest.raises(RuntimeError, match="multiple views"):
            part.unsqueeze(0).add_(1.0)


def test_one_of_several_views_is_recorded_by_machine_code() -> None:
    x, _ = operands()
    for _ in range(4):
        part = x.chunk(2, 1)[0]
        part.exp()
    result = next(entry for key, entry in part.meta.calls.items() if key[0] == "exp")(part)
    assert result.grad_fn.name() == "ExpBackward0"
    y = x * 1.0
    product = y.chunk(2, 1)[0] * y.chunk(2, 1)[0]
    with gb.no_grad():
        y.add_(1.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.sum().backward()


def test_edges_lead_to_one_accumulator_as_long_as_it_lives() -> None:
    x, y = gb.ones(3, requires_grad=True), gb.ones(3)
    for _ in range(3):
        one, other = x * y, x * y
        assert one.grad_fn.next_functions[0][0] is other.grad_fn.next_functions[0][0]
        assert one.grad_fn.next_functions[1] == (None, 0)
        del one, other
    (x * y).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [1.0, 1.0, 1.0]


def test_nodes_are_numbered_in_the_order_of_their_calls() -> None:
    x = gb.ones(3, requires_grad=True)
    results = [x * 2.0, call(REGISTRY.find("mul.Scalar"), x, 2.0), x * 2.0, x * 2.0]
    numbers = [one.grad_fn._sequence_nr() for one in results]
    assert numbers == sorted({*numbers})


def test_numbers_are_those_of_each_call() -> None:
    x = gb.tensor([1.0, 2.0], requires_grad=True)
    for number in (2.0, 3.0, 5, 0.5):
        result = x.mul(number) + x**number
        assert result.tolist() == [number + 1.0, pytest.approx(2 * number + 2.0**number)]
        [grad] = gb.autograd.grad(result.sum(), x)
        assert grad.tolist() == pytest.approx([2 * number, number + number * 2.0 ** (number - 1)])


def test_numbers_that_are_left_out_are_the_defaults() -> None:
    x = gb.tensor([0.5, -30.0, 30.0], requires_grad=True)
    for _ in range(3):
        found = [gb.nn.functional.softplus(x, *given) for given in ((), (1, 20), (2.0,), (2.0, 5.0), ())]
    assert len(kept(x)) >= 3 and found[0].tolist() == found[1].tolist() == found[4].tolist()
    assert found[2].tolist() == found[3].tolist() != found[0].tolist()
    for one, slope in ((found[0], 1.0), (found[2], 2.0)):
        (grad,) = gb.autograd.grad(one.sum(), x)
        assert grad.tolist() == pytest.approx(gb.sigmoid(x.detach() * slope).tolist())


def test_nothing_is_recorded_without_a_tensor_that_requires_a_gradient() -> None:
    x = gb.ones(3, requires_grad=True)
    for _ in range(3):
        x * 2.0
    x.requires_grad_(False)
    assert (x * 2.0).grad_fn is None
    x.requires_grad_(True)
    assert (x * 2.0).grad_fn is not None


def test_nothing_is_recorded_in_no_grad_nor_during_a_backward_pass() -> None:
    x = gb.ones(3, requires_grad=True)
    seen = []

    def look(grad: gb.Tensor) -> None:
        seen.append((x * 2.0).grad_fn)

    for _ in range(3):
        y = x * 2.0
        y.register_hook(look)
        y.sum().backward()
        with gb.no_grad():
            assert (x * 2.0).grad_fn is None
        with gb.inference_mode():
            assert (x * 2.0).grad_fn is None
    assert seen == [None] * 3


def test_another_thread_records_while_one_does_not() -> None:
    x = gb.ones(3, requires_grad=True)
    for _ in range(3):
        x * 2.0
    found: list[Any] = []
    with gb.no_grad():
        thread = threading.Thread(target=lambda: found.append((x * 2.0).grad_fn))
        thread.start()
        thread.join()
        assert (x * 2.0).grad_fn is None
    assert found[0] is not None


def test_hooks_pack_what_is_saved() -> None:
    x, packed = gb.ones(3, requires_grad=True), []
    for _ in range(3):
        x * x
    with gb.autograd.graph.saved_tensors_hooks(lambda one: packed.append(one) or one, lambda one: one):
        (x * x).sum().backward()
    assert len(packed) == 2
    (x * x).sum().backward()
    assert len(packed) == 2


def test_anomaly_mode_tells_where_a_call_was_made() -> None:
    x = gb.zeros(1, requires_grad=True)
    for _ in range(3):
        x.sqrt()
    with gb.autograd.set_detect_anomaly(True):
        y = x.sqrt() * 0.0
        assert "traceback_" in y.grad_fn.metadata
        with pytest.warns(UserWarning, match="Traceback"), pytest.raises(RuntimeError, match="nan"):
            y.backward()
    assert "traceback_" not in (x * 2.0).grad_fn.metadata


def test_tangents_are_carried() -> None:
    x = gb.ones(3, requires_grad=True)
    for _ in range(3):
        x * 2.0
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, gb.full((3,), 5.0))
        assert forward_ad.unpack_dual(dual * 2.0).tangent.tolist() == [10.0] * 3
    assert (x * 2.0).grad_fn is not None


def test_views_get_the_history_of_what_was_written_to_their_base() -> None:
    for _ in range(3):
        x = gb.ones(3, requires_grad=True)
        base = x * 1.0
        view = base[1:]
        base.mul_(3.0)
        (view * 2.0).sum().backward()
        assert x.grad is not None
        assert x.grad.tolist() == [0.0, 6.0, 6.0]


def test_a_write_to_what_was_saved_is_an_error() -> None:
    x, y = gb.ones(3, requires_grad=True), gb.ones(3)
    for _ in range(3):
        result = x * y
    y.add_(1.0)
    with pytest.raises(RuntimeError, match="is at version 1; expected version 0"):
        result.sum().backward()
    result = x.exp()
    with gb.no_grad():
        result.add_(1.0)
    with pytest.raises(RuntimeError, match="is at version 1; expected version 0"):
        result.sum().backward()


def test_subclasses_and_modes_see_the_calls() -> None:
    class Mine(gb.Tensor):
        pass

    x = gb.ones(3, requires_grad=True)
    for _ in range(3):
        x * x
    assert type(x.as_subclass(Mine) * x) is Mine
    assert (x.as_subclass(Mine) * x).grad_fn is not None


def test_a_call_of_a_list_is_of_the_tensors_it_is_given() -> None:
    x, y = (gb.tensor([[[[[values]]]]], requires_grad=True) for values in ([1.0, 2.0, 3.0], [4.0, 5.0, 6.0]))
    run = REGISTRY.bind_operator(REGISTRY.find("cat"))
    for _ in range(3):
        run([x, y])
    [record] = kept(x)
    assert record([x, y]).flatten().tolist() == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    assert record((y, x)).flatten().tolist() == [4.0, 5.0, 6.0, 1.0, 2.0, 3.0]
    for other in ([x], x, iter([x, y]), [x, 1.0], []):
        assert record(other) is None


def test_a_view_that_is_no_change_is_the_tensor_itself() -> None:
    x, _ = operands()
    for _ in range(4):
        for same in (x.conj(), +x, x.resolve_conj(), x.resolve_neg(), x.real, gb.atleast_2d(x), x.to("cpu"), x.float()):
            assert same is x
        with gb.no_grad():
            assert x.conj() is x


def test_calls_leave_nothing_behind() -> None:
    x, y = gb.ones(3, requires_grad=True), gb.ones(3)
    node = (x * y).grad_fn
    watched = [x, y, x.meta, x.meta.twin, y.meta, type(node), x.autograd, x.autograd.plain, x.autograd.more]
    del node

    def run(times: int) -> None:
        for _ in range(times):
            x * y
            x.exp()
            x.max(0)
            gb.cat([x, y, x])[1:3]
            x.unbind(0)
            gb.stack([x, x]).split(1)
            with gb.no_grad():
                x * y
            (x * y).sum().backward()
        x.grad = None
        gc.collect()

    run(10)
    before = [*map(sys.getrefcount, watched)], len(gc.get_objects())
    run(300)
    after = [*map(sys.getrefcount, watched)], len(gc.get_objects())
    assert max(abs(one - other) for one, other in zip(before[0], after[0], strict=True)) < 20
    assert abs(before[1] - after[1]) < 200
