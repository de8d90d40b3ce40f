"""Invalid calls: the error names the operator and the fault."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gaugeblock as gb
import pytest
from gaugeblock.nn import functional as F

INDICES = {1: gb.zeros(17, dtype=gb.int64), 2: gb.zeros(2, 3, dtype=gb.int64)}
SQUARE = gb.ones(2, 2)
ROWS = gb.ones(2, 3)
POINT = gb.tensor(1.0)
WHOLE = gb.tensor([1, 2])
INF, NAN = float("inf"), float("nan")
NO_INT64 = "value cannot be converted to type int64 without overflow"

REFUSED: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: gb.bilinear(POINT, POINT, gb.ones(1, 1, 1), None), RuntimeError, r"bilinear\(\): expected inputs of at"),
    (lambda: gb.bilinear(ROWS, ROWS, ROWS, None), RuntimeError, r"bilinear\(\): expected inputs of at least 1 dim"),
    (lambda: gb.bilinear(ROWS, ROWS, gb.ones(2, 3, 3), POINT), RuntimeError, r"bias size .* got \[\] but expected 2"),
    (lambda: gb.instance_norm(POINT, None, None, None, None, True, 0.1, 1e-5, False), RuntimeError, "got 0 dims"),
    (lambda: F.max_unpool2d(gb.ones(17), INDICES[1], [4, 3]), IndexError, "must have at least 2 dims, got 1"),
    (lambda: F.max_unpool3d(ROWS, INDICES[2], [4, 3, 3]), IndexError, "must have at least 3 dims, got 2"),
    (lambda: gb.ones(3).backward(3), TypeError, "must be Tensor, None, or a sequence of them, not int"),
    (lambda: gb.ones(3).apply_("sum"), TypeError, r"apply_\(\): argument 'callable' must be a function"),
    (lambda: F.hardtanh(WHOLE, -1, INF), RuntimeError, NO_INT64),
    (lambda: F.hardtanh(WHOLE, NAN, 1), RuntimeError, NO_INT64),
    (lambda: F.hardtanh(POINT, range(3), 1), TypeError, "'min_val' must be a number, not range"),
    (lambda: F.hinge_embedding_loss(WHOLE, WHOLE, INF), RuntimeError, NO_INT64),
    (lambda: F.hinge_embedding_loss(WHOLE, WHOLE, 2**70), RuntimeError, NO_INT64),
    (lambda: F.dropout(POINT, "none"), TypeError, r"dropout\(\): argument 'p' must be float, not str"),
    (lambda: F.dropout(POINT, NAN), ValueError, "probability has to be between 0 and 1, but got nan"),
    (lambda: F.layer_norm(ROWS, 3), TypeError, "'normalized_shape' must be a tuple of ints, not int"),
    (lambda: F.embedding(gb.tensor([0]), POINT, 0), RuntimeError, "'weight' must be 2-D, got 0-D"),
    (lambda: gb.unflatten(POINT, 0, [1]), IndexError, "a 0-dim tensor has no dim to split"),
    (lambda: gb.norm(ROWS, [1, [2]], [0]), TypeError, r"norm\(\): argument 'p' must be a number"),
    (lambda: gb.fft.fftn(POINT, dim=[0]), IndexError, "a 0-dim tensor has no dim 0 to transform"),
    (lambda: gb.fft.ihfft2(POINT), IndexError, "a 0-dim tensor has no dim -2 to transform"),
    (lambda: gb.fft.fftshift(POINT, dim=[-1]), IndexError, "a 0-dim tensor has no dim 0 to shift"),
    (lambda: gb.gradient(POINT, dim=0), IndexError, "a 0-dim tensor has no dim 0"),
    (lambda: gb.histogram(ROWS, 1, range=[7.0]), RuntimeError, "range must have 2 numbers for dimension 0, got 1"),
    (lambda: gb.searchsorted(POINT, ROWS), RuntimeError, "boundaries tensor should have positive dimension"),
    (lambda: gb.searchsorted(ROWS, POINT), RuntimeError, "input value can be a scalar only when"),
    (lambda: gb.searchsorted(ROWS, ROWS, sorter=gb.zeros(0, dtype=gb.int64)), RuntimeError, "must have the same size"),
    (lambda: gb.searchsorted(ROWS, ROWS, sorter=ROWS), RuntimeError, "sorter must be a tensor of int64"),
    (lambda: gb.searchsorted(ROWS, ROWS, sorter=gb.full((2, 3), 9)), RuntimeError, "sorter index out of range"),
    (lambda: gb.tensordot(SQUARE, SQUARE, [2, 2]), TypeError, "'dims' must be int or a pair of lists of ints, not int"),
    (
        lambda: F.scaled_dot_product_attention(ROWS, ROWS, ROWS, enable_gqa=True),
        RuntimeError,
        "enable_gqa needs a head dim",
    ),
    (lambda: gb.bincount(gb.tensor([2**63], dtype=gb.uint64)), NotImplementedError, "not implemented for 'UInt64'"),
    (lambda: gb.chain_matmul(SQUARE, out=7), TypeError, r"chain_matmul\(\): argument 'out' must be Tensor, not int"),
    (lambda: gb.norm(ROWS, out=-2), TypeError, r"norm\(\): argument 'out' must be Tensor, not int"),
    (lambda: gb.linalg.vector_norm(ROWS, 1j), RuntimeError, "the order of a norm must be real"),
    (lambda: gb.ones(2).__setitem__(True, range(3)), TypeError, "'value' must be a number, not range"),
    (lambda: gb.ones(2).__setitem__(gb.tensor([0]), gb.float32), TypeError, "'value' must be a number, not DType"),
    (lambda: gb.arange(0.5, 1e300, 1e-45), RuntimeError, r"arange\(\): .* has too many elements"),
    (lambda: gb.fft.rfftfreq(2**62), RuntimeError, "Storage size calculation overflowed"),
    (lambda: gb.empty(0, 2**62).tolist(), RuntimeError, r"NumPy has no arrays of sizes"),
    (lambda: gb.block_diag(ROWS, out=ROWS), TypeError, r"block_diag\(\) got an unexpected keyword argument 'out'"),
    (lambda: gb.ones(1).new_tensor([1], nonsense=2), TypeError, r"new_tensor\(\) got an unexpected keyword"),
    (lambda: gb.triu_indices(2, gb.tensor(2**64 - 1, dtype=gb.uint64)), RuntimeError, "must fit 64 bits"),
    (lambda: gb.is_conj(), TypeError, r"is_conj\(\) missing 1 required positional argument: 'input'"),
]


@pytest.mark.parametrize(("call", "error", "message"), REFUSED)
def test_refused(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_self_by_name() -> None:
    assert gb.clone(self=gb.ones(1)).tolist() == [1.0]
    assert gb.add(self=gb.ones(1), other=1).tolist() == [2.0]
    assert gb.ones(2).requires_grad_(requires_grad=True).requires_grad


def test_median_of_nothing() -> None:
    names = ("uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64")
    assert [gb.ones(0, dtype=getattr(gb, name)).median().item() for name in names] == [
        0, 0, 0, -(2**31), -(2**63), 0, 0, 2**63,
    ]  # fmt: skip


def test_rounding_to_more_decimals_than_the_dtype_has() -> None:
    for decimals in (308, 400, -400):
        assert gb.tensor([1.0]).round(decimals=decimals).isnan().item()
    assert gb.tensor([12.5, -12.5]).round(decimals=-1).tolist() == [10.0, -10.0]
    assert gb.tensor([0.126], dtype=gb.float64).round(decimals=2).tolist() == [0.13]


def test_triangles_take_no_memory_for_rows_without_places() -> None:
    assert gb.triu_indices(2**62, 4).tolist() == [[0, 0, 0, 0, 1, 1, 1, 2, 2, 3], [0, 1, 2, 3, 1, 2, 3, 2, 3, 3]]
    assert gb.triu_indices(0, 2**62, 2).shape == (2, 0)
    assert gb.tril_indices(2, 2**62).tolist() == [[0, 1, 1], [0, 0, 1]]
    assert gb.tril_indices(3, 2, -1).tolist() == [[1, 2, 2], [0, 0, 1]]
    assert gb.tril_indices(2, 3, 1).tolist() == [[0, 0, 1, 1, 1], [0, 1, 0, 1, 2]]
    assert gb.triu_indices(3, 2, -1).tolist() == [[0, 0, 1, 1, 2], [0, 1, 0, 1, 1]]


def test_whole_numbers_beyond_64_bits_fill_bfloat16() -> None:
    assert gb.full((2,), 2**63, dtype=gb.bfloat16).tolist() == [2.0**63] * 2


def test_lazily_conjugate_out_is_resized() -> None:
    out = gb.ones(3, dtype=gb.complex64).conj()
    with pytest.warns(UserWarning, match="was resized"):
        gb.mul(gb.full((3, 1), 1j), gb.ones(2, dtype=gb.complex64), out=out)
    assert out.is_conj() and out.tolist() == [[1j, 1j]] * 3 and out.shape == (3, 2)


def test_unhashable_arguments_are_refused_by_name() -> None:
    x = gb.zeros(3)
    wrong: dict[str, Callable[[], object]] = {
        r"unique\(\): argument 'sorted' must be bool, not str": lambda: x.unique("sum", []),  # type: ignore[attr-defined]
        r"unique\(\): argument 'return_inverse' must be bool, not dict": lambda: x.unique(True, {}),  # type: ignore[attr-defined]
        r"to\(\): argument 'memory_format' must be memory_format, not list": lambda: x.to(memory_format=[1, [2]]),  # type: ignore[attr-defined]
        r"to\(\): argument 'device' must be device or str, not dict": lambda: x.to({"a": 1}),  # type: ignore[attr-defined]
    }  # fmt: skip
    for match, call in wrong.items():
        with pytest.raises(TypeError, match=match):
            call()
