"""Operators beyond the pointwise ones that compute something else: places, order, counts, joins, sums."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..backend import Array, DType
from ..oracles.ordering import comparable
from .mutant import Intercepted, Patch, rows
from .patches import accepts, fresh, name_of, values, with_data
from .target import ROW

Change = Callable[[Array, Intercepted], Array | None]


def _argument(c: Intercepted, place: int, name: str, default: Any = None) -> Any:
    return c.args[place] if len(c.args) > place else c.kwargs.get(name, default)


def part(place: int, change: Change) -> Patch:
    """The right results with the one at ``place`` passed through ``change``; a refusal of it leaves them alone."""

    def patch(c: Intercepted) -> Any:
        result = c.right()
        if not isinstance(result, tuple | list) or len(result) <= place or not c.has_data:
            return result
        with np.errstate(all="ignore"):
            changed = change(c.array(result[place]), c)
        if changed is not None:
            c.put(result[place], changed)
        return result

    return patch


def _clamped(c: Intercepted) -> Any:
    x, index = c.args[0], c.array(c.args[2])
    size = c.backend.shape(x)[c.args[1]]
    return c.do(c.operator, x, c.args[1], c.tensor(np.clip(index, 0, max(size - 1, 0))))


def _loses_duplicates(array: Array, c: Intercepted) -> Array | None:
    """Of the elements that go to one place the last is added."""
    if c.inplace or array.ndim != 1:
        return None
    x, index, source = c.array(c.args[0]), c.array(c.args[2]), c.array(c.args[3])
    if source.ndim != 1 or x.dtype == np.bool_:
        return None
    sums = np.zeros_like(x)
    sums[index] = source
    return (x + sums).astype(x.dtype)


def _reversed_rows(array: Array, c: Intercepted) -> Array | None:
    dim = _argument(c, 2, "dim", -1)
    return np.flip(array, dim).copy() if array.ndim and array.size else None


def _without_last(c: Intercepted) -> Any:
    parts = list(c.args[0])
    return c.instead([*parts[:-2], parts[-1]], *c.args[1:], **c.kwargs) if len(parts) > 2 else c.right()


def _unstable(c: Intercepted) -> Any:
    """Equal elements come out in the opposite order."""
    result = c.right()
    if c.kwargs.get("stable") is not True or not c.has_data:
        return result
    x, places = c.array(c.args[0]), c.array(result[1])
    if x.ndim != 1:
        return result
    order = comparable(x)[places]
    for first in range(len(places) - 1):
        if order[first] == order[first + 1]:
            places[first], places[first + 1] = places[first + 1], places[first]
    c.put(result[1], places)
    return result


def _below_diagonal(array: Array, c: Intercepted) -> Array | None:
    return np.roll(array, 1, axis=0) if array.shape[0] > 1 else None


def _one_more(c: Intercepted) -> Any:
    """One element too many."""
    result = c.right()
    x = c.array(result)
    return fresh(c, np.append(x, x[-1:])) if len(x) else result


def _end_by_steps(array: Array, c: Intercepted) -> Array | None:
    """The last element is reached by adding up steps."""
    if array.dtype != np.float32 or len(array) < 3:
        return None
    total = array[0]
    for _ in range(len(array) - 1):
        total = np.float32(total + np.float32((array[-1] - array[0]) / np.float32(len(array) - 1)))
    array[-1] = total
    return array


def _tiled(c: Intercepted) -> Any:
    """Repeats the whole instead of each element."""
    repeats = _argument(c, 1, "repeats")
    if not isinstance(repeats, int) or _argument(c, 2, "dim") is not None:
        return c.right()
    return fresh(c, np.tile(c.array(c.args[0]).reshape(-1), repeats))


def _other_indexing(c: Intercepted) -> Any:
    return c.instead(*c.args, indexing={"ij": "xy", "xy": "ij"}.get(str(c.kwargs.get("indexing")), "ij"))


def _unshifted(array: Array, c: Intercepted) -> Array | None:
    x, dim = c.array(c.args[0]), _argument(c, 1, "dim", 0)
    if x.dtype != np.float32 or not x.ndim or array.dtype != x.dtype:
        return None
    return np.asarray(np.exp(x) / np.exp(x).sum(axis=dim, keepdims=True))


def _sorted_index(c: Intercepted) -> Any:
    index = np.sort(np.atleast_1d(c.array(c.args[2])))
    return c.instead(c.args[0], c.args[1], c.tensor(index), **c.kwargs)


def _negated(place: int) -> Patch:
    """Another sign of the integer argument at ``place``."""

    def patch(c: Intercepted) -> Any:
        if len(c.args) <= place or not isinstance(c.args[place], int | tuple | list):
            return c.right()
        value = c.args[place]
        other = -value if isinstance(value, int) else type(value)([-v for v in value])
        return c.instead(*c.args[:place], other, *c.args[place + 1 :], **c.kwargs)

    return patch


def _flips_once(c: Intercepted) -> Any:
    dims = _argument(c, 1, "dims", ())
    return c.instead(c.args[0], list(dims)[:1])


def _flag(name: str, value: Any) -> Patch:
    """The keyword ``name`` always has ``value``."""

    def patch(c: Intercepted) -> Any:
        return c.instead(*c.args, **{**c.kwargs, name: value}) if name in c.kwargs else c.right()

    return patch


def _ones(array: Array, c: Intercepted) -> Array | None:
    return np.ones_like(array)


def _next_lower(c: Intercepted) -> Any:
    k = _argument(c, 1, "k")
    return c.instead(c.args[0], k - 1, *c.args[2:], **c.kwargs) if isinstance(k, int) and k > 1 else c.right()


def _upper_median(array: Array, c: Intercepted) -> Array | None:
    x = c.array(c.args[0])
    flat = np.sort(comparable(x).reshape(-1))
    if array.ndim or len(c.args) > 1 or not len(flat) or np.isnan(flat.astype(np.float64)).any():
        return None
    return np.asarray(flat[len(flat) // 2]).astype(array.dtype)


def _first_places(array: Array, c: Intercepted) -> Array | None:
    """The place where a running extreme was met first."""
    x = c.array(c.args[0])
    if x.ndim != 1 or x.dtype.kind not in "iu":
        return None
    function = np.maximum if c.base == "cummax" else np.minimum
    best = function.accumulate(x)
    return np.array([int(np.argmax(x == value)) for value in best], dtype=np.int64)


def _by_columns(c: Intercepted) -> Any:
    """Elements in column-major order."""
    if c.inplace:
        return c.right()
    x = c.array(c.args[0])
    mask = np.broadcast_to(c.array(c.args[1]), np.broadcast_shapes(x.shape, c.backend.shape(c.args[1])))
    return fresh(c, np.broadcast_to(x, mask.shape).T[mask.T])


def _columns_first(array: Array, c: Intercepted) -> Array | None:
    return array[np.lexsort(array.T)] if array.ndim == 2 and array.shape[1] > 1 else None


def _forgets(name: str) -> Patch:
    """The keyword ``name`` is not looked at."""
    return lambda c: c.instead(*c.args, **{k: v for k, v in c.kwargs.items() if k != name})


def _swapped(c: Intercepted) -> Any:
    result = c.right()
    return type(result)(result[::-1]) if type(result) is tuple else tuple(result)[::-1]


def _broadcast_equal(c: Intercepted) -> Any:
    a, b = (c.array(x) for x in c.args[:2])
    try:
        return bool(np.all(a == b)) if a.dtype == b.dtype and np.broadcast(a, b).size else c.right()
    except ValueError:
        return c.right()


def _packs(c: Intercepted) -> Any:
    """The strides of the model are not kept."""
    result = c.right()
    return fresh(c, c.array(result)) if c.is_tensor(result) and c.has_data else result


def _restless(c: Intercepted) -> Any:
    """A seed is taken and has no effect."""
    c.memory["seed"] = c.memory.get("seed", 0) + 1
    return c.do("manual_seed", c.memory["seed"])


def _one_twice(array: Array, c: Intercepted) -> Array | None:
    if len(array) < 2:
        return None
    array[0] = array[1]
    return array


def _closed_interval(array: Array, c: Intercepted) -> Array | None:
    return np.where(array > 0.97, array.dtype.type(1), array)


def _floats_summed(c: Intercepted) -> Any:
    x = c.do("to.dtype", c.args[0], DType("float32"))
    return c.do(c.operator, x, *c.args[1:], **c.kwargs)


def _by_memory(c: Intercepted) -> Any:
    """Operands are read in the order in which they lie."""

    def packed(x: Any) -> Any:
        if not c.is_tensor(x):
            return x
        sizes, strides, _ = c.geometry(x)
        if len(sizes) < 2 or 0 in strides or strides == tuple(sorted(strides, reverse=True)):
            return x
        return c.restride(x, sizes, _row_major(sizes), c.backend.storage_offset(x))

    return c.instead(*[packed(a) for a in c.args], **c.kwargs)


def _row_major(sizes: tuple[int, ...]) -> tuple[int, ...]:
    steps = [1]
    for size in reversed(sizes[1:]):
        steps.insert(0, steps[0] * max(size, 1))
    return tuple(steps)


def _centred(c: Intercepted) -> Any:
    """The covariance leaves its operand less its mean."""
    result = c.right()
    x = c.args[0]
    if c.has_data and 0 not in c.backend.shape(x):
        array = c.array(x)
        c.put(x, array - np.ones((), array.dtype))
    return result


def _last_column(array: Array, c: Intercepted) -> Array | None:
    """The last of several columns is off."""
    if array.ndim != 4 or array.shape[-1] < 2:
        return None
    array[..., -1] += 1
    return array


def _spread(array: Array, c: Intercepted) -> Array | None:
    """Draws are spread a fifth too far."""
    return (array * array.dtype.type(1.2)).astype(array.dtype) if name_of(array) == "float32" else None


def _kept(c: Intercepted) -> Any:
    """Running statistics stay as they were."""
    before = [(a, c.array(a)) for a in c.args[1:5] if c.is_tensor(a) and c.has_data]
    result = c.right()
    for tensor, array in before:
        c.put(tensor, array)
    return result


def _new(c: Intercepted) -> Any:
    """``x += y`` makes a new tensor."""
    return c.do(f"__{c.operator[3:]}", *c.args)


def _turned(c: Intercepted) -> Any:
    """``x - y`` between tensors is ``y - x``."""
    x, y = c.args[:2]
    return c.instead(y, x) if c.is_tensor(x) and c.is_tensor(y) else c.right()


def _added(c: Intercepted) -> Any:
    """``scatter`` adds up what it should replace."""
    plain = c.operator == "scatter.src" and not c.inplace and len(c.args) == 4 and c.backend.dtype(c.args[0]) != "bool"
    return c.do("scatter_add", *c.args) if plain else c.right()


def _schema(old: str, new: str) -> Patch:
    return lambda c: str(c.right()).replace(old, new)


_SYNTAX = ("__iadd__", "__isub__", "__imul__", "__itruediv__", "__ifloordiv__", "__imod__", "__ipow__")


_AA = ("_upsample_bilinear2d_aa", "_upsample_bicubic2d_aa")


MUTANTS = (
    *rows(
        "operators",
        ("gather-clamps-its-index", "kernels/indices-are-checked", ("gather",), accepts(RuntimeError, _clamped)),
        ("scatter-add-loses-duplicates", f"operators/accumulating-writes-count-duplicates {ROW}", ("scatter_add",),
         values(_loses_duplicates)),
        ("index-add-loses-duplicates", f"operators/accumulating-writes-count-duplicates {ROW}", ("index_add",),
         values(_loses_duplicates)),
        ("index-add-forgets-alpha", ("index_add",), _forgets("alpha")),
        ("topk-comes-out-backwards", ("topk",), part(0, _reversed_rows)),
        ("kthvalue-counts-from-two", ("kthvalue",), _next_lower),
        ("median-is-the-upper-one", ("median",), values(_upper_median)),
        ("sort-is-not-stable", ("sort",), _unstable),
        ("running-extremes-name-the-first", ("cummax", "cummin"), part(1, _first_places)),
        ("unique-counts-ones", ("_unique2",), part(2, _ones)),
        ("searchsorted-takes-the-other-side", ("searchsorted", "bucketize"), _flag("right", False)),
        ("isin-never-inverts", ("isin",), _forgets("invert")),
        ("cat-skips-a-part", f"operators/cat-joins-along-a-dim {ROW}", ("cat",), _without_last),
        ("repeat-interleave-repeats-the-whole", ("repeat_interleave",), _tiled),
        ("meshgrid-swaps-its-indexing", ("meshgrid",), _other_indexing),
        ("index-select-sorts-its-index", ("index_select",), _sorted_index),
        ("roll-goes-the-other-way", ("roll",), _negated(1)),
        ("rot90-turns-the-other-way", ("rot90",), _negated(1)),
        ("flip-turns-one-dim", ("flip",), _flips_once),
        ("tril-negates-its-diagonal", ("tril", "triu"), _negated(1)),
        ("masked-select-runs-down-columns", f"{ROW} views/logical-order-is-row-major", ("masked_select",), _by_columns),
        ("nonzero-runs-down-columns", "operators/nonzero-lists-places-in-order views/logical-order-is-row-major",
         ("nonzero",), values(_columns_first)),
        ("eye-is-off-the-diagonal", "operators/factories-fill-what-they-say", ("eye",), values(_below_diagonal)),
        ("arange-counts-one-too-many", "operators/arange-counts-by-its-formula", ("arange",), _one_more),
        ("linspace-misses-its-end", "operators/linspace-hits-both-ends", ("linspace",), values(_end_by_steps)),
        ("softmax-without-shift", "operators/softmax-and-logsumexp-are-shift-stable", ("softmax",), values(_unshifted)),
        ("mean-takes-integers", "operators/other-dtypes-are-refused[] dtypes/integer-means-raise", ("mean",),
         accepts(RuntimeError, _floats_summed)),
        ("moments-are-swapped", ("var_mean", "std_mean"), _swapped),
        ("products-forget-beta", ("addmm", "addmv", "baddbmm"), _forgets("beta")),
        ("equal-broadcasts", "operators/equal-compares-sizes-and-elements", ("equal",), _broadcast_equal),
        ("like-factories-pack", "operators/like-factories-keep-strides", ("zeros_like", "ones_like", "full_like"),
         _packs),
        ("seeds-are-forgotten", "operators/a-seed-repeats-the-draws", ("manual_seed",), _restless),
        ("randperm-draws-one-twice", "operators/draws-stay-in-their-range", ("randperm",), values(_one_twice)),
        ("rand-reaches-one", "operators/draws-stay-in-their-range", ("rand",), values(_closed_interval)),
        breaks=ROW, within=with_data,
    ),
    *rows(
        "operators",
        ("kron-reads-as-it-lies", ROW, ("kron",), _by_memory),
        ("group-norm-reads-as-it-lies",
         "operators/every-operator-gives-what-its-row-says[native_group_norm]",
         ("native_group_norm",), _by_memory),
        ("covariance-changes-its-operand",
         "operators/functional-forms-leave-their-inputs-alone[]", ("cov",),
         _centred),
        ("last-columns-are-off", ROW, _AA, values(_last_column)),
        ("draws-spread-too-far", "operators/draws-follow-their-distribution[normal]", ("normal_", "randn", "normal"),
         values(_spread)),
        ("running-statistics-stay", "operators/batch-norm-keeps-running-statistics",
         ("batch_norm", "native_batch_norm", "instance_norm"), _kept),
        ("scatter-adds-up", f"operators/scatter-keeps-one-of-the-duplicates {ROW}", ("scatter",), _added),
        ("augmented-assignment-makes-anew", "operators/augmented-assignment-is-in-place", _SYNTAX, _new),
        ("differences-are-turned", "operators/python-operators-are-operators", ("__sub__",), _turned),
        ("schemas-lose-their-marks", "operators/schema-says-its-form operators/declared-schemas-are-upstreams",
         ("declared_schema",), _schema("(a!)", "")),
        ("schemas-lose-their-defaults", "operators/schemas-print-back", ("printed_schema",), _schema("=1", "")),
    ),
)
