"""Matrix products through BLAS itself: every layout that it takes, and those that it does not."""

from __future__ import annotations

import gaugeblock as gb
import numpy as np
import pytest
from gaugeblock.kernels.matrix_product import PLAIN_ORDER, TRANSPOSED_ORDER, dot_product, gemm, gemv, lay


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "sizes", [(3, 4, 5), (1, 4, 5), (3, 1, 5), (3, 4, 1), (1, 1, 1), (33, 17, 65), (0, 3, 4), (3, 0, 4)], ids=str
)
def test_layouts(sizes: tuple[int, int, int], dtype: str) -> None:
    rows, inner, columns = sizes
    random = np.random.default_rng(0)
    a, b = random.standard_normal((rows, inner)).astype(dtype), random.standard_normal((inner, columns)).astype(dtype)
    lefts = [
        gb.from_numpy(a),
        gb.from_numpy(np.ascontiguousarray(a.T)).t(),
        gb.from_numpy(np.concatenate([a, a], 1))[:, :inner],
        gb.from_numpy(np.repeat(a, 2, axis=1))[:, ::2],
        gb.ones(1, inner, dtype=getattr(gb, dtype)).expand(rows, inner),
    ]
    for left in lefts:
        for right in (gb.from_numpy(b), gb.from_numpy(np.ascontiguousarray(b.T)).t()):
            for _ in range(2):
                found = gb.mm(left, right)
                assert found.is_contiguous()
                assert np.allclose(found.numpy(), left.numpy() @ right.numpy(), rtol=1e-4, atol=1e-4)


@pytest.mark.filterwarnings("ignore:The given NumPy array")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("sizes", [(3, 4), (1, 4), (3, 1), (1, 1), (33, 65), (0, 3), (3, 0)], ids=str)
def test_vectors(sizes: tuple[int, int], dtype: str) -> None:
    rows, columns = sizes
    a = (np.arange(rows * columns) % 7 - 3).reshape(sizes).astype(dtype)
    matrices = [a, np.asfortranarray(a), np.repeat(a, 2, 1)[:, ::2], np.broadcast_to(a[:1], sizes)]
    for matrix in matrices:
        right, left = (np.arange(count).astype(dtype) for count in (columns, rows))
        for b, c in ((right, left), (np.repeat(right, 2)[::2], np.broadcast_to(left[:1], (rows,)))):
            x, y, z = (gb.from_numpy(one) for one in (matrix, b, c))
            for _ in range(2):  # the call is kept
                assert gb.mv(x, y).tolist() == (matrix @ b).tolist()
                assert gb.matmul(z, x).tolist() == (c @ matrix).tolist()
                assert gb.dot(y, y).item() == b @ b
                assert gb.addmv(z, x, y).tolist() == (c + matrix @ b).tolist()
                assert gb.matmul(gb.stack([x, x]), y).tolist() == [(matrix @ b).tolist()] * 2


def test_how_matrices_lie() -> None:
    assert lay((3, 4), (4, 1)) == (PLAIN_ORDER, 4)
    assert lay((3, 4), (9, 1)) == (PLAIN_ORDER, 9)
    assert lay((3, 4), (1, 3)) == (TRANSPOSED_ORDER, 3)
    assert lay((1, 4), (0, 1)) == (PLAIN_ORDER, 4)
    assert lay((3, 1), (2, 77)) == (PLAIN_ORDER, 2)
    assert lay((3, 4), (8, 2)) is None
    assert lay((3, 4), (0, 1)) is None


def test_wrong_arguments_are_refused() -> None:
    multiply = gemm(gb.float32)
    if multiply is not None:
        with pytest.raises(TypeError, match="got 2 arguments"):
            multiply(0, 0)
    for one, title in ((gemv(gb.float64), "a matrix and a vector"), (dot_product(gb.float64), "vectors")):
        if one is not None:
            with pytest.raises(TypeError, match=f"product of {title} got 2 arguments"):
                one(0, 0)


def test_nan_meets_zero() -> None:
    left = gb.zeros(3, 3)
    left[0, 0] = float("nan")
    found = gb.mm(left, gb.zeros(3, 3))
    assert found[0].isnan().all().item()
    assert found[1:].tolist() == [[0.0] * 3] * 2


@pytest.mark.parametrize(
    ("left", "right"),
    [((2, 3, 4, 5), (2, 3, 5, 6)), ((3, 4, 5), (2, 1, 5, 6)), ((4, 5), (3, 5, 2)), ((2, 3, 4, 5), (5, 6))],
)
@pytest.mark.parametrize("turned", [False, True])
def test_batches(left: tuple[int, ...], right: tuple[int, ...], turned: bool) -> None:
    arrays = [np.arange(np.prod(sizes), dtype=np.float32).reshape(sizes) % 7 - 3 for sizes in (left, right)]
    tensors = [gb.from_numpy(np.asfortranarray(one) if turned else one) for one in arrays]
    for _ in range(3):
        found = gb.matmul(*tensors)
        assert found.is_contiguous()
        assert np.array_equal(found.numpy(), arrays[0] @ arrays[1])
