"""Bad input accepted, refused in the wrong way, or refused too late."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .mutant import Intercepted, Mutant
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


def _row(name: str, area: str, operators: tuple[str, ...], patch: Any) -> Mutant:
    return Mutant(name, "empties and errors", area, operators, patch)


MUTANTS = (
    _row("kernels-of-refused-dtypes-are-not-named", "dispatch", ("gcd", "atan2", "erf", "bitwise_and", "bitwise_not"),
         _retold("not implemented for", lambda text: text[text.index("not implemented for") :])),
    _row("device-of-out-is-not-named", "dispatch", ("add.out", "mul.out", "maximum.out"),
         _retold("meta", lambda text: "another device")),
    _row("changed-results-are-not-told", "autograd", ("backward",),
         _retold("of Exp", lambda text: "a saved tensor is out of date")),
    _row("missing-graph-is-told-by-backward-alone", "autograd", ("gradients",),
         _retold("does not require grad", lambda text: "nothing to differentiate")),
    _row("halves-are-filled-by-way-of-float32", "dtypes", ("full", "fill_.Scalar", "masked_fill_.Scalar"),
         _by_way_of_single),
    _row("integer-division-by-zero-is-silent", "dtypes", with_inplace("floor_divide", "remainder", "fmod", "div"),
         accepts(RuntimeError, _zero_quotients)),
    _row("select-clamps-its-index", "views", ("select.int",), accepts(IndexError, _clamped)),
    _row("narrow-stops-at-the-end", "views", ("narrow",), accepts(RuntimeError, _shortened)),
    _row("view-copies-if-it-must", "views", ("view", "view.default"), accepts(RuntimeError, _copied_view)),
    _row("expand-keeps-what-does-not-fit", "views", ("expand",), accepts(RuntimeError, _first_rows)),
    _row("item-takes-the-first", "dtypes", ("item",), accepts(RuntimeError, _first_element)),
    _row("bool-takes-the-first", "views", ("__bool__",), accepts(RuntimeError, _truth_of_the_first)),
    _row("shapes-are-cut-to-fit", "iteration", ("add.Tensor", "mul.Tensor"), accepts(RuntimeError, _prefix)),
    _row("inplace-lets-the-destination-broadcast", "iteration", ("add_", "mul_"),
         accepts(RuntimeError, _grown_destination)),
    _row("written-before-the-checks", "iteration", ("add_", "mul_", "sub_", "div_"), _written_first),
    _row("out-written-before-the-checks", "iteration", ("add.out", "mul.out"), _written_first),
    _row("version-moves-before-the-checks", "iteration", ("add_", "mul_"), _numbered_before_checks),
    _row("self-overlap-is-not-diagnosed", "iteration", ("add_", "mul_", "fill_", "copy_", "zero_"),
         accepts(RuntimeError, _overlap_ignored)),
    _row("mask-of-another-shape-is-filled-up", "views", ("__getitem__",), accepts(IndexError, _false_mask)),
    _row("int-of-nan-is-zero", "dtypes", ("__int__",), accepts(ValueError, _zero_for_nan)),
    _row("mean-of-integers-is-silent", "dtypes", ("mean",), accepts(RuntimeError, _rounded_down_mean)),
    _row("bool-subtraction-is-silent", "dtypes", ("sub", "__sub__"), accepts(RuntimeError, _bool_difference)),
    _row("as-strided-checks-no-bounds", "views", ("as_strided",), accepts(RuntimeError, _nearest_view)),
    _row("negative-dims-do-not-wrap", "views", _DIM_TAKERS, _no_negative_dims),
    _row("dims-out-of-range-raise-runtime-errors", "views", _DIM_TAKERS, raises(RuntimeError, IndexError)),
    _row("shape-errors-are-value-errors", "iteration", family("pointwise"), raises(ValueError, RuntimeError)),
)  # fmt: skip
