"""Fast paths give what the general path gives, and are left when they must be."""

from __future__ import annotations

import gaugeblock as gb
import numpy as np
import pytest
from gaugeblock.dispatch.state import enter_special, leave_special

CASES = [
    ("x + y", ()), ("x - y", ()), ("x * 2.5", ()), ("2 - x", ()), ("x < y", ()), ("-x", ()), ("gb.exp(x)", ()),
    ("x.sum()", ()), ("x.max()", ()), ("gb.mean(x)", ()), ("x + z", ()), ("w + x", ()), ("x.t() + y.t()", ()),
    ("x.clone().add_(y)", ()), ("x.clone().mul_(3)", ()), ("x.clone().neg_()", ()), ("x[:, ::2] + y[:, ::2]", ()),
]  # fmt: skip


def operands() -> dict[str, object]:
    base = np.arange(12, dtype=np.float32).reshape(3, 4)
    return {
        "gb": gb, "x": gb.from_numpy(base.copy()), "y": gb.from_numpy(base[::-1].copy()),
        "z": gb.tensor([1.0, 2.0, 3.0, 4.0]), "w": gb.tensor(1.5),
    }  # fmt: skip


@pytest.mark.parametrize("expression", [case[0] for case in CASES])
def test_repeated_calls_agree_with_the_general_path(expression: str) -> None:
    enter_special()
    try:
        expected = eval(expression, operands())
    finally:
        leave_special()
    space = operands()
    for _ in range(4):
        found = eval(expression, space)
        assert found.tolist() == expected.tolist()
        assert (found.dtype, found.stride()) == (expected.dtype, expected.stride())
        assert found._version == expected._version


def test_default_dtype_is_not_baked_in() -> None:
    x = gb.tensor([1, 2])
    assert [(x + 1.5).dtype for _ in range(3)] == [gb.float32] * 3
    assert gb.exp(x).dtype is gb.float32
    gb.set_default_dtype(gb.float64)
    try:
        assert (x + 1.5).dtype is gb.float64 and gb.exp(x).dtype is gb.float64
    finally:
        gb.set_default_dtype(gb.float32)
    assert (x + 1.5).dtype is gb.float32


def test_results_do_not_share_memory() -> None:
    x = gb.ones(4)
    kept = [x + x for _ in range(50)]
    assert len({tensor.data_ptr() for tensor in kept}) == 50
    assert all(tensor.tolist() == [2.0] * 4 for tensor in kept)


def test_in_place_overlap_is_still_refused() -> None:
    base = gb.zeros(6)
    for _ in range(3):
        gb.zeros(5).add_(gb.zeros(5))
    with pytest.raises(RuntimeError, match="some elements of the input tensor"):
        base[:5].add_(base[1:])
    assert base._version == 0
    assert base.add_(base).tolist() == [0.0] * 6 and base._version == 1


def test_versions_rise_by_one_on_every_path() -> None:
    x = gb.ones(3)
    view = x.view(3)
    for count in range(1, 5):
        view.add_(1)
        assert x._version == view._version == count
    detached = x.data
    detached.add_(1)
    assert (x._version, detached._version) == (4, 1)


def test_wide_python_ints() -> None:
    small = gb.tensor([1], dtype=gb.int8)
    for _ in range(3):
        assert (small + 1000).tolist() == [-23]
        with pytest.raises((OverflowError, RuntimeError)):
            small + 2**70


def test_bool_numbers_and_subclasses_are_not_taken_for_ints() -> None:
    x = gb.tensor([True, False])
    for _ in range(3):
        assert (x + True).dtype is gb.bool
        assert (x + 1).dtype is gb.int64
        assert (gb.tensor([1.0]) + np.float64(2)).tolist() == [3.0]


def test_resized_storage_is_refused_not_read() -> None:
    x, y = gb.ones(4), gb.ones(4)
    x + y
    x + y
    x.untyped_storage().resize_(0)
    for call in (lambda: x + y, lambda: y + x, lambda: x + 1.0, lambda: x.exp(), lambda: x.sum(), lambda: x.add_(1)):
        with pytest.raises(RuntimeError):
            call()
    assert (y + y).tolist() == [2.0] * 4


def test_meta_tensors_never_reach_a_kernel() -> None:
    x = gb.empty(3, 4, device="meta")
    for _ in range(3):
        found = x + x
        assert (found.device.type, found.shape, found.dtype) == ("meta", (3, 4), gb.float32)
    assert gb.exp(x.t()).stride() == (1, 4)
    assert x.add_(1)._version == 1


def test_zero_elements() -> None:
    x = gb.zeros(0, 3)
    for _ in range(3):
        assert (x + x).shape == (0, 3) and (x + 1).shape == (0, 3) and gb.exp(x).shape == (0, 3)
        x.add_(1)
    assert x._version == 3
