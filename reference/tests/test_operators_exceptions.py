"""Classes of exceptions, and warnings that are given once."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from typing import Any

import gaugeblock as gb
import numpy as np
import pytest

F = gb.nn.functional


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: gb.kthvalue(gb.ones(2, 0), 1, dim=1), IndexError, "Expected reduction dim 1 to have non-zero size"),
        (lambda: gb.kthvalue(gb.ones(0), 1), IndexError, "Expected reduction dim 0 to have non-zero size"),
        (lambda: gb.kthvalue(gb.ones(2, 3), 4, dim=1), RuntimeError, "k out of range"),
        (lambda: gb.nonzero(gb.ones(2), as_tuple=True, out=gb.empty(0, dtype=gb.int64)), RuntimeError, "as_tuple=True"),
        (lambda: gb.nonzero(gb.ones(2), out=3), TypeError, "argument 'out' must be Tensor, not int"),
        (lambda: gb.device(-1), RuntimeError, "'index' must not be negative, got -1"),
        (lambda: gb.device(300), RuntimeError, "the index 300 without a type means the current accelerator"),
        (lambda: gb.device(1, 2), TypeError, "'type' must be str or device where 'index' is given"),
        (lambda: gb.device(1.5), TypeError, "'type' must be str or device, got float"),
        (lambda: gb.device(True), TypeError, "'type' must be str or device, got bool"),
        (lambda: gb.asarray(np.float32(3), copy=False), RuntimeError, "can't alias a NumPy scalar"),
        (lambda: gb.asarray(3, copy=False), ValueError, "can't alias"),
        (lambda: gb.index_select(gb.ones(0, 3), 0, gb.tensor([0])), RuntimeError, "must not be empty"),
        (lambda: gb.index_select(gb.ones(3, 0), 1, gb.tensor([0])), RuntimeError, "must not be empty"),
        (lambda: gb.index_select(gb.ones(0), 0, gb.tensor(0)), IndexError, "index 0 is out of bounds for size 0"),
        (lambda: gb.index_select(gb.ones(3, 2), 0, gb.tensor([3])), IndexError, "index 3 is out of bounds"),
        (lambda: gb.ones(2).set_(gb.ones(2).untyped_storage(), 1.5, [3]), TypeError, "'storage_offset' must be int"),
        (lambda: F.softshrink(gb.ones(2), 1j), RuntimeError, "cannot be converted to type float32"),
        (lambda: gb.ops.aten.softshrink.out(gb.ones(2), 1j, out=gb.ones(2)), RuntimeError, "cannot be converted"),
        (lambda: gb.frombuffer(bytearray(8), dtype=None), TypeError, "'dtype' must be dtype, not NoneType"),
        (lambda: gb.frombuffer(bytearray(8), dtype=gb.int32, count=1.5), TypeError, "'count' must be int, not float"),
        (lambda: gb.frombuffer(bytearray(8), dtype=gb.int32, offset="a"), TypeError, "'offset' must be int, not str"),
        (lambda: gb.sort(gb.ones(3) + 0j), RuntimeError, "Sort does not support complex dtypes"),
        (lambda: gb.topk(gb.ones(3) + 0j, 1), RuntimeError, "complex"),
        (lambda: gb.kthvalue(gb.ones(3) + 0j, 1), NotImplementedError, "complex"),
        (lambda: gb.set_warn_always(1), TypeError, "argument 'b' must be bool, not int"),
    ],
)
def test_exceptions_have_their_class(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message) as caught:
        call()
    assert type(caught.value) is error


@pytest.mark.parametrize("sizes", [(17, 17, 33), (2, 1, 17), (1, 40), (40, 3), (3, 5, 64)])
def test_wide_matrices_are_factored(sizes: tuple[int, ...]) -> None:
    given = gb.randn(sizes, dtype=gb.float64)
    found = gb.linalg.lu_factor_ex(given)
    p, lower, upper = gb.lu_unpack(found.LU, found.pivots)
    assert gb.allclose(p @ lower @ upper, given) and not found.info.any()


WARNED: list[tuple[Any, str]] = [
    (lambda: gb.ones(2, requires_grad=True).sum().backward(create_graph=True), "reference cycle"),
    (lambda: gb.autograd.backward(gb.ones(2, requires_grad=True).sum(), create_graph=True), "reference cycle"),
    (lambda: gb.meshgrid(gb.ones(2), gb.ones(3)), "required to pass the argument 'indexing'"),
    (lambda: gb.bucketize(gb.ones(4)[::2], gb.ones(2)), "input value tensor is non-contiguous"),
    (lambda: gb.bucketize(gb.ones(4), gb.ones(4)[::2]), "boundary tensor is non-contiguous"),
    (lambda: gb.searchsorted(gb.ones(4)[::2], gb.ones(2)), "boundary tensor is non-contiguous"),
    (lambda: gb.tensor([np.ones(2), np.ones(2)]), "list of NumPy arrays"),
    (lambda: gb.ones(3).T, "x.T of 1 dims is deprecated"),
    (lambda: gb.cross(gb.ones(3), gb.ones(3)), "without the argument 'dim'"),
    (lambda: gb.cholesky(gb.eye(2)), "call linalg.cholesky instead"),
    (lambda: gb.qr(gb.eye(2)), "call linalg.qr instead"),
    (lambda: gb.lu(gb.eye(2)), "call linalg.lu_factor instead"),
    (lambda: gb.chain_matmul(gb.eye(2), gb.eye(2)), "call linalg.multi_dot instead"),
    (lambda: gb.triangular_solve(gb.eye(2), gb.eye(2)), "call linalg.solve_triangular instead"),
    (lambda: F.conv2d(gb.ones(1, 1, 2, 2), gb.ones(1, 1, 2, 2), padding="same"), "may need a padded copy"),
    (lambda: gb.stft(gb.ones(8), 4, return_complex=True), "no window was given"),
    (lambda: gb.ones(3).scatter_(0, gb.tensor([0]), gb.ones(1), reduce="add"), "call scatter_reduce instead"),
]


@pytest.fixture
def every_time() -> Iterator[None]:
    gb.set_warn_always(True)
    yield
    gb.set_warn_always(False)


@pytest.mark.usefixtures("every_time")
@pytest.mark.parametrize(("call", "message"), WARNED)
def test_warnings_are_given_at_the_line_of_the_call(call: Any, message: str) -> None:
    assert gb.is_warn_always_enabled()
    for _ in range(2):
        with pytest.warns(UserWarning, match=message) as caught:
            call()
        assert [one.filename for one in caught] == [__file__]


@pytest.mark.usefixtures("every_time")
def test_conditions_of_bytes_are_deprecated() -> None:
    condition = gb.tensor([1, 0] * 9, dtype=gb.uint8)
    with pytest.warns(UserWarning, match="uint8 condition is deprecated"):
        assert gb.where(condition, gb.ones(18), gb.zeros(18)).tolist() == [1.0, 0.0] * 9


def test_warnings_are_given_once_in_a_process() -> None:
    for call, _ in WARNED:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            call()


@pytest.mark.parametrize("elements", [2, 5])
def test_arange_warns_each_time_of_a_result_of_other_sizes(elements: int) -> None:
    for _ in range(2):
        out = gb.ones(elements)
        with pytest.warns(UserWarning, match=rf"has {elements} elements, and 3 are computed"):
            gb.arange(0, 3, out=out)
        assert out.tolist() == [0.0, 1.0, 2.0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gb.arange(3, out=gb.empty(0))
        gb.arange(3, out=gb.empty(3, 1))
        assert math.isclose(gb.arange(3, out=gb.empty(3)).sum().item(), 3)


@pytest.mark.parametrize("join", [gb.cat, gb.hstack, gb.vstack, gb.stack, gb.dstack, gb.column_stack])
@pytest.mark.parametrize("dtype", [gb.float64, gb.float32, gb.complex128])
def test_joins_write_each_element_straight_into_out(join: Any, dtype: Any) -> None:
    parts = [gb.tensor([1.0], dtype=gb.bfloat16), gb.tensor([257], dtype=gb.int32)]
    out = gb.empty(join(parts).shape, dtype=dtype)
    assert join(parts, out=out).flatten().tolist() == [1.0, 257.0]
    assert join(parts).flatten().tolist() == [1.0, 256.0]
    with pytest.raises(TypeError, match="can't be cast to the desired output type Long"):
        join(parts, out=out.to(gb.int64) if dtype is not gb.complex128 else out.real.to(gb.int64))


@pytest.mark.parametrize(
    ("dtype", "value"), [("uint8", -1.0), ("uint8", -0.5), ("uint8", 255.5), ("int8", 127.5), ("int8", -128.5)]
)
def test_floats_are_compared_with_the_range_before_they_are_cut(dtype: str, value: float) -> None:
    kind = getattr(gb, dtype)
    x = gb.ones(2, dtype=kind)
    calls: list[Any] = [
        lambda: gb.full((2,), value, dtype=kind),
        lambda: gb.full_like(x, value),
        lambda: x.new_full((2,), value),
        lambda: gb.tensor([value], dtype=kind),
        lambda: x.fill_(value),
        lambda: x.masked_fill(x == 1, value),
        lambda: x.index_fill(0, gb.tensor([0]), value),
        lambda: F.threshold(x, 1, value),
        lambda: x.__setitem__(0, value),
    ]
    for call in calls:
        with pytest.raises(RuntimeError, match="cannot be converted to type"):
            call()
    assert gb.full((1,), math.trunc(value), dtype=kind).numel() == 1
