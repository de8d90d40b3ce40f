"""complex32, which holds data and in which few operators compute: the kernels that take it, as PyTorch's do on the CPU.

Views, copies and fills take it like any dtype, and `pointwise` lists the pointwise operators that compute in it.
Of the kernels that NumPy computes, and of compiled reductions, those named here take it; all others refuse it.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

from ..core.dtype import DType, complex32, complex64, float16, float32
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
WIDER: dict[DType, DType] = {complex32: complex64, float16: float32}
NARROWER = {wide: narrow for narrow, wide in WIDER.items()}

Kernel = Callable[..., Any]


def has_complex32(values: Iterable[Any]) -> bool:
    """Return whether an argument is complex32: a tensor, a list with such a tensor, or the dtype."""
    for value in values:
        if isinstance(value, Tensor):
            if value.meta.dtype is complex32:
                return True
        elif value is complex32 or (isinstance(value, (list, tuple)) and has_complex32(value)):
            return True
    return False


def takes_complex32(name: str) -> bool:
    """Return whether the kernel of operator `name` takes complex32 as it is. So do forms with out=, which write what
    the functional form returns."""
    base, _, overload = name.partition(".")
    return overload.endswith("out") or base in TAKEN or base.removesuffix("_") in TAKEN


def refuse_complex32(operator: str, dtype: DType) -> None:
    """Raise NotImplementedError for complex32."""
    check_implemented(operator, dtype, dtype is not complex32)


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
    """Return an argument with its complex32 tensors converted to `dtype`."""
    if isinstance(value, (list, tuple)):
        return [_converted(one, dtype) for one in value]
    is_half = isinstance(value, Tensor) and value.meta.dtype is complex32
    return invoke("to.dtype", value, dtype) if is_half else value


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
    """Return a kernel that sees complex32 only if it takes it: of those computed by NumPy, and of plannable ones."""
    if name is None or takes_complex32(name):
        return function
    guard = functools.partial(_without_complex32, name)
    if type(function) is not Plannable and not is_numpy(function) and name not in TAKEN_AS_COMPLEX64:
        return function
    return function.wrapped(guard) if isinstance(function, Plannable) else guard(function)


def _without_complex32(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        return called(name, function, args, kwargs)

    guarded.unguarded = function  # type: ignore[attr-defined]
    return guarded


def called(name: str | None, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call the kernel of operator `name`, or do what stands in its place for complex32."""
    given = name is not None and (has_complex32(args) or (kwargs and has_complex32(kwargs.values())))
    if name is None or not given or takes_complex32(name):
        return function(*args, **kwargs)
    base = name.partition(".")[0]
    operator = base.removesuffix("_")
    if TAKEN_AS_COMPLEX64.isdisjoint((base, operator)):
        dtype: DType = kwargs.get("dtype") or complex32  # the call may ask for another dtype to compute in
        refuse_complex32(operator, dtype)
        return function(*_converted(args, dtype), **kwargs)
    return (_wider if base == operator else _written_wider)(function, args, **kwargs)
