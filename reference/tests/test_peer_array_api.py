"""gaugeblock.array_api beside array-api-strict, the standard's strict implementation over NumPy."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from typing import Any

import gaugeblock as gb
import gaugeblock.array_api as xp
import numpy as np
import pytest
from gaugeblock.array_api import elementwise
from hypothesis import given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.filterwarnings("ignore:(std|var)\\(\\). degrees of freedom")
strict: Any = pytest.importorskip("array_api_strict", minversion="2.4")

QUICKLY = settings(deadline=None, max_examples=25)
DTYPES = list(xp.__array_namespace_info__().dtypes())
SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 2.5, -2.5, 0.3]
OPEN_ZEROS = {"maximum", "minimum", "max", "min", "clip", "sort", "unique_values", "prod", "cumulative_prod"}
"""Functions whose choice among zeros of either sign is left open."""
TOLERANCE = {"float32": 2e-5, "complex64": 2e-4, "float64": 1e-10, "complex128": 1e-10}


@st.composite
def arrays(draw: Any, dtypes: list[str] = DTYPES, *, small: bool = False, shape: tuple[int, ...] | None = None) -> Any:
    """Draw a NumPy array of up to 3 dims, whose layout need not be contiguous."""
    dtype = np.dtype(draw(st.sampled_from(dtypes)))
    sizes = tuple(draw(st.lists(st.integers(0, 3), max_size=3))) if shape is None else shape
    count = int(np.prod(sizes))
    if dtype.kind in "biu":
        low, high = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
        if small and dtype.kind != "b":
            low, high = max(low, -3), 4
        values = draw(st.lists(st.integers(int(low), int(high)), min_size=count, max_size=count))
    else:
        numbers = st.sampled_from([-2.0, -0.5, 0.0, 1.0, 3.0] if small else SPECIAL)
        values = draw(st.lists(numbers, min_size=count, max_size=count))
        if dtype.kind == "c" and small:
            values = [complex(one, index % 3 - 1) for index, one in enumerate(values)]
    array = np.array(values, dtype=dtype).reshape(sizes)
    return array.T if draw(st.booleans()) and shape is None else array


def ours(value: Any) -> Any:
    """Return what the engine gave as NumPy arrays."""
    if isinstance(value, gb.Tensor):
        return np.array(value.resolve_conj().resolve_neg().tolist(), value.dtype.name).reshape(tuple(value.shape))
    return [ours(one) for one in value] if isinstance(value, (tuple, list)) else value


def theirs(value: Any) -> Any:
    if isinstance(value, strict._array_object.Array):
        return np.asarray(value._array)
    return [theirs(one) for one in value] if isinstance(value, (tuple, list)) else value


def check_equal(name: str, found: Any, wanted: Any) -> None:
    if isinstance(wanted, list):
        assert len(found) == len(wanted)
        for one, other in zip(found, wanted, strict=True):
            check_equal(name, one, other)
        return
    if not isinstance(wanted, np.ndarray):
        assert found == wanted
        return
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    tolerance = TOLERANCE.get(wanted.dtype.name, 0.0)
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)
    if wanted.dtype.kind == "f" and name not in OPEN_ZEROS:
        zeros = wanted == 0
        assert np.array_equal(np.signbit(found[zeros]), np.signbit(wanted[zeros]))


def check_call(name: str, call: Callable[[Any, Callable[[Any], Any]], Any]) -> None:
    """Make the same call of both; what array-api-strict refuses is left open."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            wanted = theirs(call(strict, strict.asarray))
        except (TypeError, ValueError, IndexError, OverflowError, ZeroDivisionError):
            return
    check_equal(name, ours(call(xp, lambda array: xp.asarray(array.copy()))), wanted)


PARAMETERS = {name: list(inspect.signature(getattr(xp, name)).parameters) for name in elementwise.FUNCTIONS}
UNARY = [name for name, parameters in PARAMETERS.items() if parameters == ["x"]]
BINARY = [name for name, parameters in PARAMETERS.items() if parameters == ["x1", "x2"]]
SMALL = {"bitwise_left_shift", "bitwise_right_shift", "pow"}
DIVIDING = {"floor_divide", "remainder"}


@pytest.mark.parametrize("name", UNARY)
@QUICKLY
@given(x=arrays())
def test_unary(name: str, x: Any) -> None:
    if x.dtype.kind != "c" or name in ("abs", "conj", "imag", "negative", "positive", "real", "round", "square"):
        check_call(name, lambda space, made: getattr(space, name)(made(x)))


@pytest.mark.parametrize("name", BINARY)
@QUICKLY
@given(data=st.data())
def test_binary(name: str, data: st.DataObject) -> None:
    dtypes = [one for one in DTYPES if "complex" not in one]
    small = name in SMALL
    x = data.draw(arrays(dtypes, small=small))
    y = data.draw(arrays(dtypes, small=small, shape=x.shape[-1:]) | arrays(dtypes, small=small, shape=()))
    if y.dtype.kind in "iu" and (name in DIVIDING or name in SMALL):
        y = np.where(y < (1 if name in DIVIDING else 0), np.ones_like(y), y)
    if name == "floor_divide":  # NumPy's quotients of infinities and zeros are not those of the standard
        x, y = (np.where(np.isfinite(one) & (one != 0), one, np.ones_like(one)) for one in (x, y))
    check_call(name, lambda space, made: getattr(space, name)(made(x), made(y)))
    if name not in DIVIDING | SMALL:
        check_call(name, lambda space, made: getattr(space, name)(made(x), made(x)))


@pytest.mark.parametrize("name", [name for name in BINARY if name not in DIVIDING | SMALL])
@QUICKLY
@given(x=arrays(small=True), number=st.sampled_from([True, 0, 2, 1.5, -0.0]))
def test_numbers_beside_arrays(name: str, x: Any, number: Any) -> None:
    if x.dtype.kind == "c" or (x.dtype.kind == "u" and number == -1):
        return
    check_call(name, lambda space, made: getattr(space, name)(made(x), number))
    check_call(name, lambda space, made: getattr(space, name)(number, made(x)))


REDUCTIONS = "all any argmax argmin count_nonzero max mean min prod std sum var".split()


@pytest.mark.parametrize("name", REDUCTIONS)
@QUICKLY
@given(data=st.data(), keepdims=st.booleans())
def test_reductions(name: str, data: st.DataObject, keepdims: bool) -> None:
    x = data.draw(arrays(small=True))
    axes = st.none() | st.integers(-x.ndim, x.ndim - 1) if x.ndim else st.none()
    if x.ndim and not name.startswith("arg"):
        axes |= st.lists(st.integers(0, x.ndim - 1), unique=True).map(tuple)
    axis = data.draw(axes)
    check_call(name, lambda space, made: getattr(space, name)(made(x), axis=axis, keepdims=keepdims))


ALONG: dict[str, Callable[[Any, Any, int], Any]] = {
    "cumulative_sum": lambda space, x, axis: space.cumulative_sum(x, axis=axis, include_initial=True),
    "cumulative_prod": lambda space, x, axis: space.cumulative_prod(x, axis=axis),
    "diff": lambda space, x, axis: [space.diff(x, axis=axis), space.diff(x, axis=axis, n=2, prepend=x, append=x)],
    "sort": lambda space, x, axis: [space.sort(x, axis=axis, descending=one) for one in (False, True)],
    "argsort": lambda space, x, axis: [space.argsort(x, axis=axis, descending=one) for one in (False, True)],
    "flip": lambda space, x, axis: [space.flip(x, axis=axis), space.flip(x)],
    "roll": lambda space, x, axis: [
        space.roll(x, 2, axis=axis), space.roll(x, -1), space.roll(x, (1, 1), axis=(axis, 0))],
    "expand_dims": lambda space, x, axis: space.expand_dims(x, axis),
    "unstack": lambda space, x, axis: space.unstack(x, axis=axis),
    "repeat": lambda space, x, axis: [space.repeat(x, 2, axis=axis), space.repeat(x, 3)],
    "concat": lambda space, x, axis: [space.concat([x, x], axis=axis), space.concat([x, x], axis=None)],
    "stack": lambda space, x, axis: space.stack([x, x], axis=axis),
    "moveaxis": lambda space, x, axis: space.moveaxis(x, axis, 0),
    "tile": lambda space, x, axis: [space.tile(x, (2,)), space.tile(x, (1, 2, 1, 2))],
    "triangles": lambda space, x, axis: [space.tril(x, k=axis), space.triu(x, k=axis)],
    "sets": lambda space, x, axis: [space.unique_values(x), *space.unique_counts(x), *space.unique_inverse(x)],
    "unique_all": lambda space, x, axis: list(space.unique_all(x)),
    "nonzero": lambda space, x, axis: space.nonzero(x),
    "isin": lambda space, x, axis: space.isin(x, x[0, ...]),
    "like": lambda space, x, axis: [space.zeros_like(x), space.ones_like(x), space.full_like(x, True)],
    "broadcast_to": lambda space, x, axis: [
        space.broadcast_to(x, (2, *x.shape)), space.broadcast_arrays(x, x[:1, ...])],
    "where": lambda space, x, axis: space.where(x == x, x, space.zeros_like(x)),
    "permute_dims": lambda space, x, axis: space.permute_dims(x, tuple(reversed(range(x.ndim)))),
    "astype": lambda space, x, axis: [space.astype(x, one) for one in (space.bool, space.int16, space.float64)],
    "clip": lambda space, x, axis: [space.clip(x, 0, 2), space.clip(x, x), space.clip(x, None, 1)],
    "vecdot": lambda space, x, axis: space.vecdot(x, x, axis=axis - x.ndim if axis >= 0 else axis),
    "tensordot": lambda space, x, axis: [space.tensordot(x, x, axes=((axis,), (axis,))), space.tensordot(x, x, axes=0)],
}  # fmt: skip


@pytest.mark.parametrize("name", ALONG)
@QUICKLY
@given(data=st.data())
def test_along_an_axis(name: str, data: st.DataObject) -> None:
    x = data.draw(arrays(small=True).filter(lambda array: array.ndim > 0))
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    check_call(name, lambda space, made: ALONG[name](space, made(x), axis))


@QUICKLY
@given(data=st.data(), kind=st.sampled_from(["int8", "uint8", "int64", "uint64"]))
def test_indices(data: st.DataObject, kind: str) -> None:
    x = data.draw(arrays(small=True).filter(lambda array: array.size > 0 and array.ndim > 0))
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    places = np.array(data.draw(st.lists(st.integers(0, x.shape[axis] - 1), max_size=4)), kind)
    check_call("take", lambda space, made: space.take(made(x), made(places), axis=axis))
    along = np.zeros([1 if place == axis % x.ndim else size for place, size in enumerate(x.shape)], kind)
    check_call("take_along_axis", lambda space, made: space.take_along_axis(made(x), made(along), axis=axis))


@QUICKLY
@given(data=st.data(), side=st.sampled_from(["left", "right"]))
def test_searchsorted(data: st.DataObject, side: str) -> None:
    dtypes = data.draw(st.sampled_from([["int8", "int64"], ["uint8", "uint64", "uint16"], ["float32", "float64"]]))
    x, y = np.sort(data.draw(arrays(dtypes, small=True, shape=(5,)))), data.draw(arrays(dtypes, small=True))
    check_call("searchsorted", lambda space, made: space.searchsorted(made(x), made(y), side=side))
    back = np.arange(4, -1, -1)
    check_call(
        "searchsorted", lambda space, made: space.searchsorted(made(x[::-1]), made(y), side=side, sorter=made(back))
    )


@pytest.mark.parametrize("dtype", DTYPES)
@QUICKLY
@given(
    bounds=st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(1, 3)), k=st.integers(-4, 4),
    endpoint=st.booleans(),
)  # fmt: skip
def test_creation(dtype: str, bounds: tuple[int, int, int], k: int, endpoint: bool) -> None:
    start, stop, step = bounds
    check_call("eye", lambda space, made: space.eye(3, step, k=k, dtype=getattr(space, dtype)))
    if dtype not in ("bool", "complex64", "complex128"):
        check_call("arange", lambda space, made: space.arange(start, stop, step, dtype=getattr(space, dtype)))
    if "float" in dtype:
        options: dict[str, Any] = {"endpoint": endpoint}
        check_call(
            "linspace", lambda space, made: space.linspace(start, stop, k + 4, dtype=getattr(space, dtype), **options)
        )
    for other in DTYPES:
        check_call("can_cast", lambda space, made, to=other: space.can_cast(getattr(space, dtype), getattr(space, to)))


MATRICES: dict[str, Callable[[Any, Any], Any]] = {
    **{name: (lambda space, x, name=name: getattr(space.linalg, name)(x)) for name in
       "cholesky det eigvalsh inv matrix_rank pinv svdvals trace diagonal".split()},
    "slogdet": lambda space, x: list(space.linalg.slogdet(x)),
    "matrix_norm": lambda space, x: [space.linalg.matrix_norm(x, ord=ord, keepdims=True)
                                     for ord in ("fro", "nuc", 1, -1, 2, -2, space.inf, -space.inf)],
    "vector_norm": lambda space, x: [space.linalg.vector_norm(x, ord=ord, axis=axis)
                                     for ord in (0, 1, 2, 3.5, -1, space.inf) for axis in (None, 0, (0, 1))],
    "matrix_power": lambda space, x: [space.linalg.matrix_power(x, n) for n in (0, 1, 2, -1)],
    "solve": lambda space, x: [space.linalg.solve(x, x[..., :1]), space.linalg.solve(x, x[0, ...]),
                               space.linalg.solve(x, x[0, :, 0])],
    "eigh": lambda space, x: (lambda found: found[1] @ (found[0][..., None] * space.matrix_transpose(
        space.conj(found[1]))))(space.linalg.eigh(x)),
    "svd": lambda space, x: (lambda found: found[0] * found[1][..., None, :] @ found[2])(
        space.linalg.svd(x, full_matrices=False)),
    "qr": lambda space, x: (lambda found: found[0] @ found[1])(space.linalg.qr(x)),
    "matmul": lambda space, x: [space.matmul(x, x), space.matmul(x, x[0, :, 0]), space.matmul(x[0, 0, :], x)],
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("name", MATRICES)
def test_matrices(name: str, dtype: str) -> None:
    base = np.random.default_rng(0).normal(size=(2, 3, 3)) + (1j if "complex" in dtype else 0)
    x = (base @ base.conj().swapaxes(-1, -2) + 3 * np.eye(3)).astype(dtype)
    wanted = theirs(MATRICES[name](strict, strict.asarray(x)))
    found = ours(MATRICES[name](xp, xp.asarray(x.copy())))
    for one, other in zip(*[(each if isinstance(each, list) else [each]) for each in (found, wanted)], strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        tolerance = 1e-3 if dtype in ("float32", "complex64") else 1e-9
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance * 10)


@pytest.mark.parametrize("name", [name for name in xp.fft.__all__ if "freq" not in name])
@QUICKLY
@given(data=st.data(), norm=st.sampled_from(["backward", "ortho", "forward"]))
def test_transforms(name: str, data: st.DataObject, norm: str) -> None:
    x = data.draw(arrays(["float32", "float64", "complex64", "complex128"], small=True, shape=(4, 3)))
    options: dict[str, Any] = {} if "shift" in name else {"norm": norm}
    check_call(name, lambda space, made: getattr(space.fft, name)(made(x), **options))
    if name[-1] == "n":
        options.update(s=(3, 4), axes=(1, 0))
    elif "shift" in name:
        options.update(axes=(0,))
    else:
        options.update(n=5, axis=0)
    check_call(name, lambda space, made: getattr(space.fft, name)(made(x), **options))
