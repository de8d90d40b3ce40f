"""Arguments that would corrupt memory or cannot be represented: the error names the argument."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import gaugeblock as gb
import pytest

HUGE = 1 << 61
SHARED = "some elements of the input tensor and the written-to tensor"


def _rows() -> gb.Tensor:
    return gb.arange(8.0).reshape(4, 2)


THREE = gb.tensor([1, 2, 3])
ROUND = gb.tensor([3, 2, 1, 0])
PAIRS = gb.tensor([[1, 1], [2, 2]])


@pytest.mark.parametrize(
    "write",
    [
        lambda y: y.index_add_(0, THREE, y[:3]),
        lambda y: y.index_add_(0, ROUND, y),
        lambda y: y.index_copy_(0, THREE, y[:3]),
        lambda y: y.index_reduce_(0, THREE, y[:3], "prod"),
        lambda y: y.scatter_(0, PAIRS, y[:2]),
        lambda y: y.scatter_add_(0, PAIRS, y[:2]),
        lambda y: y.scatter_reduce_(0, PAIRS, y[:2], "sum"),
        lambda y: y.index_put_([THREE], y[:3]),
        lambda y: y.index_put_([ROUND], y, True),
        lambda y: y.put_(THREE, y[:2].view(-1)[:3]),
        lambda y: y.__setitem__(THREE, y[:3]),
    ],
)
def test_a_source_that_shares_memory_with_self(write: Callable[[gb.Tensor], Any]) -> None:
    y = _rows()
    with pytest.raises(RuntimeError, match=SHARED):
        write(y)
    assert y.tolist() == _rows().tolist()


@pytest.mark.parametrize(
    "write",
    [
        lambda y: y.index_add_(0, y, gb.ones(3, dtype=gb.int64)),
        lambda y: y.index_copy_(0, y, gb.ones(3, dtype=gb.int64)),
        lambda y: y.index_fill_(0, y, 1),
        lambda y: y.scatter_(0, y, 1),
        lambda y: y.scatter_add_(0, y, gb.ones(3, dtype=gb.int64)),
        lambda y: y.put_(y, gb.ones(3, dtype=gb.int64)),
        lambda y: y.index_put_([y], gb.ones(3, dtype=gb.int64)),
        lambda y: y.__setitem__(y, 1),
    ],
)
def test_an_index_that_shares_memory_with_self(write: Callable[[gb.Tensor], Any]) -> None:
    y = gb.tensor([2, 0, 1])
    with pytest.raises(RuntimeError, match=SHARED):
        write(y)
    assert y.tolist() == [2, 0, 1]


def test_a_mask_may_be_the_tensor_that_is_filled() -> None:
    y = gb.tensor([True, False])
    y[y] = False
    assert y.tolist() == [False, False]


@pytest.mark.parametrize(
    ("operator", "write"),
    [
        ("index_fill_", lambda x: x.index_fill_(0, gb.tensor([1]), 2.0)),
        ("masked_fill_", lambda x: x.masked_fill_(gb.tensor([True] * 6), 2.0)),
        ("index_put_", lambda x: x.index_put_([gb.tensor([1])], gb.tensor([2.0]))),
    ],
)
def test_an_indexed_fill_of_an_expanded_tensor_warns(operator: str, write: Callable[[gb.Tensor], Any]) -> None:
    x = gb.zeros(1).expand(6)
    with pytest.warns(UserWarning, match=f"{operator} on expanded tensors is deprecated"):
        write(x)
    assert x.tolist() == [2.0] * 6


@pytest.mark.parametrize("indices", [[gb.tensor([0, 1])], [gb.tensor([True, True, False])]])
@pytest.mark.parametrize("accumulate", [False, True])
def test_index_put_of_values_with_a_dim_too_many(indices: list[gb.Tensor], accumulate: bool) -> None:
    with pytest.raises(RuntimeError, match=r"value tensor of shape \[1, 2\] cannot be broadcast .* shape \[2\]"):
        gb.zeros(3).index_put(indices, gb.ones(1, 2), accumulate)
    y = gb.zeros(3)
    y[indices[0]] = gb.ones(1, 2)
    assert y.tolist() == [1.0, 1.0, 0.0]


def test_index_put_without_indices_of_values_with_a_dim_too_many() -> None:
    with pytest.raises(RuntimeError, match=r"value tensor of shape \[1\]"):
        gb.rand([]).index_put([], gb.tensor([1.0]), True)


def test_take_along_dim_takes_int64_alone() -> None:
    x = gb.arange(6.0).reshape(2, 3)
    for dtype in (gb.int32, gb.uint8, gb.bool, gb.float32):
        with pytest.raises(RuntimeError, match=r"take_along_dim.*int64"):
            gb.take_along_dim(x, gb.zeros(1, 3).to(dtype), 0)
    assert gb.take_along_dim(x, gb.tensor([0, 5], dtype=gb.int32)).tolist() == [0.0, 5.0]
    with pytest.raises(RuntimeError, match="sorter must be a tensor of int64"):
        gb.searchsorted(gb.arange(3.0), gb.ones(1), sorter=gb.arange(3, dtype=gb.int32))


@pytest.mark.parametrize(
    "norm",
    [
        gb.linalg.vector_norm,
        gb.linalg.norm,
        gb.norm,
        lambda x, dtype: gb.norm(x, 1, dim=0, dtype=dtype),
        gb.linalg.matrix_norm,
        lambda x, dtype: gb.linalg.matrix_norm(x, 2, dtype=dtype),
        lambda x, dtype: gb.norm(x, "nuc", dtype=dtype),
    ],
)
def test_the_dtype_of_a_norm_is_of_the_kind_and_no_narrower(norm: Callable[..., gb.Tensor]) -> None:
    for given, dtype in ((gb.float64, gb.float32), (gb.float32, gb.bfloat16), (gb.bfloat16, gb.float16),
                         (gb.complex128, gb.complex64), (gb.float32, gb.complex64), (gb.complex64, gb.float32),
                         (gb.int64, gb.float32), (gb.float32, gb.int64)):  # fmt: skip
        with pytest.raises(RuntimeError):
            norm(gb.ones(2, 2, dtype=given), dtype=dtype)
    assert norm(gb.ones(2, 2), dtype=gb.float64).dtype is gb.float64
    assert norm(gb.ones(2, 2, dtype=gb.complex64), dtype=gb.complex128).dtype is gb.float64


@pytest.mark.parametrize("pivots", [[0, 1, 2], [-1, 2, 3], [4, 2, 3]])
def test_pivots_that_are_no_rows(pivots: list[int]) -> None:
    places = gb.tensor(pivots, dtype=gb.int32)
    with pytest.raises(RuntimeError, match=r"linalg\.lu_solve: pivots must all be greater or equal to 1"):
        gb.linalg.lu_solve(gb.eye(3), places, gb.ones(3, 1))
    with pytest.raises(RuntimeError, match="lu_unpack: pivots must all be greater or equal to 1"):
        gb.lu_unpack(gb.eye(3), places)


@pytest.mark.parametrize("make", [gb.linspace, gb.logspace])
def test_complex_bounds_of_a_real_range(make: Callable[..., gb.Tensor]) -> None:
    for dtype in (gb.float32, gb.int64):
        with pytest.raises(RuntimeError, match=r"can't be safely cast to passed dtype"):
            make(0 + 1j, 1, 3, dtype=dtype)
        with pytest.raises(RuntimeError):
            make(0 + 1j, 1, 3, out=gb.empty(3, dtype=dtype))
    with pytest.raises(NotImplementedError, match="Bool"):
        make(0, 1, 3, dtype=gb.bool)
    assert make(0, 1 + 0j, 3, out=gb.empty(3)).tolist() == make(0, 1, 3).tolist()


@pytest.mark.parametrize("sizes", [[0, 4, HUGE], [0, 2 * HUGE, 2], [1 << 32, 1 << 32, 0]])
def test_sizes_without_elements_whose_strides_or_count_overflow(sizes: list[int]) -> None:
    for make in (gb.empty, gb.zeros, gb.rand, gb.zeros(0).reshape, gb.zeros(1).new_empty):
        with pytest.raises(RuntimeError, match="overflowed"):
            make(sizes)
    with pytest.raises(RuntimeError, match="overflowed"):
        gb.full(sizes, 1.0)
    with pytest.raises(RuntimeError, match="overflowed"):
        gb.empty(sizes, device="meta")


def test_large_sizes_without_elements() -> None:
    for make in (gb.zeros, gb.rand, gb.randn, lambda sizes: gb.randint(3, sizes)):
        assert make([HUGE, 4, 0]).stride() == (4, 1, 1)
    assert gb.zeros(1, 0).repeat(HUGE, 4).shape == (HUGE, 0)


def test_uniform_numbers_over_a_range_beyond_the_dtype() -> None:
    with pytest.raises(RuntimeError, match="to - from"):
        gb.empty(3).uniform_(-3e38, 3e38)
    with pytest.raises(RuntimeError, match="to - from"):
        gb.empty(3, dtype=gb.float16).uniform_(-60000, 60000)


def test_random_integers_beyond_the_dtype() -> None:
    for low, high in ((0, 1 << 20), (-(1 << 20), 0), (0, 65506)):
        with pytest.raises(RuntimeError, match="out of bounds for float16"):
            gb.empty(3, dtype=gb.float16).random_(low, high)
    with pytest.warns(UserWarning, match="does not hold every integer"):
        assert gb.empty(3, dtype=gb.float16).random_(0, 65505).isfinite().all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gb.empty(3, dtype=gb.float16).random_(0, 2049)
        gb.empty(3, dtype=gb.float16).random_()
    for dtype in (gb.bool, gb.complex64):
        with pytest.raises(NotImplementedError, match="randperm"):
            gb.randperm(2, dtype=dtype)


DEEP = gb.ones([1] * 65)


@pytest.mark.filterwarnings("ignore:.*degrees of freedom")
@pytest.mark.parametrize("name", ["sum", "prod", "mean", "amax", "argmin", "std", "logsumexp", "max", "nansum", "norm"])
def test_reducing_dims_of_a_tensor_with_65(name: str) -> None:
    with pytest.raises(RuntimeError, match="only tensors with up to 64 dims are supported"):
        getattr(gb, name)(DEEP, dim=0)
    assert getattr(gb, name)(gb.ones([1] * 64), dim=0) is not None


def test_tensors_of_65_dims_reduced_whole() -> None:
    for name in ("sum", "prod", "mean", "amax", "max", "argmax", "median"):
        assert getattr(gb, name)(DEEP).shape == ()
    for reduce in (gb.all, gb.any, gb.norm, gb.linalg.vector_norm):
        with pytest.raises(RuntimeError, match="only tensors with up to 64 dims"):
            reduce(DEEP)


def test_a_memory_format_is_given_whatever_the_dtype() -> None:
    x = gb.arange(6.0).reshape(2, 3).t()
    for y in (x.float(memory_format=gb.contiguous_format), x.to(gb.float32, memory_format=gb.contiguous_format)):
        assert y.stride() == (2, 1)
        assert y.tolist() == x.tolist()


BEYOND = 1 << 70
POOLED = gb.ones(1, 2, 2)
PLACES = gb.zeros(1, 2, 2, dtype=gb.int64)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: gb.tensor_split(gb.ones(4), BEYOND), ValueError, r"tensor_split.*'sections' must fit 64 bits"),
        (lambda: gb.ones(4).tensor_split(-BEYOND), ValueError, r"tensor_split.*'sections' must fit 64 bits"),
        (lambda: gb.tensor_split(gb.ones(4), [1, BEYOND]), TypeError, r"tensor_split.* does not fit 64 bits"),
        (lambda: gb.tensor_split(gb.ones(4), 1 << 62), RuntimeError, "more than memory holds"),
        (lambda: gb.hsplit(gb.ones(4), BEYOND), ValueError, r"hsplit.*'sections' must fit 64 bits"),
        (lambda: gb.ones(4).chunk(BEYOND), ValueError, r"chunk.*'chunks' must fit 64 bits"),
        (lambda: gb.ones(4).split(BEYOND), ValueError, r"split.*'split_size' must fit 64 bits"),
        (lambda: gb.split_with_sizes(gb.ones(4), [BEYOND, 1]), TypeError, r"split_with_sizes.* does not fit 64 bits"),
        (lambda: gb.tril_indices(1 << 62, 4), RuntimeError, r"tril_indices.* do not fit 64 bits"),
        (lambda: gb.triu_indices(4, 1 << 62), RuntimeError, r"triu_indices.* do not fit 64 bits"),
        (lambda: gb.tril_indices(1 << 40, 4), RuntimeError, "can't allocate memory"),
        (lambda: gb.tril_indices(BEYOND, 4), ValueError, r"tril_indices.* does not fit 64 bits"),
        (lambda: gb.triu_indices(4, 4, -BEYOND), ValueError, r"triu_indices.* does not fit 64 bits"),
        (lambda: gb.isin(BEYOND, gb.ones(2)), OverflowError, r"isin.*'element' must fit 64 bits"),
        (lambda: gb.isin(gb.ones(2), BEYOND), OverflowError, r"isin.*'test_element' must fit 64 bits"),
        (lambda: gb.bucketize(-BEYOND, gb.ones(2)), OverflowError, r"bucketize.*'self' must fit 64 bits"),
        (lambda: gb.searchsorted(gb.ones(2), BEYOND), OverflowError, r"searchsorted.*'self' must fit 64 bits"),
        (lambda: gb.std(gb.ones(2), correction=BEYOND), OverflowError, r"std.*'correction' must fit 64 bits"),
        (lambda: gb.var(gb.ones(2), correction=1 + 2j), RuntimeError, r"var.*cannot be converted to type double"),
        (lambda: gb.std_mean(gb.ones(2), correction=2j), RuntimeError, r"std_mean.*cannot be converted to type double"),
        (lambda: gb.as_tensor(gb.ones(2, device="meta"), 1 + 2j), TypeError, r"as_tensor.*'dtype' must be dtype"),
        (lambda: gb.asarray(gb.ones(2, device="meta"), dtype=3), TypeError, r"'dtype' must be dtype, not int"),
        (lambda: gb.histogramdd(gb.ones(3, 0), True), TypeError, r"histogramdd.*'bins' must be int"),
        (lambda: gb.chain_matmul(gb.eye(2), gb.eye(2), out=[]), TypeError, r"chain_matmul.*'out' must be Tensor"),
        (lambda: gb.tensordot(gb.ones(2), gb.ones(2), 1, out=()), TypeError, r"tensordot.*'out' must be Tensor"),
        (lambda: gb.fft.rfftfreq(-4), RuntimeError, r"negative dimension -1"),
        (lambda: gb.ones(2).index_put([gb.tensor(True)] * 2, gb.ones(1)), RuntimeError, "one mask without dims alone"),
    ],
)
def test_arguments_that_do_not_fit(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize(
    ("lengths", "error", "message"),
    [
        (([2], [1, 1], [0, 0]), RuntimeError, "'kernel_size' must hold 2 ints, got 1"),
        (([2, 2], [1], [0, 0]), IndexError, "'stride' must hold 2 ints, got 1"),
        (([2, 2], [2, 2], []), IndexError, "'padding' must hold 2 ints, got 0"),
    ],
)
def test_lists_of_max_unpool_that_are_too_short(lengths: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=rf"max_unpool2d\(\): argument {message}"):
        gb.nn.functional.max_unpool2d(POOLED, PLACES, *lengths)
    assert gb.nn.functional.max_unpool2d(POOLED, PLACES, [2, 2], [2, 2], [0, 0, 9]).shape == (1, 4, 4)


@pytest.mark.parametrize(
    ("call", "fitting", "error"),
    [
        (lambda n: gb.ones(2, dtype=gb.int8).nonzero_static(size=1, fill_value=n), 3, ValueError),
        (lambda n: gb.ones(4).tensor_split(n), 2, ValueError),
        (lambda n: gb.ones(4).tensor_split([n]), 2, TypeError),
        (lambda n: gb.ones(4).split(n), 2, ValueError),
        (lambda n: gb.tril_indices(2, n), 2, ValueError),
        (lambda n: gb.triu_indices(2, 2, n), 2, ValueError),
    ],
)
def test_ints_beyond_64_bits_in_a_call_that_ran_before(
    call: Callable[[int], Any], fitting: int, error: type[Exception]
) -> None:
    for _ in range(3):
        call(fitting)
        with pytest.raises(error, match="64 bits"):
            call(BEYOND)


def test_ints_between_int64_and_uint64() -> None:
    assert gb.bucketize(1 << 63, gb.ones(3)).item() == gb.searchsorted(gb.ones(3), 1 << 63).item() == 3
    assert gb.isin(1 << 63, gb.tensor([2.0**63])).item()


def test_a_correction_that_is_complex_without_an_imaginary_part() -> None:
    assert gb.var(gb.tensor([1.0, 3.0]), correction=1 + 0j).item() == 2.0


def test_a_mask_without_dims_beside_another_index_names_no_place() -> None:
    for mask in (gb.tensor(True), gb.tensor(False)):
        for indices in ([gb.tensor(1), mask], [mask, gb.tensor(1)], [mask, gb.tensor([1]), mask]):
            assert gb.zeros(2, 2).index_put(indices, gb.tensor(3.0)).tolist() == [[0.0, 0.0], [3.0, 3.0]]


@pytest.mark.parametrize(("density", "total"), [(False, 0.0), (True, float("nan"))])
def test_a_histogram_of_points_without_coordinates(density: bool, total: float) -> None:
    counts, edges = gb.histogramdd(gb.ones(3, 0), 3, density=density)
    assert counts.shape == () and edges == () and str(counts.item()) == str(total)


@pytest.mark.parametrize("offset", [-(1 << 63), -9, -3, -1, 0, 2, 5, (1 << 63) - 1])
def test_triangles_hold_the_places_on_their_side_of_the_diagonal(offset: int) -> None:
    for row, col in ((4, 4), (2, 5), (5, 2), (0, 3), (3, 0)):
        places = [[r, c] for r in range(row) for c in range(col)]
        lower = [place for place in places if place[1] - place[0] <= offset]
        upper = [place for place in places if place[1] - place[0] >= offset]
        assert gb.tril_indices(row, col, offset).t().tolist() == lower
        assert gb.triu_indices(row, col, offset).t().tolist() == upper
        assert gb.tril_indices(row, col, offset, device="meta").shape == (2, len(lower))


@pytest.mark.parametrize(("make", "count"), [(gb.fft.fftfreq, 1 << 50), (gb.fft.rfftfreq, (1 << 49) + 1)])
def test_frequencies_without_data_are_not_computed(make: Callable[..., gb.Tensor], count: int) -> None:
    assert make(1 << 50, device="meta").shape == (count,)
    assert gb.fft.rfftfreq(-1).shape == (1,) and gb.fft.rfftfreq(-3).shape == (0,)


@pytest.mark.parametrize(
    ("dtype", "numbers", "expected"),
    [
        (gb.float16, (2.0**63, 1e30, -1e30), [float("inf"), float("inf"), float("-inf")]),
        (gb.float16, (65504.0, 65519.0, -65520.0), [65504.0, 65504.0, float("-inf")]),
        (gb.float32, (1e300, 3e38, -1e300), [float("inf"), gb.tensor(3e38).item(), float("-inf")]),
        (gb.float64, (1e300, 1e308, -1e308), [1e300, 1e308, -1e308]),
    ],
)
def test_nan_to_num_rounds_numbers_beyond_the_dtype(
    dtype: gb.dtype, numbers: tuple[float, ...], expected: list[float]
) -> None:
    x = gb.tensor([float("nan"), float("inf"), float("-inf")], dtype=dtype)
    assert gb.nan_to_num(x, *numbers).tolist() == expected


@pytest.mark.parametrize(
    "call",
    [
        lambda: gb.ones(3, 1, dtype=gb.int16).repeat_interleave((1 << 63) - 1),
        lambda: gb.ones(2).repeat_interleave((1 << 62) - 1, dim=0),
        lambda: gb.arange(3).repeat_interleave(gb.tensor([(1 << 63) - 1, (1 << 63) - 1, 3])),
        lambda: gb.arange(5).repeat_interleave(gb.tensor([1 << 62, 1 << 62, 1 << 62, 1 << 62, 2])),
        lambda: gb.repeat_interleave(gb.tensor([1 << 62, 1 << 62, 1 << 62, 1 << 62, 2])),
        lambda: gb.nn.functional.max_pool2d(gb.ones(2, 3, 5, 5), [1 << 62, 1], ceil_mode=True),
        lambda: gb.nn.functional.avg_pool2d(gb.ones(2, 3, 5, 5), [1 << 62, 1], ceil_mode=True),
    ],
)
def test_results_and_steps_of_more_elements_than_memory_has_addresses(call: Callable[[], Any]) -> None:
    with pytest.raises(RuntimeError, match=r"64 bits|addresses|overflow|memory"):
        call()


@pytest.mark.parametrize(
    ("bins", "message"),
    [
        ([gb.ones(2, 2), gb.ones(2)], "one dimension, but got 2 in the bins tensor for dimension 0"),
        ([gb.ones(2), gb.ones(2, dtype=gb.int64)], "float32 and int64 in the bins tensor for dimension 1"),
        ([gb.tensor([1.0, 0.0]), gb.ones(2)], "edges that rise"),
        ([gb.ones(2), gb.ones(0)], "two or more edges"),
        ([0, 2], "must be > 0, but got 0 for dimension 0"),
    ],
)
def test_bins_of_histogramdd_that_are_no_edges(bins: list[Any], message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        gb.histogramdd(gb.ones(3, 2), bins)


def test_bins_of_histogramdd_are_no_tensor() -> None:
    with pytest.raises(TypeError, match="bins"):
        gb.histogramdd(gb.ones(3, 2), gb.ones(2))


@pytest.mark.parametrize(
    ("bounds", "dtype", "values"),
    [((-2, -100, -1e300), gb.uint16, [65534]), ((0, 5, 1e300), gb.uint8, [0]), ((3, 0, -1e19), gb.int64, [3])],
)
def test_a_range_whose_step_fits_no_dtype_has_its_first_element(
    bounds: tuple[float, ...], dtype: gb.dtype, values: list[int]
) -> None:
    assert gb.arange(*bounds, dtype=dtype).tolist() == values


def test_keepdim_of_norm_is_a_bool() -> None:
    with pytest.raises(TypeError, match=r"'keepdim'.*bool.*dict"):
        gb.ones(2, 3).norm(None, [1], keepdim={"a": 1})


def test_multilabel_soft_margin_loss_needs_classes() -> None:
    with pytest.raises(IndexError, match="tensor has no dimensions"):
        gb.nn.functional.multilabel_soft_margin_loss(gb.tensor(1.0), gb.tensor(1.0))


@pytest.mark.parametrize(("dims", "error"), [([2, 3], IndexError), ([0, -1], RuntimeError), (5, IndexError)])
def test_dims_of_hash_tensor(dims: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="dim"):
        gb.hash_tensor(gb.ones(17, dtype=gb.float64), dims)
    assert gb.hash_tensor(gb.tensor(1.0), 0).shape == ()


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda x: x.to_sparse().values(1), TypeError, r"^values\(\) takes 1 positional argument but 2 were given"),
        (lambda x: x.to_sparse().dense_dim(dim=0), TypeError, r"^dense_dim\(\) got an unexpected keyword .* 'dim'"),
        (lambda x: x.to_sparse_bsr(), TypeError, r"^to_sparse_bsr\(\) missing 1 required positional .* 'blocksize'"),
        (lambda x: x.to_sparse_csc("a"), TypeError, r"^to_sparse_csc\(\): argument 'dense_dim' must be int, not str"),
        (lambda x: x.to_sparse(1j), TypeError, r"^to_sparse\(\): argument 'sparse_dim' must be int, not complex"),
        (lambda x: x.to_sparse(dense_dim="a"), TypeError, r"^to_sparse\(\): argument 'dense_dim' must be int, not str"),
        (lambda x: x.to_sparse(dense_dim=3), RuntimeError, r"^to_sparse\(\): .* must be in \[0,2\] range, but -1"),
    ],
)
def test_conversions_to_sparse_layouts(call: Callable[[gb.Tensor], Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        call(gb.ones(2, 2))
