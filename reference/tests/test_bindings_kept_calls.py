"""Kept calls with operands of a subclass, and kept writes in place: as right the third time as the first."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import gaugeblock as gb
import pytest
from gaugeblock.calls.call_cache import ENABLED

from .cached import CACHED


class Opaque(gb.Tensor):
    """A subclass whose calls nothing overrides."""

    __torch_function__ = classmethod(gb.overrides._disabled_torch_function_impl)  # type: ignore[assignment]


@pytest.mark.parametrize(
    "call",
    [
        lambda x, y: x.copy_(y), lambda x, y: x + y, lambda x, y: x.add_(y), lambda x, y: gb.where(x > 0, x, y),
        lambda x, y: gb.add(x, y, out=x), lambda x, y: x.masked_fill(y > 0, 1.0), lambda x, y: x.lerp(x, y),
    ],
)  # fmt: skip
def test_entries_are_not_shared_by_sizes_of_a_subclass(call: Callable[[gb.Tensor, gb.Tensor], gb.Tensor]) -> None:
    other = gb.arange(1.0, 5.0).reshape(2, 2)
    for second in (other, other[:1], other.t()):
        for _ in range(3):
            expected = call(gb.zeros(2, 2), second)
            assert gb.equal(call(gb.zeros(2, 2), second.as_subclass(Opaque)), expected)
    with pytest.raises(RuntimeError, match="size of tensor"):
        call(gb.zeros(2, 2), gb.zeros(3, 2).as_subclass(Opaque))


def test_a_comparison_is_not_kept_for_the_strides_of_a_subclass() -> None:
    x, other = gb.arange(4.0), gb.arange(8.0).repeat_interleave(2)[::4]
    for _ in range(3):
        assert x.equal(gb.arange(4.0).as_subclass(Opaque)) and not x.equal(other.as_subclass(Opaque))
        assert x.equal(gb.stack([x, x + 1], -1)[:, 0].as_subclass(Opaque))


@CACHED
@pytest.mark.parametrize(
    ("name", "call", "expected"),
    [
        ("index_add_", lambda x, i: x.index_add_(0, i, gb.ones(2)), [0.0, 2.0, 1.0]),
        ("index_copy_", lambda x, i: x.index_copy_(0, i, gb.tensor([5.0, 7.0])), [0.0, 1.0, 7.0]),
        ("scatter_", lambda x, i: x.scatter_(0, i, gb.tensor([5.0, 7.0])), [0.0, 1.0, 7.0]),
        ("scatter_", lambda x, i: x.scatter_(0, i, 4.0), [0.0, 1.0, 4.0]),
        ("scatter_add_", lambda x, i: x.scatter_add_(0, i, gb.ones(2)), [0.0, 2.0, 1.0]),
        ("cumsum_", lambda x, i: x.cumsum_(0), [0.0, 1.0, 1.0]),
    ],
)
def test_in_place_writes_are_kept(
    name: str, call: Callable[[gb.Tensor, gb.Tensor], object], expected: list[float]
) -> None:
    for _ in range(3):
        x = gb.tensor([0.0, 1.0, 0.0])
        version = x._version
        one = gb.tensor([2, 2]) if expected[1] == 1.0 else gb.tensor([1, 2])
        assert call(x, one) is x
        assert (x.tolist(), x._version - version) == (expected, 1)
    kept = [entry for key, entry in x.meta.calls.items() if key[0] == name]
    assert kept and all(kept)


@CACHED
def test_kept_writes_at_places_refuse_what_the_first_call_refuses() -> None:
    x = gb.zeros(3)
    for _ in range(3):
        x.scatter_add_(0, gb.tensor([1]), gb.ones(1))
    with pytest.raises(RuntimeError, match="single memory location"):
        x.scatter_add_(0, gb.tensor([1]), x[1:2])
    with pytest.raises(RuntimeError, match="out of bounds"):
        x.scatter_add_(0, gb.tensor([3]), gb.ones(1))
    assert (x.tolist(), x._version) == ([0.0, 3.0, 0.0], 3)


@CACHED
@pytest.mark.parametrize("number", [float("inf"), float("-inf"), float("nan"), 65504.0])
@pytest.mark.parametrize(
    "call",
    [
        lambda x, n: gb.where(x > 0, x, n), lambda x, n: x.clamp(min=n), lambda x, n: x.masked_fill(x > 0, n),
        lambda x, n: gb.add(x, x, alpha=n), lambda x, n: x.clamp_(max=n),
    ],
)  # fmt: skip
def test_a_kept_call_takes_numbers_that_are_not_finite(
    call: Callable[[gb.Tensor, float], gb.Tensor], number: float
) -> None:
    for dtype in (gb.float16, gb.float32, gb.float64):
        first, *others = (call(gb.tensor([-1.0, 0.0, 2.0], dtype=dtype), number) for _ in range(4))
        for found in others:
            assert gb.equal(found.nan_to_num(7.0, 8.0, 9.0), first.nan_to_num(7.0, 8.0, 9.0))


@CACHED
def test_a_kept_call_refuses_finite_numbers_beyond_its_dtype() -> None:
    x = gb.tensor([-1.0, 2.0], dtype=gb.float16)
    for number in (-float("inf"), -1.0, -float("inf")):
        assert gb.where(x > 0, x, number).tolist() == [number, 2.0]
    with pytest.raises(RuntimeError, match="without overflow"):
        gb.where(x > 0, x, 65536.0)


@CACHED
@pytest.mark.parametrize(
    ("name", "call", "expected"),
    [
        ("pow", lambda x, n: gb.pow(n, x), [[1.0, 3.0, 9.0], [1.0, 0.5, 0.25]]),
        ("pow", lambda x, n: gb.pow(x, n), [[0.0, 1.0, 8.0], [0.0, 1.0, 2.0**0.5]]),
        ("remainder", lambda x, n: gb.remainder(n, x + 1), [[0.0, 1.0, 0.0], [0.5, 0.5, 0.5]]),
        ("xlogy", lambda x, n: gb.xlogy(n, x + 1), [[0.0, 3 * math.log(2), 3 * math.log(3)],
                                                     [0.0, 0.5 * math.log(2), 0.5 * math.log(3)]]),
    ],
)  # fmt: skip
def test_calls_that_may_begin_with_a_number_are_kept(
    name: str, call: Callable[[gb.Tensor, float], gb.Tensor], expected: list[list[float]]
) -> None:
    x = gb.arange(3, dtype=gb.float64)
    x.meta.calls.clear()
    for _ in range(3):
        for number, wanted in zip((3.0, 0.5), expected, strict=True):
            assert call(x, number).tolist() == pytest.approx(wanted)
    assert [bool(entry) for key, entry in x.meta.calls.items() if key[0] == name] == [True]


@CACHED
@pytest.mark.parametrize(
    ("name", "call", "numbers"),
    [
        ("celu", lambda x, n: gb.celu(x, n), (1.0, 0.5, -2.0)),
        ("softshrink", lambda x, n: gb.nn.functional.softshrink(x, n), (0.5, 1.0, 0.0)),
        ("nan_to_num", lambda x, n: gb.nan_to_num(x / 0, n), (0.0, -0.0, 1.0, 2.5)),
        ("polygamma", lambda x, n: gb.polygamma(n, x + 3), (0, 1, 2, 3)),
        ("isclose", lambda x, n: gb.isclose(x, x + 0.25, n), (0.0, 0.25, 1.0)),
        ("logit", lambda x, n: gb.logit(x.abs() / 8, n), (None, 0.25, 0.125)),
    ],
)
def test_entries_hold_the_values_of_numbers_that_decide_what_is_computed(
    name: str, call: Callable[[gb.Tensor, object], gb.Tensor], numbers: tuple[object, ...]
) -> None:
    x = gb.arange(-2.0, 2.0)
    x.meta.calls.clear()
    first, *others = [[str(call(x, number).tolist()) for number in numbers] for _ in range(3)]
    assert len(set(first)) == len(numbers) and others == [first, first]
    kept = [bool(entry) for key, entry in x.meta.calls.items() if key[0] == name]
    assert kept == [True] * len(numbers)


@CACHED
@pytest.mark.parametrize("name", ["complex", "polar", "rsub", "mse_loss", "kron", "fmod", "outer", "xlogy", "mul"])
def test_a_call_of_one_tensor_twice_serves_two_tensors(name: str) -> None:
    call = getattr(gb, name, None) or getattr(gb.nn.functional, name)
    first, second = gb.arange(1.0, 8.0), gb.arange(2.0, 16.0, 2.0)
    first.meta.calls.clear()
    for _ in range(2):
        call(first, first)
    found = call(first, second)
    first.meta.calls.clear()
    assert gb.equal(found, call(first, second))
    assert not gb.equal(found, call(second, second))


@CACHED
def test_a_write_of_one_tensor_twice_serves_two_tensors() -> None:
    x, y = gb.arange(1.0, 8.0), gb.ones(7)
    x.meta.calls.clear()
    assert x.clone().sub_(x).tolist() == [0.0] * 7
    z = x.clone()
    assert z.sub_(z) is z and z.tolist() == [0.0] * 7 and z._version == 1
    assert z.sub_(y).tolist() == [-1.0] * 7
    assert gb.sub(x, x, out=x) is x and x.tolist() == [0.0] * 7
    assert gb.sub(x, y, out=z).tolist() == [-1.0] * 7


@CACHED
def test_a_composite_kernel_is_noted_the_second_time() -> None:
    x, y = gb.arange(13.0), gb.ones(13)
    x.meta.calls.clear()
    kept = []
    for _ in range(3):
        assert gb.nn.functional.l1_loss(x, y, reduction="sum").item() == 67.0
        kept.append([bool(entry) for key, entry in x.meta.calls.items() if key[0] == "l1_loss"])
    assert kept == [[False], [True], [True]]


MODES = [(True, True, False, False, True, False), (False, False, True, True, False, True)]
"""Two sequences of calls: True where gradients are recorded."""
F = gb.nn.functional


@pytest.mark.parametrize("modes", MODES)
@pytest.mark.parametrize(
    "call",
    [
        lambda x: F.layer_norm(x, (4,), x[0], x[1]), lambda x: F.batch_norm(x, None, None, training=True),
        lambda x: gb.cat((x, x)), lambda x: gb.stack((x, x * 2)), lambda x: x.max(0).values, lambda x: x.T,
        lambda x: x.mT, lambda x: x.permute(1, 0), lambda x: x[gb.tensor([0, 1])], lambda x: x[:, gb.tensor([0, 1])],
        lambda x: x.unbind()[1], lambda x: x.chunk(2)[0], lambda x: x.reshape(-1), lambda x: x[0], lambda x: x[None],
        lambda x: F.mse_loss(x, x + 1), lambda x: x @ x, lambda x: x.sort().values, lambda x: x.clone().mul_(2),
        lambda x: F.cross_entropy(x, gb.tensor([0, 1, 2, 3])), lambda x: gb.einsum("ij,kj->ik", x, x),
        lambda x: F.max_pool1d(x, 2), lambda x: F.dropout(x, 0.0), lambda x: F.pad(x, (1, 1)), lambda x: x.H,
    ],
)  # fmt: skip
def test_calls_are_kept_apart_by_whether_they_are_recorded(
    call: Callable[[gb.Tensor], gb.Tensor], modes: tuple[bool, ...]
) -> None:
    plain = gb.arange(16.0).reshape(4, 4).sin()
    expected, x = call(plain), plain.clone().requires_grad_()
    for recorded in modes:
        with gb.set_grad_enabled(recorded):
            result = call(x)
        assert gb.allclose(result, expected) and result.stride() == expected.stride()
        assert (result is x, result._base is x) == (expected is plain, expected._base is plain)
        if recorded:
            assert result is x or result.grad_fn is not None
            x.grad = None
            result.sum().backward()
            assert x.grad is not None and x.grad.shape == x.shape
        else:
            assert result.grad_fn is None and result.requires_grad == (result is x or result._base is x)


@CACHED
def test_recorded_calls_of_kernels_made_of_operators_become_machine_code() -> None:
    x, weight = gb.rand(3, 5), gb.rand(7, 5, requires_grad=True)
    expected = (x + 0) @ weight.detach().T
    for _ in range(4):
        assert gb.allclose(F.linear(x, weight), expected)
    kept = [entry for key, entry in x.meta.calls.items() if key[0] == "linear" and weight.meta in key]
    assert [entry.__name__ for entry in kept] == ["recorded"]


def test_views_of_a_leaf_are_recorded_by_machine_code_whether_dims_are_given_or_not() -> None:
    x = gb.rand(2, 3, 5, requires_grad=True)
    for _ in range(3):
        for view, back in ((x.permute(2, 0, 1), (1, 2, 0)), (x.transpose(0, 2), (2, 1, 0)), (x.mT, (0, 2, 1))):
            x.grad = None
            weights = gb.arange(30.0).reshape(view.shape)
            (view * weights).sum().backward()
            assert x.grad is not None and gb.equal(x.grad, weights.permute(back))
    if ENABLED:
        kept = [entry.__name__ for key, entry in x.meta.calls.items() if key[0] in ("permute", "transpose")]
        assert kept == ["recorded", "recorded"]


COPIES = {
    "contiguous": lambda x: x.contiguous(),
    "channels last": lambda x: x.contiguous(memory_format=gb.channels_last),
    "reshape": lambda x: x.reshape(-1, 4),
    "flatten": lambda x: x.flatten(1),
    "ravel": lambda x: x.ravel(),
    "reshape_as": lambda x: x.reshape_as(gb.ones(24)),
}


@pytest.mark.parametrize("name", COPIES)
@pytest.mark.parametrize("dtype", [gb.float32, gb.int8, gb.complex64], ids=str)
def test_copies_of_views_are_kept_and_stay_copies(name: str, dtype: Any) -> None:
    copy = COPIES[name]
    for start in (0, 1, 50):
        x = gb.arange(start, start + 24).reshape(2, 3, 2, 2).to(dtype).transpose(0, 3)
        expected = copy(gb.tensor(x.tolist(), dtype=dtype))
        found = copy(x)
        assert found.tolist() == expected.tolist()
        assert found.size() == expected.size() and found._version == 0
        assert found._is_view() == (name == "ravel")  # a view of its copy, as in PyTorch
        found.fill_(9)
        assert x.tolist() == gb.arange(start, start + 24).reshape(2, 3, 2, 2).to(dtype).transpose(0, 3).tolist()


def test_copies_resolve_conjugation() -> None:
    for numbers in ([1 + 2j, 3 - 4j], [5 + 6j, 7j]):
        x = gb.tensor(numbers).reshape(1, 2).t().conj().expand(2, 2).t()
        assert x.is_conj() and not x.contiguous().is_conj()
        assert x.contiguous().tolist() == [[one.conjugate() for one in numbers]] * 2


def test_kept_copies_record_for_tensors_that_need_gradients() -> None:
    for _ in range(3):
        plain = gb.arange(6.0).reshape(2, 3)
        assert not plain.t().contiguous().requires_grad
        x = plain.clone().requires_grad_()
        x.t().contiguous().mul(gb.arange(6.0).reshape(3, 2)).sum().backward()
        assert x.grad.tolist() == [[0.0, 2.0, 4.0], [1.0, 3.0, 5.0]]
        with gb.no_grad():
            assert not x.t().reshape(6).requires_grad and x.t().reshape(6).tolist() == [0, 3, 1, 4, 2, 5]


def test_products_of_tensors_that_blas_cannot_take() -> None:
    for start in (0.0, 1.0, 2.0):
        x, y = gb.arange(start, start + 48).reshape(2, 4, 6)[:, ::2, ::2], gb.arange(24.0).reshape(2, 4, 3).mT
        assert gb.bmm(x, y).tolist() == gb.bmm(x.contiguous(), y.contiguous()).tolist()
        left, right = gb.arange(start, start + 16).reshape(4, 4)[::2, ::2], gb.arange(16.0).reshape(4, 4)[::2, 1::2]
        (a, b), (c, d) = left.tolist()
        assert (left @ right).tolist() == [[a * 1 + b * 9, a * 3 + b * 11], [c * 1 + d * 9, c * 3 + d * 11]]


WRITES = {
    "scatter": lambda x, i, s: x.scatter(1, i, s),
    "scatter of a number": lambda x, i, s: x.scatter(1, i, 5.0),
    "scatter_add": lambda x, i, s: x.scatter_add(1, i, s),
    "scatter that multiplies": lambda x, i, s: gb.scatter(x, 1, i, 3.0, reduce="multiply"),
    "index_add": lambda x, i, s: x.index_add(1, i[0], s),
    "index_copy": lambda x, i, s: x.index_copy(1, i[0], s),
    "index_fill": lambda x, i, s: x.index_fill(1, i[0], 2.5),
    "index_fill from the end": lambda x, i, s: x.index_fill(1, i[0] - 3, 2.5),
}


@pytest.mark.parametrize("name", WRITES)
def test_writes_at_places_of_strided_copies_are_kept(name: str) -> None:
    index = gb.tensor([[2, 0], [1, 2], [0, 1], [2, 1]])
    for start in (0.0, 10.0, 20.0):
        strided, source = gb.arange(start, start + 12).reshape(3, 4).t(), gb.arange(8.0).reshape(2, 4).t()
        before, found = strided.tolist(), WRITES[name](strided, index, source)
        expected = WRITES[name](strided.contiguous(), index, source.contiguous())
        assert found.tolist() == expected.tolist() and strided.tolist() == before
        assert found.is_contiguous() != name.startswith("index_fill")
    with pytest.raises((IndexError, RuntimeError)):
        WRITES[name](strided, index + 9, source)


def test_a_kept_vdot_conjugates() -> None:
    for numbers in ([1 + 2j, 3j], [2 - 1j, 4.0]):
        x = gb.tensor(numbers)
        assert gb.vdot(x, x).imag.item() == 0
        assert gb.vdot(x, gb.ones(2, dtype=x.dtype)).item() == sum(complex(one).conjugate() for one in numbers)


def test_resize_as_of_equal_sizes_changes_nothing() -> None:
    for _ in range(3):  # the first calls are kept
        x = gb.ones(3, 2)
        assert x.resize_as_(gb.zeros(3, 2)) is x and x._version == 0
        assert gb.ones(3, 2).resize_as_(gb.zeros(2, 2)).shape == (2, 2)
        turned = gb.ones(3, 2).resize_as_(gb.zeros(2, 3).t(), memory_format=gb.preserve_format)
        assert turned.stride() == (1, 3)


def test_unsafe_parts_have_versions_of_their_own() -> None:
    for _ in range(3):
        x = gb.arange(4.0)
        first, second = gb.unsafe_split(x, 2)
        first.add_(1)
        assert x.tolist() == [1, 2, 2, 3]
        assert (x._version, first._version, second._version) == (0, 1, 0)
        assert first._base is None and not first._is_view()
