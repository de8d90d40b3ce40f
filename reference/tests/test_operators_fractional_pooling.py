"""Pooling over windows at random distances."""

from __future__ import annotations

from typing import Any

import gaugeblock as gb
import pytest

functional = gb.nn.functional


def test_windows_begin_where_the_shares_say() -> None:
    x = gb.arange(36.0).view(1, 6, 6)
    shares = gb.tensor([[[0.0, 0.9]]])
    values, places = functional.fractional_max_pool2d(x, 2, (3, 3), return_indices=True, _random_samples=shares)
    assert places.tolist() == values.tolist() == [[[7, 9, 11], [19, 21, 23], [31, 33, 35]]]
    lost = x.masked_fill(x == 8, float("nan")).masked_fill(x == 3, float("nan"))
    _, places = functional.fractional_max_pool2d_with_indices(lost, 3, 2, _random_samples=shares)
    assert places.tolist() == [[[8, 3], [32, 35]]]


def test_the_gradient_goes_to_what_was_largest() -> None:
    x = gb.arange(25.0).view(1, 5, 5).requires_grad_()
    functional.fractional_max_pool2d(x, 2, 2, _random_samples=gb.tensor([[[0.5, 0.5]]])).sum().backward()
    assert x.grad.nonzero().tolist() == [[0, 1, 1], [0, 1, 4], [0, 4, 1], [0, 4, 4]]


@pytest.mark.parametrize("dims", [2, 3])
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
def test_windows_are_those_of_torch(dims: int, dtype: str) -> None:
    torch = pytest.importorskip("torch")
    torch.manual_seed(dims)
    x = torch.randn(2, 3, 9, 11, *([8] if dims == 3 else [])).to(getattr(torch, dtype))
    shares = torch.rand(2, 3, dims).clamp(max=0.99).to(getattr(torch, dtype))
    own = [gb.tensor(t.double().tolist(), dtype=getattr(gb, dtype)) for t in (x, shares)]
    name = f"fractional_max_pool{dims}d_with_indices"
    for sizes in [(3, 4, 2), (5, 9, 5), (1, 1, 1)]:
        expected = getattr(torch.nn.functional, name)(x, 2, sizes[:dims], _random_samples=shares)
        found = getattr(functional, name)(own[0], 2, sizes[:dims], _random_samples=own[1])
        assert found[1].tolist() == expected[1].tolist()
        assert found[0].tolist() == expected[0].tolist()


def test_ratios_and_drawn_shares() -> None:
    gb.manual_seed(0)
    assert functional.fractional_max_pool2d(gb.randn(2, 3, 8, 10), 2, output_ratio=0.5).shape == (2, 3, 4, 5)
    assert functional.fractional_max_pool3d(gb.randn(3, 8, 10, 6), 2, output_size=(2, 3, 4)).shape == (3, 2, 3, 4)


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda x: functional.fractional_max_pool2d(x, 2), ValueError, "output_size or an output_ratio"),
        (lambda x: functional.fractional_max_pool2d(x, 2, 5), RuntimeError, "too large relative to input height"),
        (lambda x: functional.fractional_max_pool2d(x[0], 2, 1), RuntimeError, "Expected 3D or 4D"),
        (lambda x: functional.fractional_max_pool2d("x", 2, 2), TypeError, r"fractional_max_pool2d\(\)"),
        (
            lambda x: functional.fractional_max_pool2d(x, 2, 2, _random_samples=gb.ones(1, 1, 3)),
            RuntimeError,
            "_random_samples",
        ),
    ],
)
def test_wrong_arguments(call: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        call(gb.ones(1, 5, 5))
