"""Sizes seen for the first time run what another contiguous tensor of the dtype taught."""

from __future__ import annotations

from collections.abc import Callable

import gaugeblock as gb
import numpy as np
import pytest
from gaugeblock.bindings import carry

SIZES = [(3,), (5, 7), (1,), (2, 1, 3), (4097,), (0,), ()]


@pytest.mark.parametrize(
    ("function", "model"),
    [
        (lambda x: gb.neg(x), lambda a: -a),
        (lambda x: x + x, lambda a: a + a),
        (lambda x: x + 3, lambda a: a + 3),
        (lambda x: 2 - x, lambda a: 2 - a),
        (lambda x: x * 0.5, lambda a: a * np.float32(0.5)),
        (lambda x: x > 1, lambda a: a > 1),
        (lambda x: x.clone().add_(x), lambda a: a + a),
        (lambda x: x.clone().mul_(2), lambda a: a * 2),
        (lambda x: x.clone().neg_(), lambda a: -a),
    ],
)
def test_every_size_has_its_values(
    function: Callable[[gb.Tensor], gb.Tensor], model: Callable[[np.ndarray], np.ndarray]
) -> None:
    for sizes in SIZES:
        a = np.arange(np.prod(sizes, dtype=int), dtype=np.float32).reshape(sizes)
        result = function(gb.from_numpy(a))
        np.testing.assert_array_equal(result.numpy(), model(a))
        assert result.is_contiguous()


def test_a_new_size_gets_an_entry_without_planning() -> None:
    gb.exp(gb.ones(11))
    x = gb.ones(12, 13)
    assert carry.carry("exp", x.geometry) is not None
    assert carry.carry("exp", x.geometry) is None
    assert carry.carry("exp", gb.ones(12, 14).t().geometry) is None
    assert carry.carry("exp", gb.ones(15, device="meta").geometry) is None
    assert carry.carry("no such operator", gb.ones(16).geometry) is None


def test_in_place_counts_the_change() -> None:
    gb.ones(20).add_(gb.ones(20))
    x = gb.ones(21)
    x.add_(gb.ones(21)).add_(x)
    assert x.tolist() == [4.0] * 21
    assert x._version == 2


def test_overlapping_parts_of_one_storage_are_refused() -> None:
    gb.ones(30).add_(gb.ones(30))
    x = gb.ones(32)
    with pytest.raises(RuntimeError, match="single memory location"):
        x[:31].add_(x[1:])


def test_the_default_dtype_is_asked_every_time() -> None:
    try:
        assert (gb.ones(40, dtype=gb.int64) * 0.5).dtype is gb.float32
        gb.set_default_dtype(gb.float64)
        assert (gb.ones(41, dtype=gb.int64) * 0.5).dtype is gb.float64
    finally:
        gb.set_default_dtype(gb.float32)


def test_clones_keep_dense_strides() -> None:
    for sizes, order in [((2, 3), (1, 0)), ((4, 5, 6), (2, 0, 1)), ((1,), (0,)), ((7,), (0,))]:
        x = gb.arange(int(np.prod(sizes))).view(sizes).permute(order)
        for _ in range(2):
            assert x.clone().stride() == x.stride()
            assert x.clone().tolist() == x.tolist()
    odd = gb.arange(12).as_strided((1, 3), (7, 1), 2)
    assert odd.clone().stride() == odd.stride()
    gapped = gb.arange(12)[::2]
    for _ in range(2):
        assert gapped.clone().tolist() == [0, 2, 4, 6, 8, 10]
        assert gapped.clone(memory_format=gb.contiguous_format).stride() == (1,)
    assert odd.clone(memory_format=gb.preserve_format).stride() == odd.stride()
    assert odd.clone(memory_format=gb.contiguous_format).stride() == (3, 1)
    turned = gb.arange(6).view(2, 3).t()
    for _ in range(2):
        assert turned.clone(memory_format=gb.preserve_format).stride() == (1, 3)
        assert turned.clone(memory_format=gb.contiguous_format).stride() == (2, 1)
        assert turned.clone(memory_format=gb.contiguous_format).tolist() == [[0, 3], [1, 4], [2, 5]]
    lazy = gb.tensor([1 + 2j]).conj()
    for _ in range(2):
        assert lazy.clone(memory_format=gb.contiguous_format).tolist() == [1 - 2j]
        assert lazy.clone().tolist() == [1 - 2j]
    assert gb.ones(3).contiguous(memory_format=gb.contiguous_format).tolist() == [1.0] * 3
    with pytest.raises(TypeError, match="'memory_format'"):
        gb.ones(3).contiguous(3)  # type: ignore[attr-defined]


def test_a_format_that_keeps_the_strides_is_cloned_fast_and_still_told_to_modes() -> None:
    x = gb.arange(6.0).view(2, 3)
    x.clone()
    assert x.geometry.plans["clone"]
    copies = [x.clone(memory_format=one) for one in (gb.contiguous_format, gb.preserve_format)]
    assert all(copy.tolist() == x.tolist() and copy.data_ptr() != x.data_ptr() for copy in copies)
    seen: list[object] = []

    class Watching(gb.overrides.TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
            seen.append((kwargs or {}).get("memory_format"))
            return function(*args, **(kwargs or {}))

    with Watching():
        x.clone(memory_format=gb.contiguous_format)
    assert seen == [gb.contiguous_format]
    y = x.clone().requires_grad_()
    y.clone(memory_format=gb.contiguous_format).sum().backward()
    assert y.grad.tolist() == [[1.0] * 3] * 2
