"""Low-rank factors, lu, and small questions to a tensor."""

from __future__ import annotations

from typing import Any

import gaugeblock as gb
import pytest


@pytest.mark.parametrize("sizes", [(7, 5), (5, 7), (2, 6, 4)])
@pytest.mark.parametrize("dtype", [gb.float64, gb.complex128])
def test_low_rank_factors_give_the_matrix(sizes: tuple[int, ...], dtype: Any) -> None:
    gb.manual_seed(0)
    matrix = gb.matmul(gb.randn(*sizes[:-1], 2, dtype=dtype), gb.randn(*sizes[:-2], 2, sizes[-1], dtype=dtype))
    u, s, v = gb.svd_lowrank(matrix, q=3)
    assert u.shape == (*sizes[:-1], 3)
    assert v.shape == (*sizes[:-2], sizes[-1], 3)
    assert gb.allclose(u * s.unsqueeze(-2) @ v.mH, matrix)
    u, s, v = gb.svd_lowrank(matrix + 1, q=3, M=gb.ones(*sizes, dtype=dtype))
    assert gb.allclose(u * s.unsqueeze(-2) @ v.mH, matrix)


def test_principal_components_are_of_centred_rows() -> None:
    gb.manual_seed(0)
    rows = gb.randn(20, 4, dtype=gb.float64)
    u, s, v = gb.pca_lowrank(rows)
    assert gb.allclose(s, gb.linalg.svdvals(rows - rows.mean(0)))
    assert gb.allclose(u * s @ v.mT, rows - rows.mean(0))


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        (lambda x: gb.svd_lowrank(3), TypeError),
        (lambda x: gb.svd_lowrank(x, q=5), ValueError),
        (lambda x: gb.svd_lowrank(x, q=1, M=1), TypeError),
        (lambda x: gb.pca_lowrank(x, q=-1), ValueError),
        (lambda x: gb.pca_lowrank(x, niter=-1), ValueError),
        (lambda x: gb.svd_lowrank(x[0], q=1), RuntimeError),
        (lambda x: gb.lu(3), TypeError),
        (lambda x: gb.lu(x, out=(x,)), TypeError),
        (lambda x: gb.numel(3), TypeError),
    ],
)
def test_what_they_refuse(call: Any, kind: type[Exception]) -> None:
    with pytest.raises(kind):
        call(gb.eye(3))


def test_lu_gives_factors_pivots_and_infos() -> None:
    matrix = gb.tensor([[0.0, 2.0], [4.0, 1.0]])
    factors, pivots = matrix.lu()
    assert (factors.tolist(), pivots.tolist()) == ([[4.0, 1.0], [0.0, 2.0]], [2, 2])
    assert gb.lu(matrix, get_infos=True).info.item() == 0
    out = gb.empty(0), gb.empty(0, dtype=gb.int32)
    assert gb.lu(matrix, out=out)[0] is out[0]
    assert out[0].tolist() == factors.tolist()


def test_questions_to_a_tensor() -> None:
    x = gb.ones(2, 3) * 1j
    assert gb.numel(x) == 6
    assert (gb.is_conj(x), gb.is_conj(x.conj()), gb.is_neg(x.conj().imag)) == (False, True, True)
    assert not x.conj().imag.resolve_neg().is_neg()
    assert gb.resolve_neg(x) is x


def test_products_with_the_tensor_on_the_right() -> None:
    x = gb.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert x.__rmatmul__(gb.tensor([1.0, 0.0])).tolist() == [1.0, 2.0]
    assert x.__rmatmul__(3) is NotImplemented


@pytest.mark.parametrize("name", ["max_pool1d", "max_pool2d", "max_pool3d"])
def test_pools_with_indices(name: str) -> None:
    functional = gb.nn.functional
    x = gb.arange(16.0).reshape(1, 1, *[1] * (int(name[-2]) - 1), 16)
    kernel = (*[1] * (int(name[-2]) - 1), 2)
    values, places = getattr(functional, f"{name}_with_indices")(x, kernel)
    assert values.reshape(-1).tolist() == list(range(1, 16, 2)) == places.reshape(-1).tolist()
    values, places = getattr(functional, f"adaptive_{name}_with_indices")(x, (*[1] * (int(name[-2]) - 1), 4))
    assert values.reshape(-1).tolist() == [3, 7, 11, 15] == places.reshape(-1).tolist()
