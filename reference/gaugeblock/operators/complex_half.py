"""Dtypes that hold data and in which few operators compute, complex32 and the 8-bit floats: the kernels that take them,
as PyTorch's do on the CPU.

Views, copies and fills take them like any dtype, and `pointwise` lists the pointwise operators that compute in them.
Of the kernels that NumPy computes, and of compiled reductions, those named here take them; all others refuse them.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

from ..core.dtype import FLOAT8, DType, complex32, complex64, float16, float32
from ..iteration.overlap import check_no_internal_overlap
from ..tensor.hooks import hooks
from ..tensor.tensor import Tensor
from ..tensor.versions import bump_version
from .invoke import invoke
from .operand_checks import check_implemented
from .plan import Plannable, computed

TAKEN = frozenset(
    """all allclose any argwhere as_strided_scatter cat clone conj_physical copy_ count_nonzero diagonal_scatter fill
    fill_diagonal_ index is_nonzero is_same_size item masked_fill masked_fill_ native_dropout nonzero nonzero_static
    normal_ select_scatter slice_scatter stack to uniform_ zero_""".split()
)
"""Operators whose kernels take complex32 as they are."""
TAKEN_AS_COMPLEX64 = frozenset(
    """_pad_circular constant_pad_nd convolution diag_embed embedding embedding_renorm_ index_add
    index_copy index_fill index_put index_select linalg_vector_norm masked_select norm repeat
    roll std std_mean tile tril triu var var_mean""".split()
)
"""Operators whose kernels get complex64 for complex32; their results are rounded to complex32, or float16 if real."""
TAKEN_AS_FLOAT8 = frozenset(
    """_pad_circular all any as_strided_scatter bincount cat clone constant_pad_nd copy_ diag_embed diagonal_scatter
    embedding fill fill_diagonal_ index index_put index_select is_same_size item masked_select repeat roll
    select_scatter slice_scatter stack tile to zero_""".split()
)
"""Operators whose kernels take the 8-bit floats as they are."""
REFUSING_FLOAT8 = frozenset("allclose argwhere nonzero normal_ uniform_".split())
"""Operators whose kernels refuse the 8-bit floats themselves."""
WIDER: dict[DType, DType] = {complex32: complex64, float16: float32}
NARROWER = {wide: narrow for narrow, wide in WIDER.items()}

Kernel = Callable[..., Any]


def held_only(values: Iterable[Any]) -> DType | None:
    """Return complex32 or an 8-bit float if an argument has that dtype, as a tensor or in a list, or is it."""
    for value in values:
        if isinstance(value, Tensor):
            if not value.meta.dtype.computes:
                return value.meta.dtype
        elif isinstance(value, (list, tuple)):
            if (found := held_only(value)) is not None:
                return found
        elif value.__class__ is DType and not value.computes:
            return value
    return None


def _takes(name: str, taken: frozenset[str]) -> bool:
    base, _, overload = name.partition(".")
    return overload.endswith("out") or base in taken or base.removesuffix("_") in taken


def takes_complex32(name: str) -> bool:
    """Return whether the kernel of operator `name` takes complex32 as it is. So do forms with out=, which write what
    the functional form returns."""
    return _takes(name, TAKEN)


def refuse_held_only(operator: str, dtype: DType) -> None:
    """Raise NotImplementedError for complex32 and the 8-bit floats."""
    check_implemented(operator, dtype, dtype.computes)


def _wider(kernel: Kernel, args: tuple[Any, ...], dtype: DType | None = None, **kwargs: Any) -> Any:
    """Call a kernel that makes a new result."""
    if dtype is not None:
        kwargs["dtype"] = WIDER.get(dtype, dtype)
    result = computed(kernel(*_converted(args, complex64), **kwargs))
    return _narrowed(result) if (_is_half(args) if dtype is None else dtype in WIDER) else result


def _written_wider(kernel: Kernel, args: tuple[Any, ...], **kwargs: Any) -> Tensor:
    """Call a kernel that writes to its first argument."""
    self: Tensor = args[0]
    check_no_internal_overlap(self.meta.sizes, self.meta.strides)
    wide = computed(kernel(*_converted(args, complex64), **kwargs))
    bump_version(self)
    hooks.copy_into(self, wide)
    return self


def _converted(value: Any, dtype: DType) -> Any:
    """Return an argument with its tensors of a dtype that only holds data converted to `dtype`."""
    if isinstance(value, (list, tuple)):
        return [_converted(one, dtype) for one in value]
    held = isinstance(value, Tensor) and not value.meta.dtype.computes
    return invoke("to.dtype", value, dtype) if held else value


def _is_half(value: Any) -> bool:
    """Return whether no tensor among the arguments has a wider floating or complex dtype."""
    if isinstance(value, (list, tuple)):
        return all(map(_is_half, value))
    return not isinstance(value, Tensor) or value.meta.dtype.kind < 2 or value.meta.dtype in WIDER


def _narrowed(result: Any) -> Any:
    if isinstance(result, tuple):
        return getattr(type(result), "_make", tuple)([_narrowed(one) for one in result])
    narrow = NARROWER.get(result.meta.dtype)
    return result if narrow is None else invoke("to.dtype", result, narrow)


def is_numpy(function: Kernel) -> bool:
    """Return whether a kernel is a function of a module with NumPy."""
    names = getattr(inspect.unwrap(function), "__globals__", ())
    return "np" in names or "array_of" in names


def taking(name: str | None, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a kernel that sees complex32 and the 8-bit floats only if it takes them: of those that NumPy computes, and
    of plannable ones."""
    if name is None or (takes_complex32(name) and _takes(name, TAKEN_AS_FLOAT8 | REFUSING_FLOAT8)):
        return function
    guard = functools.partial(_refusing, name)
    if type(function) is not Plannable and not is_numpy(function) and name not in TAKEN_AS_COMPLEX64:
        return function
    return function.wrapped(guard) if isinstance(function, Plannable) else guard(function)


def _refusing(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        return called(name, function, args, kwargs)

    guarded.unguarded = function  # type: ignore[attr-defined]
    return guarded


def called(name: str | None, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call the kernel of operator `name`, or do what stands in its place for complex32 and the 8-bit floats."""
    held = None if name is None else held_only(args) or (held_only(kwargs.values()) if kwargs else None)
    if name is None or held is None or _takes(name, TAKEN_AS_FLOAT8 if held in FLOAT8 else TAKEN):
        return function(*args, **kwargs)
    base = name.partition(".")[0]
    operator = base.removesuffix("_")
    if held in FLOAT8 or TAKEN_AS_COMPLEX64.isdisjoint((base, operator)):
        dtype: DType = kwargs.get("dtype") or held  # the call may ask for another dtype to compute in
        check_implemented(operator, dtype, dtype.computes)
        return function(*_converted(args, dtype), **kwargs)
    return (_wider if base == operator else _written_wider)(function, args, **kwargs)
