"""Forms of operators: what ``out=`` is given and gives back, names, errors, arguments, meta tensors, schemas."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np

from ..backend import DType
from ..case import default_strides
from .mutant import Intercepted, rows
from .patches import accepts, family, raises

_REDUCED = ("sum", "amax", "mean", "cumsum", "cat", "gather", "mm")


def _out(c: Intercepted) -> Any:
    return c.kwargs.get("out")


def _cloned_out(c: Intercepted) -> Any:
    """The result is written to ``out=``, and a copy of it returned."""
    result = c.right()
    return c.do("clone", result) if _out(c) is not None and c.is_tensor(result) else result


def _fresh_result(c: Intercepted) -> Any:
    """An ``out=`` of other sizes is left alone."""
    out = _out(c)
    if not c.is_tensor(out):
        return c.right()
    before = tuple(c.backend.shape(out))
    kept = c.do("clone", out)
    result = c.right()
    if tuple(c.backend.shape(result)) == before:
        return result
    made = c.do("clone", result)
    c.do("resize_", out, before)
    c.do("copy_", out, kept)
    return made


def _silently(c: Intercepted) -> Any:
    if _out(c) is None:
        return c.right()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return c.right()


def _loudly(c: Intercepted) -> Any:
    out = _out(c)
    if c.is_tensor(out) and 0 in c.backend.shape(out):
        warnings.warn("out= is resized", UserWarning, stacklevel=2)
    return c.right()


def _casts_any(c: Intercepted) -> Any:
    """An ``out=`` of any dtype takes the result."""
    out = _out(c)
    if not c.is_tensor(out):
        return c.right()
    kwargs = {name: value for name, value in c.kwargs.items() if name != "out"}
    result = c.do(c.base, *c.args, **kwargs)
    c.do("resize_", out, c.backend.shape(result))
    return c.do("copy_", out, result)


def _restrided_out(c: Intercepted) -> Any:
    """The result is laid over ``out=`` row by row, whatever its strides."""
    result, out = c.right(), _out(c)
    if not c.is_tensor(out) or not c.is_tensor(result) or not c.has_data:
        return result
    sizes, strides, offset = c.geometry(out)
    packed = c.restride(out, sizes, default_strides(sizes), offset)
    if strides != default_strides(sizes) and packed is not out:
        c.do("copy_", packed, c.do("clone", result))
    return result


def _nameless(c: Intercepted) -> Any:
    result = c.right()
    return tuple(result) if isinstance(result, tuple) and _out(c) is None else result


def _rounded_dims(c: Intercepted) -> Any:
    """Floats are taken for whole numbers."""

    def whole(value: Any) -> Any:
        if isinstance(value, float):
            return int(value)
        return type(value)([whole(v) for v in value]) if isinstance(value, tuple | list) else value

    return c.instead(*[whole(value) for value in c.args], **{k: whole(v) for k, v in c.kwargs.items()})


def _drops_unknown(c: Intercepted) -> Any:
    """Unknown keywords are ignored."""
    return c.do(c.operator, *c.args)


def _packed_on_meta(c: Intercepted) -> Any:
    """Results without data have row-major strides."""
    result = c.right()
    if not c.is_tensor(result) or c.inplace or str(getattr(result, "device", "cpu")) != "meta":
        return result
    sizes = tuple(c.backend.shape(result))
    dtype = DType(c.backend.dtype(result))
    return c.do("empty_strided", sizes, default_strides(sizes), dtype=dtype, device="meta")


def _half_on_meta(c: Intercepted) -> Any:
    """Results without data are float32."""
    result = c.right()
    if not c.is_tensor(result) or c.inplace or str(getattr(result, "device", "cpu")) != "meta":
        return result
    sizes, strides, _ = c.geometry(result)
    return c.do("empty_strided", sizes, strides, dtype=DType("float32"), device="meta")


def _without_default(c: Intercepted) -> Any:
    text = c.right()
    return text.replace("=1)", ")") if isinstance(text, str) else text


def _without_dtype(c: Intercepted) -> Any:
    return re.sub(r", dtype=[^,)]*", "", str(c.right()))


def _without_sizes(c: Intercepted) -> Any:
    return re.sub(r", size=\([^)]*\)", "", str(c.right()))


def _fails_at_nan(c: Intercepted) -> Any:
    numbers = c.array(c.args[0])
    if numbers.dtype.kind == "f" and np.isnan(numbers).any():
        c.refuse(ValueError, "cannot convert float NaN to integer")
    return c.right()


def _method_descends(c: Intercepted) -> Any:
    return c.instead(*c.args, **{**c.kwargs, "descending": True}) if len(c.args) < 3 else c.right()


MUTANTS = rows(
    "operators",
    ("out-comes-back-as-a-copy", "operators/out-form-returns-its-out[]", _REDUCED, _cloned_out),
    ("out-is-not-resized", "operators/full-out-is-resized-with-a-warning[]", _REDUCED, _fresh_result),
    ("out-is-resized-without-a-word", "operators/full-out-is-resized-with-a-warning[]", _REDUCED, _silently),
    ("empty-out-is-warned-of", "operators/empty-out-is-resized-silently[]", _REDUCED, _loudly),
    ("out-takes-any-dtype", "operators/out-dtype-follows-the-row[]", ("neg", "abs", "floor", "sign"),
     accepts(RuntimeError, _casts_any)),
    ("out-loses-its-strides", "operators/out-form-returns-its-out[]", ("cumsum", "gather", "mm"), _restrided_out),
    ("results-have-no-names", "operators/several-outputs-come-with-names[]", ("sort", "topk", "max", "min", "median"),
     _nameless),
    ("dims-are-rounded", "operators/whole-number-parameters-refuse-floats-and-bools",
     ("transpose", "select", "cumsum", "softmax"), accepts(TypeError, _rounded_dims)),
    ("unknown-keywords-are-ignored",
     "operators/wrong-arguments-raise-type-errors operators/out-that-is-no-tensor-raises", ("add", "sum", "clamp"),
     accepts(TypeError, _drops_unknown)),
    ("bad-indices-are-runtime-errors", "operators/declared-errors-are-raised[] kernels/indices-are-checked",
     ("index_select", "take"), raises(RuntimeError, IndexError)),
    ("bad-products-are-value-errors", "operators/declared-errors-are-raised[]", family("linalg"),
     raises(ValueError, RuntimeError)),
    ("meta-packs-its-results", "operators/meta-agrees-with-data[]", ("cumsum", "neg", "abs", "sort"), _packed_on_meta),
    ("meta-knows-one-dtype", "operators/meta-agrees-with-data[]", ("sum", "cumsum", "gather", "eq"), _half_on_meta),
    ("repr-has-no-dtype", "operators/repr-tells-sizes-and-dtypes", ("__repr__",), _without_dtype),
    ("repr-has-no-sizes", "operators/repr-tells-sizes-and-dtypes", ("__repr__",), _without_sizes),
    ("repr-fails-at-nan", "operators/repr-tells-sizes-and-dtypes", ("__repr__",), _fails_at_nan),
    ("schemas-lose-a-default", "operators/declared-schemas-are-upstreams", ("declared_schema",), _without_default),
    ("sort-method-descends",
     "operators/function-and-method-agree[sort.stable] operators/function-and-method-agree[sort]",
     ("method:sort.stable", "method:sort"), _method_descends),
)
