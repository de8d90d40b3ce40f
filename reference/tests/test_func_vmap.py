"""vmap: the same as a loop over the examples, for every operator; dims, randomness and errors; derivatives in it."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import gaugeblock as gb
import numpy as np
import pytest
from gaugeblock.func import (
    functional_call,
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    stack_module_state,
    vjp,
    vmap,
)
from gaugeblock.operators.rows import Row, rows
from gaugeblock.tensor.hooks import SPECIAL
from hypothesis import given, settings
from hypothesis import strategies as st

NOT_MAPPED = frozenset({"random", "factory", "query", "metadata"})
REFUSED = frozenset(
    """nonzero argwhere masked_select _unique2 unique_dim unique_consecutive bincount where repeat_interleave.Tensor
    repeat_interleave.self_Tensor one_hot tensor_split.tensor_indices_or_sections""".split()
)


def x() -> Any:
    return gb.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


def flat(result: Any) -> list[Any]:
    if isinstance(result, (tuple, list)):
        return [one for part in result for one in flat(part)]
    return [result]


def operator_of(row: Row) -> Any:
    base, _, overload = row.name.partition(".")
    return getattr(getattr(gb.ops.aten, base), overload or "default")


def numbers(tensor: Any) -> np.ndarray[Any, Any]:
    return np.array(tensor.tolist(), dtype=complex if tensor.dtype.is_complex else float)


def other_example(tensor: Any) -> Any:
    """Another tensor of the same sizes and dtype; integers stay, since they may be places."""
    if tensor.dtype is gb.bool:
        return ~tensor
    return tensor.flip(0) if tensor.ndim and tensor.dtype is not gb.int64 else tensor * 1


@pytest.mark.parametrize("name", [row.name for row in rows().values() if row.family not in NOT_MAPPED])
@pytest.mark.filterwarnings("ignore")
def test_every_operator_is_mapped_as_by_a_loop(
    name: str, operator_samples: dict[str, list[str]], sample_names: Any
) -> None:
    if any(word in name for word in ("dropout", "rrelu", "empty")):
        return
    function, tensors = operator_of(rows()[name]), sample_names(gb, "cpu")
    for call in operator_samples[name]:
        used = [key for key in tensors if isinstance(tensors[key], gb.Tensor) and re.search(rf"\b{key}\b", call)]
        for mapped in (used, used[:1], used[1:2]):
            if mapped and not (mapped is not used and len(used) < 2):
                check_mapped(name, function, call, sample_names, mapped)


def check_mapped(name: str, function: Any, call: str, sample_names: Any, mapped: list[str]) -> None:
    """Expect of a call with these names mapped what a loop gives, where a loop gives tensors that can be stacked."""
    examples = []
    for place in range(2):
        names = sample_names(gb, "cpu")
        examples.append(names | {key: other_example(names[key]) if place else names[key] for key in mapped})
    batches = [gb.stack([one[key] for one in examples]) for key in mapped]
    base = sample_names(gb, "cpu")

    def run(*given: Any) -> Any:
        found = eval(f"F({call})", base | dict(zip(mapped, given, strict=True)) | {"F": function})
        return tuple(flat(found))

    try:
        want = [flat(eval(f"F({call})", one | {"F": function})) for one in examples]
    except Exception:
        return  # the call itself is refused
    writes = function._schema.arguments[0].alias_info is not None and function._schema.arguments[0].alias_info.is_write
    if name in REFUSED or (writes and mapped[0] not in call.split(",")[0]):
        with pytest.raises(RuntimeError):
            vmap(run)(*batches)
        return
    got = vmap(run)(*batches)
    for place, result in enumerate(got):
        for row, wanted in zip(result, (one[place] for one in want), strict=True):
            assert row.dtype is wanted.dtype and row.shape == wanted.shape, call
            np.testing.assert_allclose(numbers(row), numbers(wanted), rtol=1e-4, atol=1e-5, err_msg=call)


@given(
    sizes=st.lists(st.integers(0, 3), max_size=3), batch=st.integers(0, 3), where=st.integers(-4, 3),
    out=st.integers(-4, 3),
)  # fmt: skip
def test_dims_of_arguments_and_results(sizes: list[int], batch: int, where: int, out: int) -> None:
    rank = len(sizes) + 1
    where, out = where % (2 * rank) - rank, out % (2 * rank) - rank
    whole = gb.randn(*sizes[: where % rank], batch, *sizes[where % rank :])
    seen = []

    def add_one(one: Any) -> Any:
        seen.append(tuple(one.shape))
        return one + 1

    got = vmap(add_one, in_dims=where, out_dims=out)(whole)
    assert seen == [tuple(sizes)]
    np.testing.assert_array_equal(got.numpy(), (whole + 1).movedim(where, out).numpy())


def test_golden() -> None:
    assert vmap(gb.dot)(x(), x()).tolist() == [14, 77]
    assert vmap(gb.dot, in_dims=(0, None))(x(), gb.ones(3)).tolist() == [6, 15]
    assert vmap(lambda a: a.sum(), in_dims=1)(x()).tolist() == [5, 7, 9]
    assert vmap(vmap(lambda a, b: a * b, in_dims=(0, None)), in_dims=(None, 0))(
        gb.arange(3), gb.arange(2)
    ).tolist() == [
        [0, 0, 0],
        [0, 1, 2],
    ]
    mapped = vmap(lambda d: (d["a"] * 2, [d["b"]]), in_dims=({"a": 0, "b": None},))
    assert mapped({"a": gb.ones(2), "b": 3 * gb.ones(1)})[1][0].tolist() == [[3], [3]]
    assert vmap(lambda a, *, b: a + b)(x(), b=gb.tensor([10.0, 20.0])).tolist() == [[11, 12, 13], [24, 25, 26]]
    assert vmap(lambda a: gb.zeros(2))(x()).tolist() == [[0, 0], [0, 0]]
    assert vmap(lambda a: gb.tensor([1.0]), out_dims=None)(x()).tolist() == [1]
    assert vmap(lambda a: {"k": a}, out_dims={"k": 1})(x())["k"].shape == (3, 2)
    assert vmap(lambda a: a[1:].t())(gb.ones(2, 3, 4)).shape == (2, 4, 2)
    assert vmap(gb.sin)(gb.ones(0, 3)).shape == (0, 3)
    assert vmap(gb.linalg.cross, (0, None))(gb.ones(0, 3), gb.ones(3)).shape == (0, 3)


def test_zero_dim_examples_promote_as_zero_dim_tensors() -> None:
    whole = gb.tensor([1.0, 2.0], dtype=gb.float64)
    assert vmap(lambda a: a * gb.ones(2))(whole).dtype is gb.float32
    assert vmap(lambda a: a * gb.ones(2, dtype=gb.int32))(whole).dtype is gb.float64
    assert vmap(lambda a: a + 1j)(whole.float()).dtype is gb.complex64


@pytest.mark.parametrize("chunk", [1, 2, 3, 7])
def test_chunks_give_the_same(chunk: int) -> None:
    whole = gb.randn(7, 3)
    got = vmap(lambda a: (a.cumsum(0), a.max()), out_dims=(1, 0), chunk_size=chunk)(whole)
    assert gb.equal(got[0], whole.cumsum(1).t()) and gb.equal(got[1], whole.amax(1))


def test_writes_reach_the_batch() -> None:
    whole = x()
    got = vmap(lambda a: a.mul_(2).add_(1))(whole)
    assert whole.tolist() == got.tolist() == [[3, 5, 7], [9, 11, 13]]

    def zero_first(a: Any) -> Any:
        a[0] = 0
        a[1:].fill_(7)
        return a

    vmap(zero_first)(whole)
    assert whole.tolist() == [[0, 7, 7], [0, 7, 7]]
    with pytest.raises(RuntimeError, match="`self` does not"):
        vmap(lambda a: gb.zeros(3).add_(a))(whole)
    with pytest.raises(RuntimeError, match=r"out= or views"):
        vmap(lambda a: gb.sin(a, out=gb.zeros(3)))(whole)


def test_randomness() -> None:
    whole = gb.zeros(4, 3)
    with pytest.raises(RuntimeError, match="randomness error mode"):
        vmap(lambda a: a + gb.rand(3))(whole)
    assert vmap(lambda a: gb.nn.functional.dropout(a, training=False))(whole).tolist() == whole.tolist()
    for draw in (
        lambda a: a + gb.rand(3),
        lambda a: a.clone().normal_(),
        gb.rand_like,
        lambda a: (a + 0.5).bernoulli(),
    ):
        gb.manual_seed(1)
        same = vmap(draw, randomness="same")(whole)
        different = vmap(draw, randomness="different")(gb.zeros(40, 3))
        assert all(gb.equal(row, same[0]) for row in same) and len({str(row.tolist()) for row in different}) > 2
    with pytest.raises(RuntimeError, match="different inplace randomness"):
        vmap(lambda a: gb.zeros(3).uniform_() + a, randomness="different")(whole)
    assert vmap(lambda a: a + gb.zeros(3).uniform_(), randomness="same")(whole).shape == (4, 3)
    gb.manual_seed(7)
    kept = vmap(lambda a: gb.nn.functional.dropout(a + 1), randomness="same")(whole)
    assert all(gb.equal(row, kept[0]) for row in kept)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda a: a.sum().item(), "calling .item()"), (lambda a: a if a.sum() > 0 else -a, "calling .item()"),
        (lambda a: a.nonzero(), "dynamic shape"), (lambda a: a[a > 0], "mask picks"),
        (lambda a: a.masked_select(a > 0), "dynamic shape"), (lambda a: a.unique(), "dynamic shape"),
        (lambda a: gb.equal(a, a), "one answer"), (lambda a: a.sum().is_nonzero(), "control flow"),
        (lambda a: a.tolist(), "no memory of its own"), (lambda a: a.numpy(), "no memory of its own"),
        (lambda a: a.data_ptr(), "no memory of its own"), (lambda a: int(a.sum()), "calling .item()"),
    ],
)  # fmt: skip
def test_what_depends_on_values_is_refused(call: Callable[..., Any], message: str) -> None:
    with pytest.raises(RuntimeError, match=re.escape(message)):
        vmap(call)(x())
    assert not SPECIAL


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: vmap(lambda: x())(), "got no inputs"), (lambda: vmap(gb.sin)(3.0), "non-Tensor arguments"),
        (lambda: vmap(gb.sin, in_dims=3)(x()), "-2 <= in_dim < 2"),
        (lambda: vmap(gb.add)(x(), x().t()), "sizes [2, 3]"),
        (lambda: vmap(gb.sin, in_dims=(None,))(x()), "at least one Tensor"),
        (lambda: vmap(gb.sin, in_dims=None)(x()), "NoneType"),
        (lambda: vmap(gb.sin, in_dims=(0, 0))(x()), "structure of `inputs`"),
        (lambda: vmap(gb.sin, in_dims=(0.5,))(x()), "integer"),
        (lambda: vmap(lambda a: 3.0)(x()), "must only return Tensors"),
        (lambda: vmap(lambda a: None)(x()), "must only return Tensors"),
        (lambda: vmap(lambda a: (a, a), out_dims=(0, 0, 0))(x()), "structure of `outputs`"),
        (lambda: vmap(lambda a: a, out_dims=None)(x()), "when out_dim is None"),
        (lambda: vmap(gb.sin, chunk_size=0)(x()), "chunk_size"),
        (lambda: vmap(gb.sin, out_dims="a")(x()), "`out_dims` must be"),
    ],
)  # fmt: skip
def test_wrong_dims_are_refused(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        call()
    with pytest.raises(RuntimeError, match="'error', 'different', or 'same'"):
        vmap(gb.sin, randomness="often")
    assert not SPECIAL


def test_an_example_is_shown_and_keeps_metadata() -> None:
    shown = []
    vmap(lambda a: (shown.append((repr(a), a.shape, a.dtype, a.stride(), a.requires_grad)), a)[1])(x())
    text, *facts = shown[0]
    assert text.startswith("BatchedTensor(lvl=1, bdim=0, value=") and facts == [(3,), gb.float32, (1,), False]


def test_derivatives_within_and_around() -> None:
    w = gb.tensor([2.0, 3.0])
    rows_ = gb.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])

    def loss(weight: Any, row: Any) -> Any:
        return (weight * row).sum() ** 2

    alone = gb.stack([grad(loss)(w, row) for row in rows_])
    assert alone.tolist() == [[16, 32], [108, 144], [280, 336]]
    assert vmap(grad(loss), in_dims=(None, 0))(w, rows_).tolist() == alone.tolist()
    assert grad(lambda weight: vmap(loss, in_dims=(None, 0))(weight, rows_).sum())(w).tolist() == alone.sum(0).tolist()
    found, value = vmap(grad_and_value(loss, argnums=1), in_dims=(None, 0))(w, rows_)
    assert value.tolist() == [64, 324, 784] and found[0].tolist() == [32, 48]
    assert vmap(grad(grad(lambda a: a**3)))(w).tolist() == [12, 18]
    assert vmap(vjp(lambda a: a * a, w)[1])(gb.eye(2))[0].tolist() == [[4, 0], [0, 6]]
    assert vmap(lambda v: jvp(lambda a: a * a, (w,), (v,))[1])(gb.eye(2)).tolist() == [[4, 0], [0, 6]]
    assert vmap(lambda a, v: jvp(lambda b: b * b, (a,), (v,))[1])(rows_, gb.ones(3, 2)).tolist() == (2 * rows_).tolist()
    leaf = gb.ones(2, requires_grad=True)
    vmap(lambda row: (row * leaf).sum())(rows_).sum().backward()
    assert leaf.grad.tolist() == [9, 12]


def test_jacobians() -> None:
    w = gb.tensor([2.0, 3.0])

    def func(a: Any) -> Any:
        return gb.stack([a.prod(), a.sum(), a[0] ** 3])

    assert jacrev(func)(w).tolist() == jacfwd(func)(w).tolist() == [[3, 2], [1, 1], [12, 0]]
    assert jacrev(func, chunk_size=2)(w).tolist() == [[3, 2], [1, 1], [12, 0]]

    def cubic(a: Any) -> Any:
        return a[0] ** 3 * a[1] ** 2

    for second in (hessian(cubic), jacrev(jacrev(cubic)), jacrev(jacfwd(cubic))):
        assert second(w).tolist() == [[108, 72], [72, 16]]
    assert vmap(hessian(cubic))(gb.stack([w, 2 * w]))[1].tolist() == [[864, 576], [576, 128]]
    for made in (jacrev, jacfwd):
        first, other = made(lambda a, b: a * b, argnums=(0, 1))(w, w + 1)
        assert first.tolist() == [[3, 0], [0, 4]] and other.tolist() == [[2, 0], [0, 3]]
        entries, aux = made(lambda a: ({"y": a * 2}, a * 3), has_aux=True)(w)
        assert entries["y"].tolist() == [[2, 0], [0, 2]] and aux.tolist() == [6, 9]


def test_many_modules_at_once() -> None:
    models = [gb.nn.Linear(3, 2) for _ in range(4)]
    parameters, buffers = stack_module_state(models)
    given_rows = gb.randn(5, 3)
    got = vmap(lambda p: functional_call(models[0], p, (given_rows,)))(parameters)
    assert buffers == {} and parameters["weight"].shape == (4, 2, 3) and parameters["weight"].requires_grad
    assert gb.allclose(got, gb.stack([model(given_rows) for model in models]), atol=1e-6)
    for models_, message in (([], "at least one"), ([gb.nn.Linear(1, 1), gb.nn.ReLU()], "same class")):
        with pytest.raises(RuntimeError, match=message):
            stack_module_state(models_)


@settings(max_examples=30)
@given(data=st.data())
def test_chains_of_views_and_arithmetic(data: Any) -> None:
    """Random programs give the same as a loop, also where a step sees a tensor that is the same for all examples."""
    steps = data.draw(
        st.lists(
            st.sampled_from(
                [
                    lambda a: a.t(), lambda a: a.unsqueeze(0).squeeze(0), lambda a: a.reshape(-1).reshape(3, 3),
                    lambda a: a @ a, lambda a: a + a[0], lambda a: a.softmax(-1), lambda a: a.flip(0),
                    lambda a: gb.cat([a[1:], gb.ones(1, 3)]), lambda a: a.cumsum(1) / 3, lambda a: a.clone().tril_(),
                    lambda a: gb.where(a > 0, a, gb.tensor(0.5)), lambda a: a - a.mean(), lambda a: a.sort(0)[0],
                    lambda a: a[:, gb.tensor([2, 0, 1])], lambda a: a.expand(2, 3, 3).sum(0) / 2,
                ]
            ),
            max_size=5,
        )
    )  # fmt: skip

    def program(a: Any) -> Any:
        for step in steps:
            a = step(a)
        return a

    whole = gb.randn(2, 3, 3, generator=gb.Generator().manual_seed(data.draw(st.integers(0, 9))))
    want = gb.stack([program(one) for one in whole])
    assert gb.allclose(vmap(program)(whole), want, rtol=1e-4, atol=1e-5, equal_nan=True)


def test_no_warning_and_no_trace_is_left() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        vmap(lambda a: gb.linalg.cross(a, a))(x())
    assert not SPECIAL and "FuncTorchVmapMode" not in str(gb.dispatch.tls_include_set())
