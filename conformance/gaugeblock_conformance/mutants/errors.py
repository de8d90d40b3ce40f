"""Bad input accepted, refused in the wrong way, or refused too late."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .mutant import Intercepted, rows
from .patches import accepts, family, filled, raises, with_inplace

_DIM_TAKERS = ("transpose", "select", "slice", "unsqueeze", "narrow", "sum", "amax", "cumsum", "flip", "argmax")


def _zero_quotients(c: Intercepted) -> Any:
    """An integer division by zero gives zeros."""
    tensors = [a for a in c.args[:2] if c.is_tensor(a)]
    shape = np.broadcast_shapes(*[tuple(c.backend.shape(a)) for a in tensors])
    return c.args[0] if c.inplace else filled(c, shape, 0, c.backend.dtype(tensors[0]))


def _clamped(c: Intercepted) -> Any:
    """An index out of range reads the nearest element."""
    x, dim, index = c.args
    size = c.backend.shape(x)[dim] if c.backend.shape(x) else 0
    if not size:
        return c.refuse(IndexError, "no element")
    return c.do("select.int", x, dim, 0 if index < 0 else size - 1)


def _shortened(c: Intercepted) -> Any:
    x, dim, start, length = c.args
    size = c.backend.shape(x)[dim]
    if start > size or length < 0:
        return c.refuse(RuntimeError, "out of range")
    return c.do("narrow", x, dim, start, size - start)


def _copied_view(c: Intercepted) -> Any:
    """A view that no strides express is a copy instead."""
    sizes = c.args[1] if len(c.args) == 2 and isinstance(c.args[1], list | tuple) else c.args[1:]
    try:
        return c.do("reshape", c.args[0], tuple(sizes))
    except Exception:
        return c.refuse(RuntimeError, "shape is invalid")


def _first_rows(c: Intercepted) -> Any:
    """A size that does not fit keeps the tensor's own."""
    x = c.args[0]
    wanted = c.args[1] if isinstance(c.args[1], list | tuple) else c.args[1:]
    own = c.backend.shape(x)
    if len(wanted) < len(own) or any(n < 0 for n in wanted):
        return c.refuse(RuntimeError, "bad sizes")
    return c.do("expand", x, (*wanted[: len(wanted) - len(own)], *own))


def _first_element(c: Intercepted) -> Any:
    x = c.args[0]
    sizes = c.backend.shape(x)
    if not c.has_data or 0 in sizes:
        return c.refuse(RuntimeError, "no element")
    return c.do("item", c.do("as_strided", x, (), (), c.backend.storage_offset(x)))


def _truth_of_the_first(c: Intercepted) -> Any:
    return bool(_first_element(c))


def _prefix(c: Intercepted) -> Any:
    """Two shapes that do not broadcast are cut to what they have in common."""
    a, b = c.args[:2]
    if not (c.is_tensor(a) and c.is_tensor(b)) or c.inplace:
        return c.refuse(RuntimeError, "shapes do not broadcast")
    left, right = tuple(c.backend.shape(a)), tuple(c.backend.shape(b))
    if len(left) != 1 or len(right) != 1 or 0 in left + right:
        return c.refuse(RuntimeError, "shapes do not broadcast")
    count = min(left[0], right[0])
    return c.do(c.operator, c.do("slice.Tensor", a, 0, 0, count), c.do("slice.Tensor", b, 0, 0, count))


def _grown_destination(c: Intercepted) -> Any:
    """An in-place result of another shape is handed back, the destination is left alone."""
    x, other = c.args[:2]
    if not c.is_tensor(other):
        return c.refuse(RuntimeError, "bad operand")
    functional = c.operator.replace("_.", ".").removesuffix("_")
    try:
        return c.do(functional, x, other)
    except Exception:
        return c.refuse(RuntimeError, "shapes do not broadcast")


def _written_first(c: Intercepted) -> Any:
    """The destination is filled before the arguments are checked."""
    try:
        return c.right()
    except RuntimeError:
        x = c.kwargs.get("out", c.args[0])
        if c.is_tensor(x) and c.has_data:
            c.do("zero_", x)
        raise


def _numbered_before_checks(c: Intercepted) -> Any:
    """The version moves even if the call fails."""
    try:
        return c.right()
    except RuntimeError:
        if "version" in c.backend.capabilities and c.is_tensor(c.args[0]) and c.has_data:
            c.do("copy_", c.args[0], c.do("clone", c.args[0]))
        raise


def _overlap_ignored(c: Intercepted) -> Any:
    """Writing to a tensor that overlaps itself goes through."""
    x = c.args[0]
    if not c.is_tensor(x) or 0 not in c.backend.strides(x):
        return c.refuse(RuntimeError, "bad input")
    return x


def _false_mask(c: Intercepted) -> Any:
    """A mask of another shape is cut or filled up with False."""
    x, mask = c.args[:2]
    if not c.is_tensor(mask) or c.backend.dtype(mask) != "bool" or not c.has_data:
        return c.refuse(IndexError, "bad index")
    sizes, given = c.backend.shape(x), c.array(mask)
    if given.ndim > len(sizes):
        return c.refuse(IndexError, "too many indices")
    whole = np.zeros(sizes[: given.ndim], bool)
    common = tuple(slice(0, min(m, n)) for m, n in zip(given.shape, whole.shape, strict=True))
    whole[common] = given[common]
    return c.do("__getitem__", x, c.tensor(whole))


def _zero_for_nan(c: Intercepted) -> Any:
    return 0 if c.has_data else c.refuse(ValueError, "no data")


def _rounded_down_mean(c: Intercepted) -> Any:
    """The mean of integers is given without a word."""
    x = c.args[0]
    if not c.backend.dtype(x).startswith(("int", "uint", "bool")) or c.base != "mean" or len(c.args) > 1:
        return c.refuse(RuntimeError, "bad input")
    return c.do("to.dtype", c.do("sum", x), _dtype("float32"))


def _dtype(name: str) -> Any:
    from ..backend import DType

    return DType(name)


def _bool_difference(c: Intercepted) -> Any:
    a, b = c.args[:2]
    if not (c.is_tensor(a) and c.is_tensor(b)) or {c.backend.dtype(a), c.backend.dtype(b)} != {"bool"} or c.inplace:
        return c.refuse(RuntimeError, "bad operands")
    return c.do("bitwise_xor.Tensor", a, b)


def _nearest_view(c: Intercepted) -> Any:
    """Strides that leave the storage are taken to be zero."""
    x, sizes = c.args[:2]
    if any(n < 0 for n in sizes):
        return c.refuse(RuntimeError, "negative size")
    if not c.backend.storage_nbytes(x):
        return c.refuse(RuntimeError, "no element")
    return c.do("as_strided", x, tuple(sizes), (0,) * len(sizes), 0)


def _no_negative_dims(c: Intercepted) -> Any:
    dims = [a for a in c.args[1:2] if isinstance(a, int)]
    if dims and dims[0] < 0 and not isinstance(dims[0], bool):
        return c.refuse(IndexError, "dim out of range")
    return c.right()


def _retold(old: str, change: Callable[[str], str]) -> Callable[[Intercepted], Any]:
    """Return a patch that passes the text of each error that contains ``old`` through ``change``."""

    def patch(c: Intercepted) -> Any:
        try:
            return c.right()
        except (NotImplementedError, RuntimeError) as error:
            if old not in str(error):
                raise
            c.refuse(type(error), change(str(error)))

    return patch


def _by_way_of_single(c: Intercepted) -> Any:
    """A number is rounded to float32 before it is stored as a half float."""
    return c.instead(*[float(np.float32(a)) if isinstance(a, float) else a for a in c.args], **c.kwargs)


MUTANTS = rows(
    "empties and errors",
    ("kernels-of-refused-dtypes-are-not-named", "dispatch/unsupported-dtype-is-named[]",
     ("gcd", "atan2", "erf", "bitwise_and", "bitwise_not"),
     _retold("not implemented for", lambda text: text[text.index("not implemented for") :])),
    ("device-of-out-is-not-named", "dispatch/mixed-devices-are-named", ("add.out", "mul.out", "maximum.out"),
     _retold("meta", lambda text: "another device")),
    ("changed-results-are-not-told", "autograd/changed-saved-tensor-is-named", ("backward",),
     _retold("of Exp", lambda text: "a saved tensor is out of date")),
    ("missing-graph-is-told-by-backward-alone", "autograd/missing-graph-is-said", ("gradients",),
     _retold("does not require grad", lambda text: "nothing to differentiate")),
    ("halves-are-filled-by-way-of-float32", "dtypes/float64-to-half-rounds-once dtypes/float32-is-binary32",
     ("full", "fill_.Scalar", "masked_fill_.Scalar"), _by_way_of_single),
    ("integer-division-by-zero-is-silent", "dtypes/integer-division-by-zero-raises",
     with_inplace("floor_divide", "remainder", "fmod", "div"), accepts(RuntimeError, _zero_quotients)),
    ("select-clamps-its-index", "views/index-out-of-range-raises", ("select.int",), accepts(IndexError, _clamped)),
    ("narrow-stops-at-the-end", "views/narrow-and-select-shift-the-offset", ("narrow",),
     accepts(RuntimeError, _shortened)),
    ("view-copies-if-it-must", "views/view-needs-continuing-strides", ("view", "view.default"),
     accepts(RuntimeError, _copied_view)),
    ("expand-keeps-what-does-not-fit", "views/expand-mismatch-raises", ("expand",), accepts(RuntimeError, _first_rows)),
    ("item-takes-the-first", "dtypes/item-gives-the-python-kind", ("item",), accepts(RuntimeError, _first_element)),
    ("bool-takes-the-first", "views/truth-needs-one-element", ("__bool__",),
     accepts(RuntimeError, _truth_of_the_first)),
    ("shapes-are-cut-to-fit", "iteration/unbroadcastable-shapes-raise", ("add.Tensor", "mul.Tensor"),
     accepts(RuntimeError, _prefix)),
    ("inplace-lets-the-destination-broadcast", "iteration/destination-is-never-broadcast[]", ("add_", "mul_"),
     accepts(RuntimeError, _grown_destination)),
    ("written-before-the-checks", "iteration/checks-come-before-writes[] iteration/inplace-devices-must-agree",
     ("add_", "mul_", "sub_", "div_"), _written_first),
    ("out-written-before-the-checks", "iteration/checks-come-before-writes[] kernels/refused-calls-write-nothing[]",
     ("add.out", "mul.out"), _written_first),
    ("version-moves-before-the-checks", "iteration/checks-come-before-writes[] views/reads-do-not-bump-version",
     ("add_", "mul_"), _numbered_before_checks),
    ("self-overlap-is-not-diagnosed", "views/stride-zero-destination-raises",
     ("add_", "mul_", "fill_", "copy_", "zero_"), accepts(RuntimeError, _overlap_ignored)),
    ("mask-of-another-shape-is-filled-up", "views/mask-shape-must-match", ("__getitem__",),
     accepts(IndexError, _false_mask)),
    ("int-of-nan-is-zero", "dtypes/int-of-nan-raises", ("__int__",), accepts(ValueError, _zero_for_nan)),
    ("mean-of-integers-is-silent", "dtypes/integer-means-raise", ("mean",), accepts(RuntimeError, _rounded_down_mean)),
    ("bool-subtraction-is-silent", "dtypes/bool-subtraction-raises", ("sub", "__sub__"),
     accepts(RuntimeError, _bool_difference)),
    ("as-strided-checks-no-bounds", "views/as-strided-out-of-bounds-raises", ("as_strided",),
     accepts(RuntimeError, _nearest_view)),
    ("negative-dims-do-not-wrap", "views/dim-arguments-wrap", _DIM_TAKERS, _no_negative_dims),
    ("dims-out-of-range-raise-runtime-errors", "views/dim-out-of-range-raises", _DIM_TAKERS,
     raises(RuntimeError, IndexError)),
    ("shape-errors-are-value-errors", "iteration/unbroadcastable-shapes-raise iteration/inplace-devices-must-agree",
     family("pointwise"), raises(ValueError, RuntimeError)),
)
