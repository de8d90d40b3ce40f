"""Matrix products through BLAS itself: every layout that it takes, and those that it does not."""

from __future__ import annotations

import threading

import gaugeblock as gb
import numpy as np
import pytest
from gaugeblock.kernels.matrix_product import PLAIN_ORDER, TRANSPOSED_ORDER, dot_product, gemm, gemv, lay
from gaugeblock.kernels.parallel import blas_threads


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


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "sizes", [(130, 70, 200), (17, 300, 1000), (1000, 300, 17), (1, 70000, 30), (300, 900, 1), (5, 60000, 5)], ids=str
)
def test_products_are_shared_out(sizes: tuple[int, int, int], dtype: str, threads: int) -> None:
    rows, inner, columns = sizes
    a = (np.arange(rows * inner) % 7 - 3).reshape(rows, inner).astype(dtype)
    b = (np.arange(inner * columns) % 5 - 2).reshape(inner, columns).astype(dtype)
    before, blas = gb.get_num_threads(), blas_threads()
    gb.set_num_threads(threads)
    try:
        for left in (a, np.asfortranarray(a)):
            for right in (b, np.asfortranarray(b)):
                x, y = gb.from_numpy(left), gb.from_numpy(right)
                assert np.array_equal((x @ y).numpy(), a @ b)
                assert np.array_equal((x @ y[:, -1]).numpy(), a @ b[:, -1])
                assert np.array_equal((x[0] @ y).numpy(), a[0] @ b)
                stacked = gb.stack([x, x + 1, x])
                assert np.array_equal(gb.matmul(stacked, y).numpy(), np.stack([a, a + 1, a]) @ b)
                assert np.array_equal(gb.bmm(stacked, gb.stack([y] * 3)).numpy(), np.stack([a, a + 1, a]) @ b)
        assert blas is None or blas[0]() == threads  # BLAS has its own number of threads again
    finally:
        gb.set_num_threads(before)


def test_a_long_product_of_vectors_is_the_same_for_any_number_of_threads() -> None:
    values = np.random.default_rng(0).standard_normal(1_000_001).astype(np.float32)
    x, before, found = gb.from_numpy(values), gb.get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            gb.set_num_threads(threads)
            found.append(gb.dot(x, x).item())
    finally:
        gb.set_num_threads(before)
    assert found[0] == found[1] == found[2]
    assert found[0] == pytest.approx(float(np.sum(values.astype(float) ** 2)), rel=1e-6)


def test_products_in_several_threads_at_once() -> None:
    a = np.random.default_rng(0).integers(-3, 4, (200, 150)).astype(np.float32)
    x, expected, blas = gb.from_numpy(a), a @ a.T, blas_threads()
    before = blas[0]() if blas else None
    wrong: list[int] = []

    def work() -> None:
        for _ in range(30):
            if not np.array_equal((x @ x.t()).numpy(), expected):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert not wrong
    assert blas is None or blas[0]() == before


@pytest.mark.skipif(blas_threads() is None, reason="BLAS is not OpenBLAS")
def test_a_number_of_threads_set_during_a_product_stays() -> None:
    before, blas = gb.get_num_threads(), blas_threads()
    assert blas is not None
    get, _ = blas
    x = gb.rand(1500, 1500)
    gb.set_num_threads(3)
    try:
        product = threading.Thread(target=lambda: gb.mm(x, x))
        product.start()
        while get() != 1 and product.is_alive():  # until the parts run
            pass
        gb.set_num_threads(1)
        product.join()
        assert get() == 1
    finally:
        gb.set_num_threads(before)
