"""Writing one value to many elements: fill_, zero_, masked_fill, and the memory of a fresh dense tensor."""

from __future__ import annotations

from collections.abc import Callable
from operator import index
from typing import Any

from ..core.away import away
from ..core.device import cpu, meta_device
from ..core.dtype import ALL_DTYPES, DEFAULTS, DType, dtype_of_number
from ..core.promotion import UPSTREAM_NAMES
from ..core.rounding import ROUNDED_HERE
from ..dispatch.dispatcher import REGISTRY, call
from ..iteration.dimensions import broadcast_shapes
from ..iteration.overlap import check_no_partial_overlap
from ..iteration.tensor_iterator import Number
from ..kernels.bound_call import Fresh, Into, nothing
from ..kernels.conversion import Immediate
from ..kernels.pointwise import Launch
from ..memory.elements import pack_element, read_bytes, store_bytes
from ..memory.host_allocator import SMALL_LIMIT, host_allocator, memset
from ..tensor.hooks import hooks
from ..tensor.scalars import item
from ..tensor.tensor import Tensor, new_like
from ..tensor.tensor_meta import TensorMeta, contiguous_meta, meta_like, only_ints, recalled, remember
from ..tensor.versions import bump_version, check_written_in_inference
from .copy import BUILTIN, clone, copy_, copy_values
from .launch import element_launch
from .operand_checks import check_fits, check_keeps_sizes, stored_number, warn_of_internal_overlap
from .plan import Filling, Planned, plannable
from .registration import kernel

NUMBERS = (bool, int, float, complex)


def number_from(operator: str, argument: str, value: Any) -> Number:
    """A Python number for a number or a NumPy scalar. Raises TypeError naming the argument for anything else."""
    if isinstance(value, NUMBERS):
        return value
    item = getattr(value, "item", None)
    if item is not None and getattr(value, "ndim", None) == 0:
        found: Number = item()
        return found
    try:
        return index(value)
    except TypeError:
        raise TypeError(f"{operator}(): argument '{argument}' must be a number, not {type(value).__name__}") from None


def assigned_number(value: Any) -> Number:
    """Return the number that ``x[index] = value`` writes. Raises TypeError as number_from, ValueError beyond int64."""
    found = number_from("__setitem__", "value", value)
    if found.__class__ is int and not -(1 << 63) <= found < 1 << 63:
        raise ValueError(f"__setitem__(): Overflow when unpacking long long: {found} does not fit 64 bits")
    return found


@kernel("fill_.Scalar")
def fill_scalar(self: Tensor, value: Number) -> Tensor:
    """Write a number to every element, once per memory location; RuntimeError when it does not fit the dtype."""
    meta = self.meta
    _write(self, stored_number("fill_", value, meta.dtype, meta.lazy))
    return self


def _write(self: Tensor, number: Number) -> None:
    """Write a number that the dtype holds to every element and count the change."""
    if self.meta.device is cpu:
        check_written_in_inference(self)
        run_fill(self, number)
    bump_version(self)


def run_fill(self: Tensor, number: Number) -> None:
    """Write a number that the dtype holds to every element of a tensor on the CPU."""
    meta = self.meta
    try:
        launch: Launch | None = meta.plans["fill"]
    except KeyError:
        launch = element_launch("identity", meta, [Immediate(meta.dtype)], meta.dtype)
        remember(meta.plans, "fill", launch)
    if launch is not None:
        launch.run([self.pointer, number])


@kernel("fill_.Tensor")
@plannable
def fill_tensor(self: Tensor, value: Tensor) -> Tensor | Planned[Tensor]:
    """Write the value of a 0-dim tensor to every element. Raises RuntimeError for a tensor with dims."""
    _check_no_dims(value)
    source = clone(value) if value.storage_impl is self.storage_impl else value
    bump_version(self)
    copy_values(self, source)
    launch: Launch | None = self.meta.plans.get(("copy", value.meta))
    if launch is None or self.meta.device is not cpu or value.meta.device is not cpu:
        return self
    return Planned(self, Into(*launch.call()).native(), (self, value))


def _check_no_dims(value: Tensor) -> None:
    if value.meta.ndim:
        raise RuntimeError(
            f"fill_ only supports 0-dimension value tensor but got tensor with {value.meta.ndim} dimensions."
        )


@kernel("zero_")
@plannable
def zero_(self: Tensor) -> Tensor | Planned[Tensor]:
    """Write 0 to every element."""
    meta = self.meta
    _write(self, stored_number("zero_", 0, meta.dtype, meta.lazy) if meta.lazy else 0)
    launch: Launch | None = None if meta.lazy else meta.plans.get("fill")
    if launch is None:
        return self
    builtin, tail = launch.call()
    return Planned(self, Into(builtin, (0, *tail)).native())


@kernel("fill.Scalar")
@kernel("fill.Tensor")
@plannable
def fill(self: Tensor, value: Number | Tensor) -> Tensor | Filling | Planned[Tensor]:
    """A tensor like `self` with one number everywhere, or the value of a 0-dim tensor. Raises RuntimeError."""
    meta = meta_like(self.meta)
    if not isinstance(value, Tensor):
        stored_number("fill_", value, meta.dtype)
        if meta.device is not cpu or not meta.numel:
            return Filling((meta,), nothing)
        make = recalled(meta.plans, "fill.Scalar", number_call, meta)
        return Planned.taking(make, lambda self, value: (stored_number("fill_", value, meta.dtype),), (self, value))
    _check_no_dims(value)
    same = value.meta.dtype is meta.dtype and not value.meta.lazy and value.meta.device is cpu is meta.device
    if same and meta.numel:
        copy = recalled(meta.plans, ("fill.Tensor", value.meta), _copying, meta, value.meta)
        return Planned.taking(copy, lambda self, value: (value,), (self, value))
    return Filling((meta,), lambda out: copy_values(out, value))


def _copying(meta: TensorMeta, value: TensorMeta) -> Fresh:
    """Return the call that makes a dense tensor on the CPU of a value of its dtype."""
    launch = element_launch("identity", meta, [value], meta.dtype)
    assert launch is not None
    kernel, tail = launch.call()
    return Fresh(kernel, (meta,), tail)


def _check_mask(operator: str, self: Tensor, mask: Tensor) -> None:
    dtype = mask.meta.dtype
    if dtype.kind != 0:
        raise RuntimeError(
            f"{operator} only supports boolean masks, but got mask with dtype {UPSTREAM_NAMES[dtype.name]}"
        )
    if mask.meta.device is not self.meta.device:
        raise RuntimeError(
            f"{operator}: expected self and mask to be on the same device, got {self.meta.device} and "
            f"{mask.meta.device}"
        )


def _masked_launch(out: TensorMeta, self: TensorMeta, mask: TensorMeta, value: TensorMeta | None) -> Launch | None:
    """Return the launch that writes self with a value, a number if it has no meta, where the mask is true."""
    return element_launch("where.filled", out, [self, mask, value or Immediate(out.dtype)], out.dtype)


def _masked_value(operator: str, self: Tensor, value: Number | Tensor) -> Number | Tensor:
    if not isinstance(value, Tensor):
        return stored_number(operator, value, self.meta.dtype, self.meta.lazy)
    if value.meta.ndim:
        raise RuntimeError(
            f"{operator} only supports a 0-dimensional value tensor, but got tensor with {value.meta.ndim} "
            f"dimension(s)."
        )
    if value.meta.device is cpu and value.meta.dtype is not self.meta.dtype:
        check_fits(operator, item(value), self.meta.dtype)
    if (value.meta.lazy or self.meta.lazy) and value.meta.device is cpu:
        return stored_number(operator, item(value), self.meta.dtype, self.meta.lazy)
    return value


@kernel("masked_fill_.Scalar")
@kernel("masked_fill_.Tensor")
@plannable
def masked_fill_(self: Tensor, mask: Tensor, value: Number | Tensor) -> Tensor | Planned[Tensor]:
    """Write `value` where `mask`, which broadcasts to self, is true."""
    meta = self.meta
    _check_mask("masked_fill_", self, mask)
    warn_of_internal_overlap("masked_fill_", self)
    check_keeps_sizes("masked_fill_", meta.sizes, broadcast_shapes((meta.sizes, mask.meta.sizes)))
    if mask.storage_impl is self.storage_impl:
        check_no_partial_overlap(self, mask)
    given = _masked_value("masked_fill_", self, value)
    bump_version(self)
    other = given.meta if isinstance(given, Tensor) else None
    key = ("masked_fill_", mask.meta, other)
    launch = recalled(meta.plans, key, _masked_launch, meta, meta, mask.meta, other) if meta.device is cpu else None
    if launch is None:
        return self
    given_at = given.pointer if isinstance(given, Tensor) else given
    launch.run([self.pointer, self.pointer, mask.pointer, given_at])
    if meta.lazy or not meta.dense:
        return self
    write = Into(*launch.call(), read=True).native()

    def call(self: Tensor, mask: Tensor, value: Number | Tensor) -> Any:
        return write(self, mask, _masked_value("masked_fill_", self, value))

    return Planned(self, call, (self, mask, value))


@kernel("masked_fill.Scalar")
@kernel("masked_fill.Tensor")
@plannable
def masked_fill(self: Tensor, mask: Tensor, value: Number | Tensor) -> Tensor | Planned[Tensor]:
    """A tensor with `value` where `mask` is true, else self's values; both broadcast."""
    _check_mask("masked_fill", self, mask)
    if self.meta.lazy:
        self = clone(self)
    meta = self.meta
    sizes = broadcast_shapes((meta.sizes, mask.meta.sizes))
    made = contiguous_meta(sizes, meta.dtype, meta.device)
    given = _masked_value("masked_fill", self, value)
    if meta.device is not cpu:
        return new_like(made)
    other = given.meta if isinstance(given, Tensor) else None
    launch = recalled(made.plans, ("masked_fill", meta, mask.meta, other), _masked_launch, made, meta, mask.meta, other)
    kernel, tail = (nothing, ()) if launch is None else launch.call()

    def take(self: Tensor, mask: Tensor, value: Number | Tensor) -> tuple[Any, ...]:
        return self, mask, _masked_value("masked_fill", self, value)

    return Planned.taking(Fresh(kernel, (made,), tail), take, (self, mask, value), values=(self, mask, given))


def _assign_tensor(view: Tensor, value: Tensor) -> None:
    """Write a tensor into a view by the call that is kept for their metas. What is there already, as after
    ``x[0] += 1``, is not copied."""
    plans, key = view.meta.plans, ("assigned", value.meta)
    write = plans.get(key)
    if write is not None:
        if value.meta is view.meta and value.pointer == view.pointer and value.storage_impl is view.storage_impl:
            bump_version(view)
            return
        if write(view, value) is not None:
            return
    planned = copy_.planned(view, value)
    if planned.call is not None:
        remember(plans, key, planned.call)


def assign(view: Tensor, value: object) -> None:
    """Write a tensor or a number into a view: basic assignment."""
    if view.meta.dtype.quantized:
        call(REGISTRY.find("copy_"), view, value)
        return
    if isinstance(value, Tensor):
        _assign_tensor(view, value)
        return
    number = assigned_number(value)
    if view.meta.device in BUILTIN:
        fill_scalar(view, number)
    else:
        call(REGISTRY.find("fill_.Scalar"), view, number)


hooks.assign = assign


FEW_BYTES, AT_ONCE = 2048, 1 << 16
PACKED = frozenset(dtype for dtype in ALL_DTYPES if not dtype.is_complex) - ROUNDED_HERE


def fill_zeros(target: Tensor) -> None:
    """Set every byte of a fresh dense tensor to 0."""
    meta = target.meta
    nbytes = meta.nbytes
    if nbytes and meta.device is cpu:
        if nbytes <= FEW_BYTES:
            store_bytes(target.pointer, bytes(nbytes))
        elif nbytes <= AT_ONCE:
            memset(target.pointer, 0, nbytes)
        elif nbytes <= SMALL_LIMIT or not host_allocator.zeros_for_nothing(target.pointer, nbytes):
            away(8 * nbytes, memset, target.pointer, 0, nbytes)
    elif nbytes:
        _fill_elsewhere(target, 0)


def _fill_elsewhere(target: Tensor, value: Number) -> None:
    if target.meta.device is not meta_device:
        call(REGISTRY.find("fill_.Scalar"), target, value)
        target.storage_impl.version = 0


def fill_number(target: Tensor, value: Number) -> None:
    """Set every element of a fresh dense tensor to `value`, as `stored_number` gives it for its dtype."""
    meta, dtype = target.meta, target.meta.dtype
    if not meta.numel:
        return
    if meta.device is not cpu:
        _fill_elsewhere(target, value)
    elif meta.nbytes <= FEW_BYTES and dtype in PACKED:
        if dtype.kind == 1 and not dtype.is_signed:
            value = int(value.real) % (1 << (8 * dtype.itemsize))
        store_bytes(target.pointer, pack_element(dtype, value) * meta.numel)
    else:
        run_fill(target, value)


def filling(meta: TensorMeta, number: Number) -> Callable[[], Tensor]:
    """Return the call that makes a dense tensor on the CPU and sets all elements to a number that its dtype holds."""
    fresh = number_call(meta)
    return fresh._replace(tail=(number, *fresh.tail)).native()


def number_call(meta: TensorMeta) -> Fresh:
    """Return the call that makes a dense tensor on the CPU of a number that its dtype holds."""
    launch = element_launch("identity", meta, [Immediate(meta.dtype)], meta.dtype)
    assert launch is not None
    kernel, tail = launch.call()
    return Fresh(kernel, (meta,), tail)


def fill_kept(target: Tensor, key: Any, fill: Callable[[Tensor], object]) -> None:
    """Fill a fresh dense tensor by `fill`; the bytes of a small one are kept with its meta under `key`."""
    meta = target.meta
    pattern = meta.plans.get(key)
    if pattern is not None:
        store_bytes(target.pointer, pattern)
        return
    fill(target)
    if 0 < meta.nbytes <= FEW_BYTES and meta.device is cpu:
        remember(meta.plans, key, read_bytes(target.pointer, meta.nbytes))


def fill_ones(target: Tensor) -> None:
    """Set every element of a fresh dense tensor to 1."""
    fill_kept(target, "ones", lambda target: fill_number(target, 1))


PLAIN_NUMBERS = frozenset({float, int, bool, complex})


def quick_full(given: tuple[Any, ...], dtype: DType | None, operator: str = "full") -> Tensor | None:
    """Return full of sizes in a tuple or list and a number, on the CPU; None for anything else."""
    size, value = given if len(given) == 2 else ((), None)
    if value.__class__ not in PLAIN_NUMBERS or not isinstance(size, (tuple, list)) or not only_ints(size):
        return None
    return full_of(operator, contiguous_meta(tuple(size), dtype or dtype_of_number(value)), value)


def quick_scalar_tensor(given: tuple[Any, ...], dtype: DType | None) -> Tensor | None:
    """Return scalar_tensor of a number, on the CPU; None for anything else."""
    return quick_full(((), *given), dtype or DEFAULTS.dtype, "scalar_tensor")


def quick_full_like(given: tuple[Any, ...], dtype: DType | None) -> Tensor | None:
    """Return full_like of a dense tensor on the CPU and a number; None for anything else."""
    if len(given) != 2 or dtype or given[0].__class__ is not Tensor or given[1].__class__ not in PLAIN_NUMBERS:
        return None
    meta = given[0].meta
    if not meta.dense or meta.device is not cpu or meta.lazy or meta.has_autograd or meta.dtype.quantized:
        return None
    return full_of("full_like", meta, given[1])


def full_of(operator: str, meta: TensorMeta, value: Any) -> Tensor:
    """Return a new dense tensor of a number. RuntimeError when its dtype cannot hold it, naming the operator."""
    result = new_like(meta)
    fill_number(result, stored_number(operator, value, meta.dtype))
    return result
