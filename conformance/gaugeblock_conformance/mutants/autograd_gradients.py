"""Operators with right results and wrong gradients: signs, factors, sums over copies, ties, kinks, conjugates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .mutant import Intercepted, Patch, rows

Change = Callable[[Intercepted, Any], Any]


def needs_grad(c: Intercepted, *values: Any) -> bool:
    """Return whether the call is one that a backend records: recording is on, and a tensor among the values requires
    grad."""
    tensors = [t for v in values for t in (v if isinstance(v, list | tuple) else (v,)) if c.is_tensor(t)]
    return any(c.do("requires_grad", t) for t in tensors) and bool(c.do("is_grad_enabled"))


def hooked(c: Intercepted, x: Any, change: Change) -> Any:
    """``x``, its gradient changed on the way: (call, gradient) -> gradient."""
    c.do("__getattr__", x, "register_hook")(lambda gradient: None if gradient is None else change(c, gradient))
    return x


def scaled(factor: float) -> Change:
    return lambda c, gradient: c.do("mul.Scalar", gradient, factor)


def result(change: Change, only: Callable[[Intercepted], bool] | None = None) -> Patch:
    """The right result, with a gradient that is changed as soon as it arrives."""

    def patch(c: Intercepted) -> Any:
        y = c.right()
        if not c.is_tensor(y) or c.inplace or not needs_grad(c, y) or (only is not None and not only(c)):
            return y
        return hooked(c, y, change)

    return patch


def argument(place: int, change: Change) -> Patch:
    """The right result, the gradient of one argument changed."""

    def patch(c: Intercepted) -> Any:
        if place >= len(c.args) or not c.is_tensor(c.args[place]) or not needs_grad(c, c.args[place]) or c.inplace:
            return c.right()
        alias = hooked(c, c.do("view_as", c.args[place], c.args[place]), change)
        return c.instead(*c.args[:place], alias, *c.args[place + 1 :], **c.kwargs)

    return patch


def disguised(other: Callable[[Intercepted], Any]) -> Patch:
    """The right result with the gradient of another expression of the same sizes."""

    def patch(c: Intercepted) -> Any:
        y = c.right()
        first = y[0] if isinstance(y, list | tuple) else y
        if not c.is_tensor(first) or not needs_grad(c, first):
            return y
        z = other(c)
        if z is None or tuple(c.backend.shape(z)) != tuple(c.backend.shape(first)):
            return y
        zero = c.do("sub.Tensor", z, c.do("detach", z))
        made = c.do("add.Tensor", c.do("detach", first), c.do("nan_to_num", zero))
        return type(y)((made, *y[1:])) if isinstance(y, list) else (made, *y[1:]) if isinstance(y, tuple) else made

    return patch


def _copies(c: Intercepted) -> Any:
    """Operands are spread out first, and the sum over their copies is a mean."""
    if len(c.args) < 2 or not all(c.is_tensor(a) for a in c.args[:2]) or not needs_grad(c, *c.args[:2]) or c.inplace:
        return c.right()
    shapes = [tuple(c.backend.shape(a)) for a in c.args[:2]]
    whole = np.broadcast_shapes(*shapes)
    made = []
    for x, sizes in zip(c.args[:2], shapes, strict=True):
        count = np.prod(whole, dtype=int) / max(1, np.prod(sizes, dtype=int))
        if sizes == whole or count == 0 or not c.do("requires_grad", x):
            made.append(x)
        else:
            made.append(hooked(c, c.do("expand", x, whole), scaled(1 / count)))
    return c.do(c.operator, *made, *c.args[2:], **c.kwargs)


def _conjugated(c: Intercepted) -> Any:
    """A complex derivative that is not conjugated."""
    x = c.args[0]
    if not c.backend.dtype(x).startswith("complex") or not needs_grad(c, x):
        return c.right()

    def conjugate(c: Intercepted, gradient: Any) -> Any:
        return c.do("resolve_conj", c.do("conj", gradient))

    alias = hooked(c, c.do("view_as", x, x), conjugate)
    return hooked(c, c.do(c.operator, alias, *c.args[1:]), conjugate)


def _prod_without_zeros(c: Intercepted) -> Any:
    x = c.args[0]
    kept = c.do("where.self", c.do("eq.Scalar", x, 0), c.do("detach", x), x)
    return c.do(c.operator, kept, *c.args[1:])


def _repeats_once(c: Intercepted) -> Any:
    """An element that is read several times gets one gradient."""
    x, index = c.args[0], c.args[-1]
    if not c.is_tensor(index) or len(c.backend.shape(x)) != 1 or c.backend.dtype(index) == "bool":
        return None
    places = c.array(index)
    first = np.zeros(places.shape, dtype=bool)
    first.reshape(-1)[np.unique(places.reshape(-1) % max(1, c.backend.shape(x)[0]), return_index=True)[1]] = True
    read = c.do(c.operator, *c.args)
    return c.do("where.self", c.tensor(first), read, c.do("detach", read))


def _index_of_extremum(c: Intercepted) -> Any:
    """The gradient of an extremum goes to one element alone."""
    x, base = c.args[0], c.base
    if len(c.args) > 1:
        return c.do(f"{base[1:]}.dim", x, c.args[1][0])[0] if len(c.args[1]) == 1 else None
    if not c.backend.shape(x):
        return None
    return c.do(f"{base[-3:]}.dim", c.do("flatten.using_ints", x), 0)[0]


def _first_of_two(c: Intercepted) -> Any:
    x, y = c.args
    return c.do("where.self", c.do("ge.Tensor" if c.base == "maximum" else "le.Tensor", x, y), x, y)


def _open_bounds(c: Intercepted) -> Any:
    x, low, high = c.args
    inside = c.do("logical_and", c.do("gt.Scalar", x, low), c.do("lt.Scalar", x, high))
    return c.do("where.self", inside, x, c.do("detach", x))


def _slope_at_zero(slope: float) -> Callable[[Intercepted], Any]:
    def other(c: Intercepted) -> Any:
        x = c.args[0]
        at = c.do("eq.Scalar", x, 0)
        return c.do("where.self", at, c.do("mul.Scalar", x, slope), c.do(c.operator, x, *c.args[1:]))

    return other


def _dtype_of_gradients(name: str, of: str) -> Patch:
    from ..backend import DType

    def patch(c: Intercepted) -> Any:
        found = c.right()

        def changed(g: Any) -> Any:
            return c.do("to.dtype", g, DType(name)) if c.is_tensor(g) and c.backend.dtype(g) == of else g

        return tuple(changed(g) for g in found) if isinstance(found, tuple) else changed(found)

    return patch


def _backwards(c: Intercepted, x: Any, dim: int) -> Any:
    return c.do("flip", c.do("cumsum", c.do("flip", x, [dim]), dim), [dim])


def _is_square(c: Intercepted, x: Any) -> bool:
    return len(set(c.backend.shape(x))) == 1


def _without_the_last(c: Intercepted, gradient: Any) -> Any:
    """The gradient of the last element is lost."""
    mask = np.ones(tuple(c.backend.shape(gradient)))
    if mask.size > 1:
        mask.reshape(-1)[-1] = 0
    return c.do("mul.Tensor", gradient, c.do("to.dtype", c.tensor(mask), _name(c, gradient)))


def _name(c: Intercepted, x: Any) -> Any:
    from ..backend import DType

    return DType(c.backend.dtype(x))


MUTANTS = rows(
    "autograd",
    ("gradient-of-neg-has-the-wrong-sign",
     "autograd/gradients-agree-with-finite-differences autograd/declared-derivatives-are-there[neg]", ("neg",),
     result(scaled(-1))),
    ("gradient-of-the-subtrahend-has-the-wrong-sign",
     "autograd/gradients-agree-with-finite-differences autograd/declared-derivatives-are-there[sub.Tensor]",
     ("sub.Tensor",), argument(1, scaled(-1))),
    ("gradient-of-the-divisor-has-the-wrong-sign",
     "autograd/gradients-agree-with-finite-differences autograd/declared-derivatives-are-there[div.Tensor]",
     ("div.Tensor",), argument(1, scaled(-1))),
    ("gradient-of-cos-has-the-wrong-sign",
     "autograd/gradients-agree-with-finite-differences autograd/declared-derivatives-are-there[cos]", ("cos",),
     result(scaled(-1))),
    ("square-loses-its-factor-of-two",
     "autograd/gradients-agree-with-finite-differences autograd/declared-derivatives-are-there[square]", ("square",),
     result(scaled(0.5))),
    ("gradient-of-mean-is-that-of-sum",
     "autograd/gradients-agree-with-finite-differences autograd/declared-derivatives-are-there[mean]", ("mean",),
     disguised(lambda c: c.do("sum", *c.args))),
    ("gradient-of-tanh-is-one",
     "autograd/gradients-agree-with-finite-differences autograd/declared-derivatives-are-there[tanh]", ("tanh",),
     disguised(lambda c: c.args[0])),
    ("gradient-of-the-second-factor-is-lost",
     "autograd/gradients-agree-with-finite-differences "
     "autograd/declared-derivatives-are-there[mul.Tensor] autograd/gradient-of-a-scalar",
     ("mul.Tensor",), argument(1, scaled(0))),
    ("gradient-of-cumsum-runs-forwards",
     "autograd/gradients-agree-with-finite-differences autograd/declared-derivatives-are-there[cumsum]", ("cumsum",),
     disguised(lambda c: _backwards(c, c.args[0], c.args[1]))),
    ("gradient-of-exp-misses-the-last-element",
     "autograd/gradients-agree-with-finite-differences autograd/declared-derivatives-are-there[exp]", ("exp",),
     result(_without_the_last)),
    ("gradient-of-mm-is-not-transposed",
     "autograd/gradients-agree-with-finite-differences autograd/declared-derivatives-are-there[mm]", ("mm",),
     disguised( lambda c: c.do("mm", c.args[0], c.do("t", c.args[1])) if _is_square(c, c.args[1]) else None)),
    ("gradient-of-t-is-not-transposed", "autograd/declared-derivatives-are-there[t]", ("t",),
     disguised( lambda c: c.args[0] if _is_square(c, c.args[0]) else None)),
    ("gradient-of-sort-ignores-the-order",
     "autograd/index-decides-a-tie-along-a-dim autograd/gradients-agree-with-finite-differences "
     "autograd/declared-derivatives-are-there[sort]",
     ("sort",), disguised(lambda c: c.args[0])),
    ("gradient-of-logsumexp-is-even",
     "autograd/gradients-agree-with-finite-differences autograd/declared-derivatives-are-there[logsumexp]",
     ("logsumexp",), disguised(lambda c: c.do("mean.dim", *c.args[:2]))),
    ("broadcasting-is-averaged-on-the-way-back", "autograd/broadcasting-is-summed-over",
     ("mul.Tensor", "add.Tensor", "sub.Tensor"), _copies),
    ("gradient-of-expand-is-a-mean",
     "autograd/broadcasting-is-summed-over autograd/declared-derivatives-are-there[expand]", ("expand",),
     result( lambda c, g: c.do("mul.Scalar", g, 0.5), lambda c: tuple(c.backend.shape(c.args[0])) != tuple(c.args[1]))),
    ("gradient-of-a-product-with-zeros-is-zero", "autograd/zeros-in-products-are-exact", ("prod",),
     disguised(_prod_without_zeros)),
    ("repeated-indices-count-once", "autograd/repeated-indices-accumulate", ("__getitem__", "index_select", "take"),
     disguised(_repeats_once)),
    ("ties-go-to-one-element", "autograd/ties-share-the-gradient", ("amax", "amin", "max", "min"),
     disguised( lambda c: _index_of_extremum(c) if "." not in c.operator else None)),
    ("ties-go-to-the-first-operand", "autograd/ties-share-the-gradient", ("maximum", "minimum"),
     disguised(_first_of_two)),
    ("ties-along-a-dim-are-shared", "autograd/index-decides-a-tie-along-a-dim", ("max.dim", "min.dim"),
     disguised( lambda c: c.do(f"a{c.base}", c.args[0], [c.args[1]]))),
    ("clamp-is-flat-at-its-bounds", "autograd/kinks-have-a-chosen-slope[clamp]", ("clamp",), disguised(_open_bounds)),
    ("abs-has-slope-one-at-zero", "autograd/kinks-have-a-chosen-slope[abs]", ("abs",), disguised(_slope_at_zero(1.0))),
    ("relu-has-slope-one-at-zero", "autograd/kinks-have-a-chosen-slope[relu]", ("relu",),
     disguised(_slope_at_zero(1.0))),
    ("gradients-of-linear-pieces-are-constants", "autograd/created-gradient-of-a-linear-piece-requires-grad[]",
     ("relu", "leaky_relu", "hardtanh", "avg_pool2d"), argument(0, lambda c, gradient: c.do("detach", gradient))),
    ("norm-has-slope-one-at-zero", "autograd/kinks-have-a-chosen-slope[norm]", ("norm",),
     disguised( lambda c: c.do("sum", c.do("mul.Scalar", c.args[0], 1)) if not c.array(c.args[0]).any() else None)),
    ("steps-have-slope-one", "autograd/step-functions-have-gradient-zero", ("round", "floor", "ceil", "trunc", "sign"),
     disguised(lambda c: c.args[0])),
    ("complex-derivatives-are-not-conjugated", "autograd/complex-gradients-are-conjugate-wirtinger",
     ("exp", "sin", "tanh", "sqrt", "log", "square"), _conjugated),
    ("conjugate-of-conj-is-lost", "autograd/complex-gradients-are-conjugate-wirtinger", ("conj",),
     result(lambda c, g: c.do("resolve_conj", c.do("conj", g)))),
    ("gradients-of-floats-are-doubles", "autograd/promotion-is-undone", ("grad", "gradients"),
     _dtype_of_gradients("float64", "float32")),
    ("gradients-of-doubles-are-floats", "autograd/promotion-is-undone", ("grad", "gradients"),
     _dtype_of_gradients("float32", "float64")),
    ("gradients-of-reals-are-complex", "autograd/gradient-of-a-real-operand-is-real", ("grad", "gradients"),
     _dtype_of_gradients("complex128", "float64")),
)
